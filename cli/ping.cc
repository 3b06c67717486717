#include "cli/ping.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/configuration.h"
#include "config/quote.h"

namespace bitsieve::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Outcome = tl::expected<void, std::string>;

constexpr std::string_view kRequest = "PING\r\n";
constexpr std::string_view kAnswer = "+PONG\r\n";
constexpr std::string_view kLoading = "-LOADING ";

std::string SystemError(int number) { return std::strerror(number); }

// Owns a file descriptor.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

using SocketOrError = tl::expected<Socket, std::string>;

// Waits until the socket can be read or written without blocking.
Outcome WaitFor(const Socket& socket, short event, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{.fd = socket.get(), .events = event, .revents = 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready > 0) return {};
    if (ready == 0) return tl::unexpected<std::string>("no answer in time");
    if (errno != EINTR) return tl::unexpected(SystemError(errno));
  }
}

SocketOrError ConnectTo(const addrinfo& address, Clock::time_point deadline) {
  Socket socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (socket.get() < 0) return tl::unexpected(SystemError(errno));
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return tl::unexpected(SystemError(errno));
  if (const Outcome waited = WaitFor(socket, POLLOUT, deadline); !waited) return tl::unexpected(waited.error());
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return tl::unexpected(SystemError(error));
  return socket;
}

// The first of the host's addresses that takes the connection; else the last one's reason.
SocketOrError ConnectToHost(const std::string& host, uint16_t port, Clock::time_point deadline) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return tl::unexpected<std::string>(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  SocketOrError socket = tl::unexpected<std::string>("no address");
  for (const addrinfo* address = found; address != nullptr && !socket; address = address->ai_next) {
    SocketOrError next = ConnectTo(*address, deadline);
    if (next) return next;
    socket = tl::unexpected(std::move(next.error()));
  }
  return socket;
}

Outcome SendRequest(const Socket& socket, Clock::time_point deadline) {
  std::string_view rest = kRequest;
  while (!rest.empty()) {
    if (const Outcome waited = WaitFor(socket, POLLOUT, deadline); !waited) return waited;
    const ssize_t sent = send(socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent > 0) rest.remove_prefix(static_cast<size_t>(sent));
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return tl::unexpected(SystemError(errno));
  }
  return {};
}

// The first line of the reply; a server that says more than fits is none of ours.
tl::expected<std::string, std::string> ReceiveLine(const Socket& socket, Clock::time_point deadline) {
  constexpr size_t kMaxLineBytes = 1024;
  std::string line;
  while (!line.ends_with('\n') && line.size() < kMaxLineBytes) {
    if (const Outcome waited = WaitFor(socket, POLLIN, deadline); !waited) return tl::unexpected(waited.error());
    std::array<char, kMaxLineBytes> buffer;
    const ssize_t received = recv(socket.get(), buffer.data(), buffer.size() - line.size(), 0);
    if (received == 0) return tl::unexpected<std::string>("the connection was closed without an answer");
    if (received > 0) line.append(buffer.data(), static_cast<size_t>(received));
    if (received < 0 && errno != EINTR && errno != EAGAIN) return tl::unexpected(SystemError(errno));
  }
  return line;
}

}  // namespace

Outcome Ping(const std::string& host, uint16_t port, std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const SocketOrError socket = ConnectToHost(host, port, deadline);
  if (!socket) return tl::unexpected("cannot connect: " + socket.error());
  if (const Outcome sent = SendRequest(*socket, deadline); !sent) return sent;
  const auto line = ReceiveLine(*socket, deadline);
  if (!line) return tl::unexpected(line.error());
  if (*line == kAnswer) return {};
  if (line->starts_with(kLoading)) return tl::unexpected<std::string>("loading: it is up, and not ready yet");
  return tl::unexpected("answered " + config::Quoted(line->substr(0, line->find_first_of("\r\n"))) + ", not \"+PONG\"");
}

namespace {

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
