// shell_connection.h: the shell's connection to a server, which may be lost and made again. What was set up for the
// connection (AUTH, HELLO, SELECT) is set up for the next one as well. Calls that wait for replies wait for as long as
// it takes, or until Ctrl-C. Confined to one thread. Errors are for people.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/client/client_connection.h"
#include "cli/shell/resp_value.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class ShellConnection {
 public:
  using Words = std::vector<std::string>;
  using Deadline = ClientConnection::Deadline;

  ShellConnection(Target target, const Credentials& credentials, bool is_resp3);

  const Target& target() const { return target_; }
  // Whether the connection was open at the end of the last call.
  bool was_open() const { return connection_.has_value(); }
  // Finds out whether it still is: the server may have closed it since.
  bool IsOpen();
  core::Outcome<void> Open(Deadline deadline);
  void Close();

  // Both are for an open connection.
  core::Outcome<void> Send(std::span<const std::string> words);
  // Returns the next reply; an error reply is a reply. Any error closes the connection, the deadline included.
  core::Outcome<RespValue> Receive(Deadline deadline = Deadline::max());

  // Repeats a command, which succeeded, whenever the server is connected to again.
  void RepeatWhenOpened(const Words& command);

  // Returns names that begin with the prefix, over a connection of their own, so that a slow server delays neither
  // the shell nor its next reply; those that were found by the deadline.
  std::vector<std::string> NamesOf(const std::string& prefix, Deadline deadline) const;

 private:
  core::Outcome<size_t> ReceiveBytes(std::span<char> room, Deadline deadline);
  core::Outcome<void> SetUp(Deadline deadline);

  Target target_;
  Credentials credentials_;
  std::vector<Words> setup_;
  std::optional<ClientConnection> connection_;
  RespReader reader_;
  std::string early_;  // received while no reply was waited for
};

}  // namespace bitsieve::cli
