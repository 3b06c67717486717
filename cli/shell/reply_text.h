// reply_text.h: replies as redis-cli prints them. Thread-compatible: functions of their arguments.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "cli/shell/resp_value.h"

namespace bitsieve::cli {

enum class ReplyStyle {
  kTerminal,  // for people: types are shown, strings are quoted, elements numbered
  kRaw,       // for programs: bytes as they are
};

// Prints text in double quotes, as a line of the shell may have it: whatever is not printable ASCII is escaped.
void PrintQuoted(std::ostream& out, std::string_view text);

// Prints a reply and a newline. Where the reply to the command is a page of text (INFO, CLIENT LIST), it is printed as
// it is.
void PrintReply(std::ostream& out, const RespValue& reply, ReplyStyle style, std::span<const std::string> command);

}  // namespace bitsieve::cli
