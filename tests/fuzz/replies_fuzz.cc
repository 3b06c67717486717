// Whatever a server sends, in pieces of any size, is the same replies, or the same error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/bulk/server_client.h"
#include "cli/shell/reply_text.h"

namespace bitsieve::cli {
namespace {

void Append(const Reply& reply, std::string& text) {
  text += "(" + std::to_string(reply.kind) + " " + std::to_string(reply.integer) + " " + reply.text;
  for (const Reply& element : reply.elements) Append(element, text);
  text += ")";
}

std::string RepliesOf(std::string_view bytes, size_t piece) {
  ReplyReader reader;
  std::string text;
  while (!bytes.empty()) {
    const std::string_view fed = bytes.substr(0, piece);
    bytes.remove_prefix(fed.size());
    reader.Feed(fed);
    while (true) {
      const auto reply = reader.Next();
      if (!reply) return text + "error";
      if (!*reply) break;
      Append(**reply, text);
    }
  }
  return text;
}

// The same for the shell, as it prints them.
std::string PrintedRepliesOf(std::string_view bytes, size_t piece) {
  const auto source = [&bytes, piece](std::span<char> room) -> core::Outcome<size_t> {
    if (bytes.empty()) return tl::unexpected<std::string>("the end");
    const size_t size = std::min({piece, bytes.size(), room.size()});
    std::ranges::copy(bytes.substr(0, size), room.begin());
    bytes.remove_prefix(size);
    return size;
  };
  RespReader reader;
  std::ostringstream text;
  while (true) {
    const auto reply = reader.Read(source);
    if (!reply) return text.str() + reply.error();
    PrintReply(text, *reply, ReplyStyle::kTerminal, {});
    PrintReply(text, *reply, ReplyStyle::kRaw, {});
  }
}

}  // namespace
}  // namespace bitsieve::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const size_t piece = 1 + data[0] % 16;
  using namespace bitsieve::cli;
  if (RepliesOf(bytes, SIZE_MAX) != RepliesOf(bytes, piece)) std::abort();
  if (PrintedRepliesOf(bytes, SIZE_MAX) != PrintedRepliesOf(bytes, piece)) std::abort();
  return 0;
}
