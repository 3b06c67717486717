#include "tests/simulation/client.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "tests/support/request_streams.h"

namespace bitsieve::simulation {
namespace {

constexpr int64_t kLookAgainNs = 10'000'000;
// A reply that takes longer never comes.
constexpr int64_t kPatienceNs = int64_t{300} * 1'000'000'000;
constexpr uint64_t kMaxPipeline = 16;
// If each command without a reply may have been executed or refused, the states are too many beyond this.
constexpr uint64_t kMaxPipelineIfRefused = 4;

std::string Join(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Returns the reply to each step of a command: of the command's commands with several items those to each of them.
std::vector<Reply> RepliesToSteps(const Words& command, const std::vector<Reply>& received) {
  std::vector<Reply> replies;
  const auto commands = CommandsOf(command);
  const bool is_transaction = commands.size() > 1;
  for (size_t i = 0; i < commands.size(); ++i) {
    const std::string& verb = commands[i][0];
    if (verb == "MULTI" || verb == "EXEC") continue;
    const Reply& last = received.back();
    // A transaction that was not executed: each of its commands was refused.
    const Reply& reply = !is_transaction                              ? last
                         : last.kind == '*' && !last.elements.empty() ? last.elements[i - 1]
                                                                      : last;
    const bool has_many = verb == "BF.MADD" || verb == "BF.MEXISTS";
    for (size_t j = 0; j < (has_many ? commands[i].size() - 2 : 1); ++j) {
      replies.push_back(has_many && reply.kind == '*' && j < reply.elements.size() ? reply.elements[j] : reply);
    }
  }
  return replies;
}

bool ReportsChange(const Step& step, const Reply& reply) {
  static const std::set<std::string> kWrites = {"BF.RESERVE", "BF.ADD",       "BF.DEL", "BF.CLEAR", "BF.FREEZE",
                                                "BF.RESTORE", "BF.LOADCHUNK", "DEL",    "UNLINK",   "RENAME",
                                                "COPY",       "PEXPIREAT",    "PERSIST"};
  return kWrites.contains(step[0]) && (reply.text == "1" || reply.text == "OK");
}

}  // namespace

Client::Client(size_t number, size_t default_type, bool memory_is_refused, uint64_t seed,
               const Surroundings& surroundings)
    : number_(number),
      random_(seed),
      surroundings_(surroundings),
      max_pipeline_(memory_is_refused ? kMaxPipelineIfRefused : kMaxPipeline),
      model_(default_type, memory_is_refused) {}

// ---- a life

bool Client::Connect() {
  if (IsGone()) return false;
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  surroundings_.socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  has_changed_ = false;
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  FailRun("client " + std::to_string(number_) + " cannot connect: " + std::strerror(errno));
}

void Client::Close() {
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

void Client::Verify() {
  std::vector<Words> commands;
  const std::string own = "c" + std::to_string(number_) + ":";
  for (size_t key = 0; key < kOwnKeys + kSharedKeys; ++key) {
    const bool is_own = key < kOwnKeys;
    const std::string name = is_own ? own + std::to_string(key) : "shared:" + std::to_string(key - kOwnKeys);
    Words lookups = {"BF.MEXISTS", name};
    for (size_t item = 0; item < kItems; ++item) lookups.push_back(own + "i" + std::to_string(item));
    commands.push_back(lookups);
    for (const char* common : {"x0", "x1", "x2", "x3"}) {
      if (!is_own) commands.push_back({"BF.EXISTS", name, common});
    }
    if (!is_own) continue;
    commands.push_back({"EXISTS", name});
    commands.push_back({"PEXPIRETIME", name});
    commands.push_back({"BF.CARD", name});
    for (size_t item = 0; item < kItems; item += 3) {
      commands.push_back({"BF.COUNT", name, own + "i" + std::to_string(item)});
    }
  }
  is_verifying_ = true;
  Run(commands);
  is_verifying_ = false;
}

void Client::Run(const std::vector<Words>& commands) {
  if (!Connect()) return;
  uint64_t window = 1;
  for (const Words& command : commands) {
    if (command[0] == "reconnect") {
      if (!AwaitReplies(0)) break;
      Close();
      if (!Connect()) return;
      continue;
    }
    if (random_.OneIn(8)) window = random_.Between(1, max_pipeline_);
    if (command[0] == "duplicate") {
      if (!(command.size() > 3 ? DuplicateByChunks(command[1], command[2]) : Duplicate(command[1], command[2]))) break;
      continue;
    }
    Send(command);
    if (!AwaitReplies(window - 1)) break;
  }
  (void)AwaitReplies(0);
  if (!is_cut_off_) Close();
}

bool Client::Duplicate(const std::string& from, const std::string& to) {
  Send({"BF.DUMP", from});
  if (!AwaitReplies(0)) return false;
  if (!latest_.is_error()) SendAs({"BF.RESTORE", to}, {"BF.RESTORE", to, latest_.text, "REPLACE"});
  return true;
}

bool Client::DuplicateByChunks(const std::string& from, const std::string& to) {
  struct Chunk {
    std::string iterator, bytes;
  };
  std::vector<Chunk> chunks;
  for (std::string iterator = "0"; chunks.empty() || iterator != "0";) {
    Send({"BF.SCANDUMP", from, iterator});
    if (!AwaitReplies(0)) return false;
    if (latest_.is_error()) return true;
    iterator = latest_.elements[0].text;
    chunks.push_back({iterator, latest_.elements[1].text});
  }
  chunks.pop_back();  // it is empty
  Send({"DEL", to});
  for (size_t i = 0; i < chunks.size(); ++i) {
    SendAs({"BF.LOADCHUNK", to, i + 1 == chunks.size() ? "last" : "next"},
           {"BF.LOADCHUNK", to, chunks[i].iterator, chunks[i].bytes});
    if (!AwaitReplies(0)) return false;
    if (latest_.is_error()) break;
  }
  return true;
}

void Client::SendAs(const Words& command, const Words& words) {
  ++commands_;
  Sent sent{.command = {},
            .replies = 0,
            .sent_ns = surroundings_.scheduler.now_ns(),
            .wall_ms = surroundings_.wall_clock.now_ms(),
            .received = {}};
  const auto at_time = [&sent](Words timed) {
    for (std::string& word : timed) {
      if (word.starts_with("@+")) word = std::to_string(sent.wall_ms + std::stoll(word.substr(2)));
    }
    return timed;
  };
  sent.command = at_time(command);
  std::string bytes;
  for (const Words& one : CommandsOf(at_time(words))) {
    bytes += test::Encode(one);
    ++sent.replies;
  }
  sent_.push_back(std::move(sent));
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t portion = random_.OneIn(8) ? random_.Between(1, rest.size()) : rest.size();
    if (!SendBytes(rest.substr(0, portion))) return;
    rest.remove_prefix(portion);
    surroundings_.scheduler.Yield();
  }
}

bool Client::SendBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    if (IsGone()) return false;
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      surroundings_.scheduler.SleepUntil(surroundings_.scheduler.now_ns() + kLookAgainNs);
    } else {
      return has_ended_ = true, false;
    }
  }
  return true;
}

