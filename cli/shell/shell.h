// shell.h: commands as people and scripts give them to `bitsieve cli`: each is sent, and its reply printed. A few are
// the shell's own: help, quit and exit. Confined to the main thread.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "cli/shell/reply_text.h"
#include "cli/shell/shell_connection.h"

namespace bitsieve::cli {

class Shell {
 public:
  using Words = ShellConnection::Words;

  // `connection` must outlive the shell.
  Shell(ShellConnection& connection, ReplyStyle style) : connection_(&connection), style_(style) {}

  // Prints the reply of a command, or on standard error why there is none. False if it failed: an error reply, too.
  bool Run(const Words& command);
  // Runs the lines of a script, up to its end or a line that says quit. False if any failed.
  bool RunLines(std::istream& lines);
  // Runs what is typed at a prompt, until the end of input or a line that says quit.
  void RunPrompt();

 private:
  bool RunLine(const std::string& line, const std::string& place);
  core::Outcome<void> Connect();
  bool LeaveWait();
  // Prints the replies to a command that was sent. False if one is an error.
  core::Outcome<bool> PrintReplies(const Words& command);
  core::Outcome<bool> PrintReply(const Words& command);
  void Remember(const Words& command, const RespValue& reply);
  bool Fail(const std::string& problem) const;
  std::string Prompt() const;
  // Reads the lines with history, hints and Tab, for which the terminal must be able to move its cursor.
  void RunEditor();

  ShellConnection* connection_;
  ReplyStyle style_;
  bool in_transaction_ = false;
  bool has_quit_ = false;
  std::string database_ = "0";
};

}  // namespace bitsieve::cli
