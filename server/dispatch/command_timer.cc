#include "server/dispatch/command_timer.h"

#include <utility>

namespace bitsieve::server {

using namespace commands;

using core::TickClock;

CommandTimer::CommandTimer(const CommandTable& table, LoopStats& stats, Monitoring* monitoring)
    : table_(table), stats_(stats), monitoring_(monitoring) {
  if (stats.by_command.size() == 0) stats.by_command = CommandStats(table.all_rows().size());
  TickClock::Nanoseconds(0, 1);  // measures its rate now
}

void CommandTimer::CountShared() {
  const uint64_t now = TickClock::Now();
  const uint64_t ns = TickClock::Nanoseconds(std::exchange(last_, now), now);
  const uint64_t all = std::exchange(shared_calls_, 0);
  if (ns >= notable_ns_) [[unlikely]]
    monitoring_->RecordSlow(*shared_[0].row, shared_[0].arguments, all - 1, *client_, ns);
  for (size_t i = 0; i < shared_rows_; ++i) {
    const Shared& each = shared_[i];
    each.counters->AddCalls(each.calls, shared_rows_ == 1 ? ns : ns * each.calls / all);
  }
  shared_rows_ = 0;
}

void CommandTimer::EndAlone(const CommandRow& row, Arguments arguments, uint64_t begin, uint64_t failed) {
  last_ = TickClock::Now();
  const uint64_t ns = TickClock::Nanoseconds(begin, last_);
  CommandCounters& counters = CountersOf(row);
  counters.AddCalls(1, ns);
  LoopStats::Add(counters.failed, failed);
  if (ns >= notable_ns_) [[unlikely]]
    monitoring_->RecordSlow(row, arguments, 0, *client_, ns);
}

void CommandTimer::EndLater(const CommandRow& row, uint64_t begin, DeferredReply& deferred) {
  deferred = [run = std::move(deferred), &stats = stats_, &counters = CountersOf(row), begin](Finish finish) {
    run([finish = std::move(finish), &stats, &counters, begin](WriteReply write) {
      const uint64_t ns = TickClock::Nanoseconds(begin, TickClock::Now());
      finish([write = std::move(write), &stats, &counters, ns](protocol::ReplyWriter& reply) {
        const uint64_t errors = stats.error_replies.load(std::memory_order_relaxed);
        write(reply);
        counters.AddCalls(1, ns);
        if (stats.error_replies.load(std::memory_order_relaxed) != errors) LoopStats::Add(counters.failed, 1);
      });
    });
  };
}

}  // namespace bitsieve::server