bool Client::AwaitReplies(size_t left) {
  const int64_t since_ns = surroundings_.scheduler.now_ns();
  TakeReplies();
  while (sent_.size() > left && !IsGone()) {
    const size_t before = received_.size();
    ReceiveNow();
    TakeReplies();
    if (received_.size() != before || IsGone() || sent_.size() <= left) continue;
    const int64_t now_ns = surroundings_.scheduler.now_ns();
    if (now_ns - since_ns > kPatienceNs) FailRun("no reply to " + Join(sent_.front().command));
    (void)surroundings_.scheduler.AwaitReadable(socket_, now_ns + kLookAgainNs);
  }
  return !IsGone();
}

void Client::ReceiveNow() {
  std::array<char, 16 * 1024> buffer;
  while (!IsGone() && socket_ >= 0) {
    const ssize_t size = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      has_ended_ = true;
      return;
    }
    received_.append(buffer.data(), static_cast<size_t>(size));
  }
}

void Client::CutOff() {
  ReceiveNow();
  TakeReplies();
  is_cut_off_ = true;
  Close();
}

// ---- replies

void Client::TakeReplies() {
  std::string_view bytes = received_;
  while (!sent_.empty()) {
    std::optional<Reply> reply = TakeReply(bytes);
    if (!reply) break;
    Sent& first = sent_.front();
    first.received.push_back(std::move(*reply));
    if (--first.replies > 0) continue;
    const Sent done = std::move(first);
    sent_.erase(sent_.begin());
    OnReply(done);
  }
  received_.erase(0, received_.size() - bytes.size());
}

