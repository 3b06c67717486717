// pipeline.h: batches of commands, sent over several connections with many on their way at a time, and their replies in
// the order of the batches. A connection that breaks, or a server that cannot serve for the moment, is tried again for
// a while, with every batch that has no reply yet. Confined to one thread. Errors are for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bulk/server_client.h"
#include "core/base/result.h"

namespace bitsieve::cli {

struct Batch {
  std::string commands;
  bool one_each = false;  // a command, and so a reply, for each item; otherwise a reply is an array
  size_t items = 0;
  std::vector<size_t> items_of = {};  // of each command, unless there is one for each item
  size_t replies() const { return one_each ? items : items_of.size(); }
  uint64_t end_position = 0;  // in the input, after its last item
  uint64_t end_records = 0;
  std::vector<std::string> lines;  // of its items, if they are to be printed
};

class Pipeline {
 public:
  // Called with the replies to one batch.
  using OnReplies = std::function<core::Outcome<void>(const Batch& batch, const std::vector<Reply>& replies)>;

  struct Settings {
    Target target;
    Credentials credentials;
    size_t connections = 2;
    std::chrono::seconds retry{60};  // 0: never
  };
  // Maximum number of batches without a reply, per connection.
  static constexpr size_t kBatches = 8;
  static constexpr size_t kBytes = 4 << 20;  // over all connections, so that memory is bounded

  Pipeline(Settings settings, OnReplies on_replies)
      : settings_(std::move(settings)), on_replies_(std::move(on_replies)) {}

  core::Outcome<void> Connect();
  core::Outcome<void> Put(Batch batch);
  // Waits until all replies have come.
  core::Outcome<void> Drain();
  uint64_t retries() const { return retries_; }
  // Whether the server is another process than in the beginning: what the one before acknowledged in its last moments
  // may be lost.
  bool has_restarted() const { return has_restarted_; }
  // Waits until all that was acknowledged is on the server's disk. The error: the server does not know, or it takes too
  // long.
  core::Outcome<void> AwaitDisk();

 private:
  using Clock = std::chrono::steady_clock;

  // Both may find that the connection is broken.
  core::Outcome<void> SendNewest();
  core::Outcome<std::vector<Reply>> ReceiveOldest();
  core::Outcome<void> TakeOldest();
  // Connects again and sends all batches again, until that works or it has been tried for too long: then the error is
  // the reason that was given.
  core::Outcome<void> Recover(const std::string& reason);
  core::Outcome<void> SendAll();
  // A server that is of another kind may have none.
  core::Outcome<void> DetectRestart();

  const Settings settings_;
  const OnReplies on_replies_;
  std::vector<ServerClient> clients_;
  struct Sent {
    Batch batch;
    size_t client;
  };
  std::deque<Sent> sent_;  // without a reply, in order
  size_t sent_bytes_ = 0;
  size_t next_client_ = 0;
  std::optional<Clock::time_point> trouble_since_;  // no batch was answered since
  uint64_t retries_ = 0;
  std::string process_;  // the server's run_id
  bool has_restarted_ = false;
};

}  // namespace bitsieve::cli
