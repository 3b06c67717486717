#include "server/dispatch/stats.h"

namespace bitsieve::server {

uint64_t ServerStats::Sum(std::atomic<uint64_t> LoopStats::*counter) const {
  uint64_t sum = 0;
  for (const LoopStats& loop : loops) sum += (loop.*counter).load(std::memory_order_relaxed);
  return sum;
}

void Publish(Tally& tally, LoopStats& stats) {
  LoopStats::Add(stats.commands, tally.commands);
  LoopStats::Add(stats.lookup_hits, tally.hits);
  LoopStats::Add(stats.lookup_misses, tally.misses);
  LoopStats::Add(stats.items_added, tally.added);
  LoopStats::Add(stats.error_replies, tally.errors);
  tally = {};
}

}  // namespace bitsieve::server
