#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "cli/commands.h"
#include "cli/configuration.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

using Outcome = tl::expected<void, std::string>;
using Stream = asio::ip::tcp::iostream;

constexpr std::string_view kRequest = "PING\r\n";
constexpr std::string_view kAnswer = "+PONG\r\n";
constexpr std::string_view kLoading = "-LOADING ";

std::string ErrorOf(const Stream& stream) {
  if (stream.error() == asio::error::host_not_found) return "Name or service not known";
  if (stream.error() == asio::error::timed_out) return "no answer in time";
  if (stream.error() == asio::error::eof) return "the connection was closed without an answer";
  return stream.error().message();
}

// The first line of the reply; a server that sends more than fits is not Bitsieve.
std::string ReceiveLine(Stream& stream) {
  constexpr size_t kMaxLineBytes = 1024;
  std::string line;
  for (char next; line.size() < kMaxLineBytes && !line.ends_with('\n') && stream.get(next);) line += next;
  return line;
}

// Sends PING and waits for the answer, all within `timeout`. The error states which step failed.
Outcome Ping(const std::string& host, uint16_t port, std::chrono::milliseconds timeout) {
  Stream stream;
  stream.expires_after(timeout);
  stream.connect(host, std::to_string(port), asio::ip::tcp::resolver::flags());
  if (!stream) return tl::unexpected("cannot connect: " + ErrorOf(stream));
  stream << kRequest << std::flush;
  const std::string line = ReceiveLine(stream);
  if (!stream) return tl::unexpected(ErrorOf(stream));
  if (line == kAnswer) return {};
  if (line.starts_with(kLoading)) return tl::unexpected<std::string>("loading: it is up, and not ready yet");
  return tl::unexpected("answered " + core::Quoted(line.substr(0, line.find_first_of("\r\n"))) + ", not \"+PONG\"");
}

struct PingArguments {
  config::Flags flags;
  std::string host;
  std::optional<uint16_t> port;
  double timeout_s = 3;
};

// Where a server that listens on `bind` is to be reached from the same machine: at the first of its addresses.
std::string Reachable(std::string_view bind) {
  constexpr std::string_view kSeparators = " \t,";
  bind.remove_prefix(std::min(bind.find_first_not_of(kSeparators), bind.size()));
  const std::string_view first = bind.substr(0, bind.find_first_of(kSeparators));
  if (first == "0.0.0.0" || first == "*") return "127.0.0.1";
  if (first == "::") return "::1";
  return std::string(first);
}

int RunPing(const CLI::App& command, const PingArguments& arguments) {
  const auto configuration = LoadOrExplain(command, arguments.flags);
  if (!configuration) return kExitUsage;
  const std::string host = arguments.host.empty() ? Reachable(configuration->options.bind) : arguments.host;
  const uint16_t port = arguments.port.value_or(configuration->options.port);
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(arguments.timeout_s * 1000));
  if (const Outcome outcome = Ping(host, port, timeout); !outcome) {
    std::cerr << "bitsieve ping: " << host << " port " << port << ": " << outcome.error() << '\n';
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
      "Exit status: 0 if it answers PONG, 1 if not (also while it is loading its filters), 2 if the command line or "
      "the configuration is wrong.\n"
      "Host and port are, if not given, those that the server would take from the same environment.");
  command->add_option("--host", arguments->host, "Name or address of the server")->type_name("TEXT");
  command->add_option("--port", arguments->port, "Its TCP port")->check(CLI::Range(1, 65535))->type_name("NUMBER");
  command->add_option("--timeout", arguments->timeout_s, "Give up after so many seconds [3]")
      ->check(CLI::Range(0.001, 3600.0))
      ->type_name("seconds");
  arguments->flags.AddFileTo(*command);
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunPing(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
