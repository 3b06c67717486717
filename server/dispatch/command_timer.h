// command_timer.h: how long commands take. Looking at the clock takes about as long as a quick command, so that quick
// commands that follow each other are timed together, and each counts an equal share: two looks a batch. Other commands
// are timed one by one, those that reply later until their reply is there. Confined to its loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/tick_clock.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/monitoring.h"
#include "server/session/command_batch.h"
#include "server/stats/stats.h"

namespace bitsieve::server {

class CommandTimer {
 public:
  // Makes the counters of the table's commands. `monitoring`, to which slow commands are reported, may be null.
  CommandTimer(const CommandTable& table, LoopStats& stats, Monitoring* monitoring);
  CommandTimer(const CommandTimer&) = delete;
  CommandTimer& operator=(const CommandTimer&) = delete;

  // A batch of this client begins.
  void Begin(const ClientRecord& client) {
    client_ = &client;
    if (monitoring_ != nullptr) notable_ns_ = monitoring_->NotableNs();
    last_ = core::TickClock::Now();
  }
  // Returns the time of the last look at the clock.
  uint64_t last() const { return last_; }

  // Counts `calls` quick commands of a row that have run, of which `failed` failed. The arguments, those of the first
  // of them, live until EndShared().
  void CountShared(const commands::CommandRow& row, commands::Arguments arguments, uint64_t calls, uint64_t failed) {
    CommandCounters& counters = CountersOf(row);
    if (failed != 0) [[unlikely]]
      LoopStats::Add(counters.failed, failed);
    if (shared_rows_ == 0 || shared_[shared_rows_ - 1].counters != &counters) {
      if (shared_rows_ == shared_.size()) EndShared();
      shared_[shared_rows_++] = {&counters, &row, arguments, 0};
    }
    shared_[shared_rows_ - 1].calls += calls;
    shared_calls_ += calls;
  }
  // No further commands share their time with those that do.
  void EndShared() {
    if (shared_rows_ != 0) CountShared();
  }

  // Begins a command that is timed on its own. Returns a moment, to be passed to EndAlone or EndLater.
  uint64_t BeginAlone() {
    EndShared();
    return last_;
  }
  void EndAlone(const commands::CommandRow& row, commands::Arguments arguments, uint64_t begin, uint64_t failed);
  // Ends a command that replies later: makes `deferred` count it when the reply is there.
  void EndLater(const commands::CommandRow& row, uint64_t begin, DeferredReply& deferred);

  void CountRejected(const commands::CommandRow& row) { LoopStats::Add(CountersOf(row).rejected, 1); }

 private:
  struct Shared {
    CommandCounters* counters;
    const commands::CommandRow* row;
    commands::Arguments arguments;
    uint64_t calls;
  };

  CommandCounters& CountersOf(const commands::CommandRow& row) { return stats_.by_command[table_.IndexOf(row)]; }
  void CountShared();

  const CommandTable& table_;
  LoopStats& stats_;
  Monitoring* const monitoring_;
  const ClientRecord* client_ = nullptr;
  uint64_t notable_ns_ = UINT64_MAX;
  uint64_t last_ = 0;
  uint64_t shared_calls_ = 0;
  size_t shared_rows_ = 0;
  std::array<Shared, 16> shared_;
};

}  // namespace bitsieve::server
