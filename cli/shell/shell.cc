#include "cli/shell/shell.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string_view>
#include <utility>

#include "cli/shell/history_file.h"
#include "cli/shell/interrupts.h"
#include "cli/shell/line_editor.h"
#include "cli/shell/suggestions.h"
#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

using Words = Shell::Words;

constexpr std::chrono::milliseconds kNamesWait{200};

template <class... Names>
bool IsCommand(const Words& command, Names... names) {
  return !command.empty() && (core::EqualsIgnoringCase(command.front(), names) || ...);
}

// After these the server sends messages until the connection ends.
bool Subscribes(const Words& command) { return IsCommand(command, "subscribe", "psubscribe", "ssubscribe"); }

// Their replies are messages, one for each channel.
bool RepliesWithMessages(const Words& command) {
  return Subscribes(command) || IsCommand(command, "unsubscribe", "punsubscribe", "sunsubscribe");
}

size_t RepliesTo(const Words& command) {
  return RepliesWithMessages(command) ? std::max<size_t>(command.size() - 1, 1) : 1;
}

ShellConnection::Deadline After(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// Whether the terminal can move its cursor.
bool CanEdit() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && terminal != nullptr && *terminal != '\0' && std::string_view(terminal) != "dumb";
}

}  // namespace

bool Shell::Run(const Words& command) {
  if (IsCommand(command, "help")) {
    std::cout << HelpText(std::span(command).subspan(1)) << std::flush;
    return true;
  }
  if (auto connected = Connect(); !connected) return Fail(connected.error());
  core::Outcome<bool> succeeded = connection_->Send(command).and_then([&] { return PrintReplies(command); });
  std::cout << std::flush;
  if (succeeded) return *succeeded;
  in_transaction_ = false;
  return Interrupts::IsPending() ? LeaveWait() : Fail(succeeded.error());
}

// Ctrl-C ends a stream of messages, or the wait for a reply, with the connection: the rest is not read.
bool Shell::LeaveWait() {
  Interrupts::Clear();
  std::cout << std::endl;
  const auto connected = Connect();
  return connected || Fail(connected.error());
}

core::Outcome<void> Shell::Connect() {
  constexpr std::chrono::seconds kPatience{10};
  if (connection_->IsOpen()) return {};
  if (std::exchange(in_transaction_, false)) {
    return tl::unexpected<std::string>("the connection was lost, and the transaction with it");
  }
  return connection_->Open(After(kPatience));
}

core::Outcome<bool> Shell::PrintReplies(const Words& command) {
  if (Subscribes(command) && style_ == ReplyStyle::kTerminal) {
    std::cout << "Reading messages... (press Ctrl-C to quit)\n" << std::flush;
  }
  bool succeeded = true;
  for (size_t i = RepliesTo(command); i != 0 && succeeded; --i) {
    auto printed = PrintReply(command);
    if (!printed) return printed;
    succeeded = *printed;
  }
  if (!succeeded || !(Subscribes(command) || IsCommand(command, "monitor"))) return succeeded;
  while (true) {
    std::cout << std::flush;
    if (auto printed = PrintReply(command); !printed) return printed;
  }
}

core::Outcome<bool> Shell::PrintReply(const Words& command) {
  auto reply = connection_->Receive();
  // Messages that RESP3 sends ahead of the reply, such as those of CLIENT TRACKING.
  while (reply && reply->kind == RespValue::Kind::kPush && !RepliesWithMessages(command)) {
    cli::PrintReply(std::cout, *reply, style_, {});
    reply = connection_->Receive();
  }
  if (!reply) return tl::unexpected(reply.error());
  cli::PrintReply(std::cout, *reply, style_, command);
  Remember(command, *reply);
  return !reply->is_error();
}

void Shell::Remember(const Words& command, const RespValue& reply) {
  if (IsCommand(command, "exec", "discard", "reset")) in_transaction_ = false;
  if (reply.is_error() || in_transaction_) return;
  if (IsCommand(command, "multi")) in_transaction_ = true;
  if (IsCommand(command, "auth", "hello", "select")) connection_->RepeatWhenOpened(command);
  if (IsCommand(command, "select")) database_ = command[1];
}

bool Shell::Fail(const std::string& problem) const {
  std::cout << std::flush;
  std::cerr << "bitsieve cli: " << connection_->target().Text() << ": " << problem << '\n';
  return false;
}

bool Shell::RunLine(const std::string& line, const std::string& place) {
  const auto words = WordsOf(line);
  if (!words) {
    std::cout << std::flush;
    std::cerr << "bitsieve cli: " << place << "a quote is not closed, or not followed by a blank\n";
    return false;
  }
  has_quit_ = IsCommand(*words, "quit", "exit");
  return words->empty() || has_quit_ || Run(*words);
}

bool Shell::RunLines(std::istream& lines) {
  bool succeeded = true;
  size_t number = 0;
  for (std::string line; !has_quit_ && std::getline(lines, line);) {
    succeeded &= RunLine(line, "line " + std::to_string(++number) + ": ");
  }
  return succeeded;
}

std::string Shell::Prompt() const {
  if (!connection_->was_open()) return "not connected> ";
  const Target& target = connection_->target();
  const bool is_ipv6 = target.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + target.host + "]" : target.host;
  return (target.unixsocket.empty() ? host + ":" + std::to_string(target.port) : target.unixsocket) +
         (database_ == "0" ? "" : "[" + database_ + "]") + (in_transaction_ ? "(TX)" : "") + "> ";
}

void Shell::RunPrompt() {
  if (auto connected = Connect(); !connected) Fail(connected.error());
  if (CanEdit()) {
    RunEditor();
    return;
  }
  std::string line;
  while (!has_quit_ && std::cout << Prompt() << std::flush && std::getline(std::cin, line)) RunLine(line, "");
}

void Shell::RunEditor() {
  const auto names = [this](const std::string& prefix) { return connection_->NamesOf(prefix, After(kNamesWait)); };
  const HistoryFile history(HistoryFile::DefaultPath());
  LineEditor editor(
      {.hint = HintFor, .complete = [names](std::string_view line) { return CompletionFor(line, names); }});
  for (const std::string& line : history.Load()) editor.AddToHistory(line);
  Interrupts::Catch();
  while (!has_quit_) {
    const auto line = editor.ReadLine(Prompt());
    if (!line) return;
    if (line->find_first_not_of(" \t") != std::string::npos && !MayHoldSecret(*line)) {
      editor.AddToHistory(*line);
      history.Append(*line);
    }
    RunLine(*line, "");
    Interrupts::Clear();
  }
}

}  // namespace bitsieve::cli
