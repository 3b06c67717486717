// mover.h: makes filters of a source on a new server. A filter appears there when it is whole, with its expiry.
// Commands are sent without waiting for the replies of those before, so that many small filters do not each take a
// round trip. Confined to one thread. Errors are for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk/server_client.h"
#include "cli/migrate/filter_source.h"
#include "core/base/result.h"

namespace bitsieve::cli {

struct MoveSettings {
  bool replace = false;           // takes the place of what has the name
  std::string as;                 // the type that RedisBloom's Bloom filters are made anew as, empty; else as they are
  uint64_t bytes_per_second = 0;  // 0: as fast as it goes
};

struct MoveFailure {
  std::string name;
  std::string reason;
};

struct MoveReport {
  uint64_t moved = 0;
  uint64_t made_empty = 0;  // of those
  uint64_t moved_bytes = 0;
  std::vector<MoveFailure> failures = {};
};

// Filters that are worked on together: their names fit in one round trip.
inline constexpr size_t kNamesOfAPage = 512;

// Returns for each filter whether the new server has something of this name.
core::Outcome<std::vector<bool>> AskWhichAreThere(ServerClient& target, std::span<const FoundFilter> filters);

class Mover {
 public:
  using Progress = std::function<void(uint64_t sent_bytes)>;

  Mover(FilterSource& source, ServerClient& target, const MoveSettings& settings, Progress progress);

  // The outcome of each filter is in the report once Finish has returned. The error: no more can be moved.
  core::Outcome<void> Move(const FoundFilter& filter);
  core::Outcome<void> Finish() { return AwaitReplies(0); }

  const MoveReport& report() const { return report_; }

 private:
  using Clock = std::chrono::steady_clock;

  // A filter on its way.
  struct Transfer {
    std::string name;
    std::string temporary_name = {};  // until it is whole and has its expiry; empty: it needs none
    bool is_empty = false;
    uint64_t bytes = 0;
    std::string failure = {};
  };
  enum class Step : uint8_t { kMake, kExpire, kRename, kRemove };
  struct Expected {
    std::shared_ptr<Transfer> transfer;
    Step step;
    uint64_t bytes;
    bool is_last;
  };

  core::Outcome<void> SendAll(const FoundFilter& filter, const std::shared_ptr<Transfer>& transfer);
  core::Outcome<void> SendEnd(const FoundFilter& filter, const std::shared_ptr<Transfer>& transfer);
  core::Outcome<std::unique_ptr<FilterCommands>> CommandsFor(const FoundFilter& filter, Transfer& transfer);
  core::Outcome<void> Send(const std::shared_ptr<Transfer>& transfer, Step step, std::string bytes, bool is_last);
  // Until so many bytes at most have no reply yet.
  core::Outcome<void> AwaitReplies(uint64_t most_bytes);
  static void TakeReply(Transfer& transfer, Step step, const Reply& reply);
  void End(const Transfer& transfer);
  void WaitForBandwidth();

  FilterSource& source_;
  ServerClient& target_;
  const MoveSettings settings_;
  const Progress progress_;
  const std::string temporary_suffix_;
  std::deque<Expected> expected_;
  uint64_t expected_bytes_ = 0;
  uint64_t sent_bytes_ = 0;
  const Clock::time_point began_ = Clock::now();
  MoveReport report_;
};

}  // namespace bitsieve::cli
