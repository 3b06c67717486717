// reply.h: replies of RESP2, as values. Thread-compatible.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::simulation {

struct Reply {
  char kind = '+';  // the first byte: + - : $ *
  std::string text;
  std::vector<Reply> elements;  // of *

  bool is_error() const { return kind == '-'; }
  // Returns the reply as in the protocol, on one line: "+OK", ":1", "*[:1 :0]".
  std::string ToString() const {
    if (kind != '*') return kind + text;
    std::string all = "*[";
    for (const Reply& element : elements) all += (all.size() > 2 ? " " : "") + element.ToString();
    return all + "]";
  }
};

// Takes one reply from the front of `bytes`; nothing if it is not complete.
inline std::optional<Reply> TakeReply(std::string_view& bytes) {
  std::string_view rest = bytes;
  const size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  Reply reply{.kind = rest[0], .text = std::string(rest.substr(1, end - 1)), .elements = {}};
  rest.remove_prefix(end + 2);
  long size = 0;
  std::from_chars(reply.text.data(), reply.text.data() + reply.text.size(), size);
  if (reply.kind == '$' && size >= 0) {
    const auto length = static_cast<size_t>(size);
    if (rest.size() < length + 2) return std::nullopt;
    reply.text = rest.substr(0, length);
    rest.remove_prefix(length + 2);
  }
  for (long i = 0; reply.kind == '*' && i < size; ++i) {
    std::optional<Reply> element = TakeReply(rest);
    if (!element) return std::nullopt;
    reply.elements.push_back(std::move(*element));
  }
  bytes = rest;
  return reply;
}

}  // namespace bitsieve::simulation