WallTimes Client::TimesOf(const Sent& sent) const {
  return {.first_ms = surroundings_.wall_clock.EarliestMs(sent.sent_ns, sent.wall_ms),
          .latest_ms = surroundings_.wall_clock.LatestMs()};
}

void Client::OnReply(const Sent& sent) {
  const std::vector<Step> steps = StepsOf(sent.command);
  const std::vector<Reply> replies = RepliesToSteps(sent.command, sent.received);
  for (size_t i = 0; i < steps.size(); ++i) OnStep(steps[i], replies[i], sent);
}

void Client::OnStep(const Step& step, const Reply& reply, const Sent& sent) {
  const int64_t now_ns = surroundings_.scheduler.now_ns();
  if (CommonItems::IsCommon(step)) {
    if (!surroundings_.common_items.Observe(step, reply, sent.sent_ns, now_ns)) Fail(sent, Join(step), reply);
    return;
  }
  lookups_ += step[0] == "BF.EXISTS";
  without_memory_ += reply.is_error() && reply.text.starts_with("OOM");
  OnOtherReply(sent, reply);
  if (!model_.Observe(step, reply, TimesOf(sent), is_verifying_)) Fail(sent, Join(step), reply);
  const bool changed = ReportsChange(step, reply);
  has_changed_ |= changed;
  if (!is_verifying_) steps_.push_back({sent.sent_ns, now_ns, changed});
}

void Client::OnOtherReply(const Sent& sent, const Reply& reply) {
  // It waits for the changes of its own connection, and so for all before them.
  const bool is_synced = sent.command[0] == "WAITAOF" && reply.ToString() == "*[:1 :0]";
  if (is_synced && has_changed_) synced_steps_ = steps_.size();
  latest_ = reply;
  if (sent.command[0] == "SAVE" && reply.text == "OK") saved_ns_ = std::max(saved_ns_, sent.sent_ns);
}

void Client::Fail(const Sent& sent, const std::string& step, const Reply& reply) const {
  FailRun("client " + std::to_string(number_) + (is_verifying_ ? ", after a start" : "") + ": " + step + " of " +
          Join(sent.command) + " returned " + reply.ToString() + ", which no state explains:\n" + model_.Describe());
}

// ---- between lives

void Client::EndLife(size_t durable_steps, bool may_refuse) {
  std::vector<Model::Pending> pending;
  for (const Sent& sent : sent_) {
    pending.push_back({StepsOf(sent.command), TimesOf(sent)});
    std::erase_if(pending.back().steps, CommonItems::IsCommon);
    steps_.insert(steps_.end(), pending.back().steps.size(), {sent.sent_ns, INT64_MAX, false});
  }
  model_.Crash(durable_steps, pending, may_refuse);
  EndVerification();
}

void Client::EndVerification() {
  sent_.clear();
  received_.clear();
  is_cut_off_ = has_ended_ = false;
  Close();
}

void Client::BeginLife() {
  model_.BeginLife();
  steps_.clear();
  synced_steps_ = 0;
  saved_ns_ = 0;
}

}  // namespace bitsieve::simulation
