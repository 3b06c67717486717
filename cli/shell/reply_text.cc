#include "cli/shell/reply_text.h"

#include <algorithm>
#include <array>
#include <iomanip>

#include "core/base/parse.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using Kind = RespValue::Kind;

std::string_view BooleanText(const RespValue& reply) { return reply.text == "t" ? "(true)" : "(false)"; }

std::string_view EmptyText(Kind kind) {
  if (kind == Kind::kMap) return "(empty hash)";
  if (kind == Kind::kSet) return "(empty set)";
  return kind == Kind::kPush ? "(empty push)" : "(empty array)";
}

char NumberMark(Kind kind) { return kind == Kind::kMap ? '#' : kind == Kind::kSet ? '~' : ')'; }

size_t EntriesOf(const RespValue& reply) { return reply.elements.size() / (reply.kind == Kind::kMap ? 2 : 1); }

// Whether it has numbers on several lines. As the value of a map it then begins on a line of its own.
bool IsLong(const RespValue& reply) {
  return EntriesOf(reply) > 1 || (!reply.elements.empty() && IsLong(reply.elements.back()));
}

void PrintForTerminal(std::ostream& out, const RespValue& reply, const std::string& indent);

// Numbers are as wide as the largest; elements of elements are indented by that and two blanks. The first line has its
// indentation already, since it is that of the element in which it lies.
void PrintElements(std::ostream& out, const RespValue& reply, const std::string& indent) {
  const size_t width = std::to_string(EntriesOf(reply)).size();
  const std::string inner = indent + std::string(width + 2, ' ');
  auto element = reply.elements.begin();
  for (size_t i = 1; i <= EntriesOf(reply); ++i) {
    if (i != 1) out << '\n' << indent;
    out << std::setw(static_cast<int>(width)) << i << NumberMark(reply.kind) << ' ';
    PrintForTerminal(out, *element++, inner);
    if (reply.kind != Kind::kMap) continue;
    out << " => ";
    if (IsLong(*element)) out << '\n' << inner;
    PrintForTerminal(out, *element++, inner);
  }
}

void PrintForTerminal(std::ostream& out, const RespValue& reply, const std::string& indent) {
  switch (reply.kind) {
    case Kind::kStatus:
    case Kind::kVerbatim:
    case Kind::kBigNumber:
      out << reply.text;
      return;
    case Kind::kError:
      out << "(error) " << reply.text;
      return;
    case Kind::kInteger:
      out << "(integer) " << reply.text;
      return;
    case Kind::kDouble:
      out << "(double) " << reply.text;
      return;
    case Kind::kString:
      PrintQuoted(out, reply.text);
      return;
    case Kind::kNil:
      out << "(nil)";
      return;
    case Kind::kBoolean:
      out << BooleanText(reply);
      return;
    case Kind::kArray:
    case Kind::kMap:
    case Kind::kSet:
    case Kind::kPush:
      if (reply.elements.empty()) {
        out << EmptyText(reply.kind);
      } else {
        PrintElements(out, reply, indent);
      }
  }
}

void PrintRaw(std::ostream& out, const RespValue& reply) {
  if (reply.kind == Kind::kBoolean) {
    out << BooleanText(reply);
  } else {
    out << reply.text;
  }
  if (reply.is_error()) out << '\n';
  for (size_t i = 0; i < reply.elements.size(); ++i) {
    const bool is_value = reply.kind == Kind::kMap && i % 2 == 1;
    if (i != 0) out << (is_value ? ' ' : '\n');
    PrintRaw(out, reply.elements[i]);
  }
}

// Includes commands of Redis and Valkey, since the shell may be connected to one.
bool RepliesWithPage(std::span<const std::string> command) {
  constexpr std::array<std::string_view, 11> kPages = {
      "info",          "lolwut",         "client list",   "client info",         "cluster info", "cluster nodes",
      "memory doctor", "latency doctor", "latency graph", "memory malloc-stats", "debug htstats"};
  if (command.empty()) return false;
  const std::string name = core::LowerCase(command[0]);
  const std::string full_name = command.size() < 2 ? name : name + " " + core::LowerCase(command[1]);
  return std::ranges::any_of(kPages, [&](std::string_view page) { return page == name || page == full_name; });
}

}  // namespace

void PrintQuoted(std::ostream& out, std::string_view text) {
  constexpr std::string_view kEscaped = "\\\"\n\r\t\a\b";
  constexpr std::string_view kLetters = "\\\"nrtab";
  out << '"';
  for (const char c : text) {
    if (const size_t at = kEscaped.find(c); at != std::string_view::npos) {
      out << '\\' << kLetters[at];
    } else if (core::IsPrintable(c)) {
      out << c;
    } else {
      out << core::HexEscaped(c);
    }
  }
  out << '"';
}

void PrintReply(std::ostream& out, const RespValue& reply, ReplyStyle style, std::span<const std::string> command) {
  if (RepliesWithPage(command)) {
    PrintRaw(out, reply);
  } else if (style == ReplyStyle::kRaw) {
    PrintRaw(out, reply);
    out << '\n';
  } else {
    PrintForTerminal(out, reply, "");
    out << '\n';
  }
}

}  // namespace bitsieve::cli
