#include "cli/shell/resp_value.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <utility>

#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using Kind = RespValue::Kind;

constexpr size_t kMaxLineBytes = 1 << 20;
constexpr int kMaxDepth = 128;                         // bounds the recursion
constexpr size_t kMaxReservedBytes = size_t{1} << 30;  // servers send strings of up to half of this

tl::unexpected<std::string> Malformed(const std::string& what) {
  return tl::unexpected("the server does not speak RESP: " + what);
}

tl::unexpected<std::string> Malformed(const std::string& what, std::string_view found) {
  return Malformed(what + " " + core::Quoted(found));
}

RespValue Made(Kind kind, std::string text = {}) { return {.kind = kind, .text = std::move(text)}; }

core::Outcome<RespValue> Integer(std::string_view text) {
  if (!core::ParseInteger(text)) return Malformed("not an integer:", text);
  return Made(Kind::kInteger, std::string(text));
}

core::Outcome<RespValue> Boolean(std::string_view text) {
  if (text != "t" && text != "f") return Malformed("not a boolean:", text);
  return Made(Kind::kBoolean, std::string(text));
}

// The text of a verbatim string comes after its format, "txt:".
core::Outcome<RespValue> Verbatim(std::string text) {
  constexpr size_t kFormatBytes = 4;
  if (text.size() < kFormatBytes || text[kFormatBytes - 1] != ':') return Malformed("a string without its format");
  return Made(Kind::kVerbatim, text.erase(0, kFormatBytes));
}

}  // namespace

core::Outcome<RespValue> RespReader::Read(const Source& source) try {
  return ReadValue(source, 0);
} catch (const std::bad_alloc&) {
  return tl::unexpected<std::string>("the reply is larger than the memory that is left");
} catch (const std::length_error&) {
  return tl::unexpected<std::string>("the reply is larger than the memory that is left");
}

core::Outcome<RespValue> RespReader::ReadValue(const Source& source, int depth) {
  if (depth > kMaxDepth) return Malformed("arrays are nested more than " + std::to_string(kMaxDepth) + " deep");
  auto line = ReadLine(source);
  if (!line) return tl::unexpected(line.error());
  if (line->empty()) return Malformed("an empty line");
  const char type = line->front();
  std::string rest = line->substr(1);
  switch (type) {
    case '+':
      return Made(Kind::kStatus, std::move(rest));
    case '-':
      return Made(Kind::kError, std::move(rest));
    case ',':
      return Made(Kind::kDouble, std::move(rest));
    case '(':
      return Made(Kind::kBigNumber, std::move(rest));
    case ':':
      return Integer(rest);
    case '#':
      return Boolean(rest);
    case '_':
      return RespValue();
    case '*':
      return ReadElements(source, Kind::kArray, rest, depth);
    case '%':
      return ReadElements(source, Kind::kMap, rest, depth);
    case '~':
      return ReadElements(source, Kind::kSet, rest, depth);
    case '>':
      return ReadElements(source, Kind::kPush, rest, depth);
    case '|': {  // attributes of the value after them, which no command asks for
      const auto attributes = ReadElements(source, Kind::kMap, rest, depth);
      return attributes ? ReadValue(source, depth + 1) : attributes;
    }
    case '$':
    case '=':
    case '!': {
      if (rest == "-1") return RespValue();
      const auto size = core::ParseUnsigned(rest);
      if (!size) return Malformed("not a size:", rest);
      auto text = ReadBulk(source, *size);
      if (!text) return tl::unexpected(text.error());
      if (type == '=') return Verbatim(std::move(*text));
      return Made(type == '!' ? Kind::kError : Kind::kString, std::move(*text));
    }
    default:
      return Malformed("a reply begins with", *line);
  }
}

core::Outcome<RespValue> RespReader::ReadElements(const Source& source, Kind kind, std::string_view count, int depth) {
  if (count == "-1") return RespValue();
  constexpr uint64_t kMaxCount = uint64_t{1} << 32;
  const auto announced = core::ParseUnsigned(count);
  if (!announced || *announced > kMaxCount) return Malformed("not a number of elements:", count);
  RespValue value = Made(kind);
  const uint64_t elements = *announced * (kind == Kind::kMap ? 2 : 1);
  for (uint64_t i = 0; i < elements; ++i) {
    auto element = ReadValue(source, depth + 1);
    if (!element) return element;
    value.elements.push_back(std::move(*element));
  }
  return value;
}

core::Outcome<std::string> RespReader::ReadLine(const Source& source) {
  std::string line;
  while (true) {
    const size_t newline = unread().find('\n');
    const size_t taken = std::min(newline, unread().size());
    line.append(unread().substr(0, taken));
    begin_ += taken;
    if (line.size() > kMaxLineBytes) return Malformed("a line without an end");
    if (newline != std::string_view::npos) break;
    if (auto filled = Fill(source); !filled) return tl::unexpected(filled.error());
  }
  ++begin_;
  if (!line.ends_with('\r')) return Malformed("a line ends without a carriage return:", line);
  line.pop_back();
  return line;
}

core::Outcome<std::string> RespReader::ReadBulk(const Source& source, size_t size) {
  std::string text;
  text.reserve(std::min(size, kMaxReservedBytes));  // takes address space; memory follows with the bytes
  while (text.size() < size) {
    if (unread().empty()) {
      if (auto filled = Fill(source); !filled) return tl::unexpected(filled.error());
    }
    const std::string_view part = unread().substr(0, size - text.size());
    text.append(part);
    begin_ += part.size();
  }
  auto end = ReadLine(source);
  if (!end) return end;
  if (!end->empty()) return Malformed("a string is longer than its size, by", *end);
  return text;
}

core::Outcome<void> RespReader::Fill(const Source& source) {
  const auto received = source(buffer_);
  if (!received) return tl::unexpected(received.error());
  begin_ = 0;
  end_ = *received;
  return {};
}

}  // namespace bitsieve::cli
