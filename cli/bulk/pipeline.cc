#include "cli/bulk/pipeline.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

namespace bitsieve::cli {
namespace {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{2000};

// The server will serve later.
bool IsForNow(const Reply& reply) {
  constexpr std::array<std::string_view, 6> kCodes = {"LOADING",  "MISCONF",    "BUSY",
                                                      "TRYAGAIN", "MASTERDOWN", "CLUSTERDOWN"};
  return reply.is_error() &&
         std::ranges::any_of(kCodes, [&](std::string_view code) { return reply.text.starts_with(code); });
}

}  // namespace

core::Outcome<void> Pipeline::Connect() {
  clients_.clear();
  next_client_ = 0;
  for (size_t i = 0; i < settings_.connections; ++i) {
    auto client = ServerClient::Connect(settings_.target, settings_.credentials);
    if (!client) return tl::unexpected(client.error());
    clients_.push_back(std::move(*client));
  }
  return DetectRestart();
}

core::Outcome<void> Pipeline::DetectRestart() {
  const auto info = clients_.front().Ask({"INFO", "server"});
  if (!info) return tl::unexpected(info.error());
  constexpr std::string_view kField = "run_id:";
  const size_t begin = info->text.find(kField);
  if (begin == std::string::npos) return {};
  const std::string process = info->text.substr(begin, info->text.find('\r', begin) - begin);
  has_restarted_ |= !process_.empty() && process != process_;
  process_ = process;
  return {};
}

core::Outcome<void> Pipeline::AwaitDisk() {
  constexpr std::string_view kTimeoutMs = "30000";
  for (ServerClient& client : clients_) {
    const auto reply = client.Ask({"WAITAOF", "1", "0", kTimeoutMs});
    if (!reply) return tl::unexpected(reply.error());
    if (reply->is_error()) return tl::unexpected(reply->text);
    const bool is_synced = !reply->elements.empty() && reply->elements.front().integer == 1;
    if (!is_synced)
      return tl::unexpected<std::string>("the server did not confirm in time that everything is on its disk");
  }
  return {};
}

core::Outcome<void> Pipeline::Put(Batch batch) {
  const size_t bytes = batch.commands.size();
  while (!sent_.empty() && (sent_.size() >= kBatches * settings_.connections || sent_bytes_ + bytes > kBytes)) {
    if (auto done = TakeOldest(); !done) return done;
  }
  sent_bytes_ += bytes;
  sent_.push_back({std::move(batch), next_client_++ % settings_.connections});
  if (auto sent = SendNewest(); !sent) return Recover(sent.error());
  return {};
}

core::Outcome<void> Pipeline::Drain() {
  while (!sent_.empty()) {
    if (auto done = TakeOldest(); !done) return done;
  }
  return {};
}

core::Outcome<void> Pipeline::SendNewest() {
  const Sent& newest = sent_.back();
  return clients_[newest.client].Send(newest.batch.commands);
}

core::Outcome<std::vector<Reply>> Pipeline::ReceiveOldest() {
  std::vector<Reply> replies;
  const Sent& oldest = sent_.front();
  while (replies.size() < oldest.batch.replies()) {
    auto reply = clients_[oldest.client].Receive();
    if (!reply) return tl::unexpected(reply.error());
    if (IsForNow(*reply)) return tl::unexpected(reply->text);
    replies.push_back(std::move(*reply));
  }
  return replies;
}

core::Outcome<void> Pipeline::TakeOldest() {
  auto replies = ReceiveOldest();
  while (!replies) {
    if (auto recovered = Recover(replies.error()); !recovered) return recovered;
    replies = ReceiveOldest();
  }
  trouble_since_.reset();
  const Batch batch = std::move(sent_.front().batch);
  sent_.pop_front();
  sent_bytes_ -= batch.commands.size();
  return on_replies_(batch, *replies);
}

core::Outcome<void> Pipeline::Recover(const std::string& reason) {
  if (!trouble_since_) trouble_since_ = Clock::now();
  const auto until = *trouble_since_ + settings_.retry;
  auto pause = kFirstPause;
  std::string latest = reason;
  while (Clock::now() + pause <= until) {
    ++retries_;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
    auto sent = Connect().and_then([this] { return SendAll(); });
    if (sent) return {};
    latest = sent.error();
  }
  return tl::unexpected(latest);
}

// The oldest is asked for first: what the server says of it is true of the others.
core::Outcome<void> Pipeline::SendAll() {
  if (clients_.empty()) return {};
  const auto ready = clients_.front().Ask({"PING"});
  if (!ready) return tl::unexpected(ready.error());
  if (IsForNow(*ready)) return tl::unexpected(ready->text);
  for (Sent& each : sent_) {
    each.client = next_client_++ % settings_.connections;
    if (auto done = clients_[each.client].Send(each.batch.commands); !done) return done;
  }
  return {};
}

}  // namespace bitsieve::cli
