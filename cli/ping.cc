#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "cli/bulk/server_client.h"
#include "cli/client/client_connection.h"
#include "cli/client/connection_flags.h"
#include "cli/commands.h"
#include "config/flags.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/base/result.h"

namespace bitsieve::cli {
namespace {

constexpr std::string_view kRequest = "PING\r\n";
constexpr std::string_view kAnswer = "+PONG\r\n";
constexpr std::string_view kLoading = "-LOADING ";

// The first line of the reply; a server that sends more than fits is not Bitsieve.
core::Outcome<std::string> ReceiveLine(ClientConnection& connection) {
  constexpr size_t kMaxLineBytes = 1024;
  std::string line(kMaxLineBytes, '\0');
  size_t size = 0;
  while (size < line.size() && line.find('\n') >= size) {
    const auto received = connection.Receive(std::span(line).subspan(size));
    if (!received) return tl::unexpected(received.error());
    size += *received;
  }
  line.resize(size);
  return line;
}

core::Outcome<void> Authenticate(ClientConnection& connection, const Credentials& credentials) {
  std::string request;
  AppendCommandHead(request, credentials.user.empty() ? 2 : 3);
  AppendWord(request, "AUTH");
  if (!credentials.user.empty()) AppendWord(request, credentials.user);
  AppendWord(request, credentials.password);
  if (auto sent = connection.Send(request); !sent) return sent;
  const auto line = ReceiveLine(connection);
  if (!line) return tl::unexpected(line.error());
  const std::string reply = line->substr(0, line->find_first_of("\r\n"));
  if (const std::string problem = AuthProblem(reply, credentials); !problem.empty()) return tl::unexpected(problem);
  return {};
}

// Sends PING, after the password if there is one, and waits for the answer, all within `timeout`. The error states
// which step failed.
core::Outcome<void> Ping(const Target& target, const Credentials& credentials, std::chrono::milliseconds timeout) {
  auto connection = ClientConnection::Connect(target, std::chrono::steady_clock::now() + timeout);
  if (!connection) return tl::unexpected(connection.error());
  if (!credentials.empty()) {
    if (auto done = Authenticate(*connection, credentials); !done) return done;
  }
  if (auto sent = connection->Send(kRequest); !sent) return sent;
  const auto line = ReceiveLine(*connection);
  if (!line) return tl::unexpected(line.error());
  if (*line == kAnswer) return {};
  if (line->starts_with(kLoading)) return tl::unexpected<std::string>("loading: the server is up, but not ready yet");
  return tl::unexpected("replied " + core::Quoted(line->substr(0, line->find_first_of("\r\n"))) + ", not \"+PONG\"");
}

struct PingArguments {
  config::Flags flags;
  ConnectionFlags connection;
  double timeout_s = 3;
};

int RunPing(const CLI::App& command, const PingArguments& arguments) {
  const auto server = ServerOf(command, arguments.connection, arguments.flags);
  if (!server) return kExitUsage;
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(arguments.timeout_s * 1000));
  if (const core::Outcome<void> outcome = Ping(server->target, server->credentials, timeout); !outcome) {
    std::cerr << "bitsieve ping: " << server->target.Text() << ": " << outcome.error() << '\n';
    return kExitFailure;
  }
  std::cout << "PONG\n";
  return kExitOk;
}

}  // namespace

void AddPing(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<PingArguments>();
  CLI::App* command = program.add_subcommand("ping", "Check whether a server is running and ready");
  command->footer(
      "Exit status: 0 if the server replies PONG, 1 if not (also while it is loading its filters), 2 if the command "
      "line or the configuration is wrong.\nDefaults, from the port to the password, are those of a server with the "
      "same environment.");
  arguments->connection.AddTo(*command);
  command->add_option("--timeout", arguments->timeout_s, "Give up after this many seconds [3]")
      ->check([](const std::string& text) {
        const auto seconds = core::ParseDouble(text);
        const bool is_right = seconds && *seconds >= 0.001 && *seconds <= 3600;
        return is_right ? "" : core::Quoted(text) + " is not a number of seconds from 0.001 to 3600";
      })
      ->type_name("seconds");
  arguments->flags.AddFileTo(*command);
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunPing(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
