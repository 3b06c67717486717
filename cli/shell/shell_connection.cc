#include "cli/shell/shell_connection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "cli/bulk/server_client.h"
#include "cli/shell/interrupts.h"
#include "core/base/parse.h"

namespace bitsieve::cli {
namespace {

using Words = ShellConnection::Words;

Words AuthOf(const Credentials& credentials) {
  if (credentials.user.empty()) return {"AUTH", credentials.password};
  return {"AUTH", credentials.user, credentials.password};
}

// Returns a pattern of SCAN that fits names that begin with the prefix.
std::string PatternOf(const std::string& prefix) {
  std::string pattern;
  for (const char c : prefix) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "*";
}

}  // namespace

ShellConnection::ShellConnection(Target target, const Credentials& credentials, bool is_resp3)
    : target_(std::move(target)), credentials_(credentials) {
  if (!credentials.empty()) setup_.push_back(AuthOf(credentials));
  if (is_resp3) setup_.push_back({"HELLO", "3"});
}

core::Outcome<void> ShellConnection::Open(Deadline deadline) {
  auto connection = ClientConnection::Connect(target_, deadline);
  if (!connection) return tl::unexpected(connection.error());
  connection_ = std::move(*connection);
  connection_->set_deadline(Deadline::max());
  if (auto done = SetUp(deadline); !done) {
    Close();
    return done;
  }
  return {};
}

void ShellConnection::Close() {
  connection_.reset();
  reader_ = RespReader();
  early_.clear();
}

core::Outcome<void> ShellConnection::SetUp(Deadline deadline) {
  for (const Words& command : setup_) {
    if (auto sent = Send(command); !sent) return sent;
    const auto reply = Receive(deadline);
    if (!reply) return tl::unexpected(reply.error());
    if (!reply->is_error()) continue;
    if (command.front() != "AUTH") return tl::unexpected(command.front() + " failed: " + reply->text);
    if (std::string problem = AuthProblem(reply->text, credentials_); !problem.empty()) {
      return tl::unexpected(std::move(problem));
    }
  }
  return {};
}

// Large words are sent from where they are: a dump takes its memory once.
core::Outcome<void> ShellConnection::Send(std::span<const std::string> words) {
  constexpr size_t kLargeBytes = 64 << 10;
  std::string bytes;
  core::Outcome<void> sent;
  AppendCommandHead(bytes, words.size());
  for (const std::string& word : words) {
    if (word.size() < kLargeBytes) {
      AppendWord(bytes, word);
      continue;
    }
    bytes += "$" + std::to_string(word.size()) + "\r\n";
    sent = connection_->Send(std::exchange(bytes, "\r\n"));
    if (sent) sent = connection_->Send(word);
    if (!sent) break;
  }
  if (sent) sent = connection_->Send(bytes);
  if (!sent) Close();
  return sent;
}

core::Outcome<RespValue> ShellConnection::Receive(Deadline deadline) {
  auto reply = reader_.Read(
      [this, deadline](std::span<char> room) -> core::Outcome<size_t> { return ReceiveBytes(room, deadline); });
  if (!reply) Close();
  return reply;
}

// Waits in short steps, since one step does not end when Ctrl-C is typed.
core::Outcome<size_t> ShellConnection::ReceiveBytes(std::span<char> room, Deadline deadline) {
  constexpr std::chrono::milliseconds kWait{50};
  if (!early_.empty()) {
    const size_t size = early_.copy(room.data(), room.size());
    early_.erase(0, size);
    return size;
  }
  while (!Interrupts::IsPending()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return tl::unexpected<std::string>("timed out waiting for the server");
    auto received = connection_->ReceiveUntil(room, std::min(deadline, now + kWait));
    if (!received || *received != 0) return received;
  }
  return tl::unexpected<std::string>("interrupted");
}

// Between commands a server sends nothing, except for messages of RESP3 and the end of the connection.
bool ShellConnection::IsOpen() {
  if (!connection_) return false;
  std::array<char, 4096> room;
  const auto received = connection_->ReceiveUntil(room, std::chrono::steady_clock::now());
  if (!received) {
    Close();
    return false;
  }
  early_.append(room.data(), *received);
  return true;
}

void ShellConnection::RepeatWhenOpened(const Words& command) {
  std::erase_if(setup_, [&](const Words& each) { return core::EqualsIgnoringCase(each.front(), command.front()); });
  setup_.push_back(command);
}

std::vector<std::string> ShellConnection::NamesOf(const std::string& prefix, Deadline deadline) const {
  ShellConnection connection(target_, credentials_, false);
  connection.setup_ = setup_;
  std::vector<std::string> names;
  if (!connection.Open(deadline)) return names;
  std::string cursor = "0";
  do {
    if (!connection.Send(Words{"SCAN", cursor, "MATCH", PatternOf(prefix), "COUNT", "1000"})) break;
    auto reply = connection.Receive(deadline);
    if (!reply || reply->elements.size() != 2) break;
    cursor = reply->elements[0].text;
    for (RespValue& name : reply->elements[1].elements) names.push_back(std::move(name.text));
  } while (cursor != "0");
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

}  // namespace bitsieve::cli
