#include "server/stats/stats.h"

#include <random>

namespace bitsieve::server {

using namespace commands;

std::string RandomHexId() {
  constexpr size_t kDigits = 40;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::random_device random;
  std::string id;
  while (id.size() < kDigits) id += kHex[random() % kHex.size()];
  return id;
}

void ServerStats::SampleRates(int64_t monotonic_ms) {
  rates.Sample(monotonic_ms, {.commands = Sum(&LoopStats::commands),
                              .input_bytes = Sum(&LoopStats::input_bytes),
                              .output_bytes = Sum(&LoopStats::output_bytes)});
}

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
