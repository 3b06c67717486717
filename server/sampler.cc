#include "server/sampler.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>

namespace bitsieve::server {
namespace {

constexpr int64_t kSummaryIntervalMs = 60'000;

}  // namespace

void Sampler::Sample() {
  const int64_t now_ms = clock_.MonotonicMs();
  stats_.SampleRates(now_ms);
  SampleDisk();
  LogSlowCommands(now_ms);
  if (!stats_.Loading()) filters_.Step(now_ms);
}

void Sampler::SampleDisk() {
  const int64_t now_s = clock_.WallMs() / 1000;
  monitoring_.latency.Record(LatencyEvent::kLogSync, now_s, storage_.TakeLongestSyncMs());
  const SnapshotStatus snapshot = storage_.Snapshot();
  if (std::exchange(last_save_unix_s_, snapshot.last_save_unix_s) == snapshot.last_save_unix_s) return;
  const auto took_ms = static_cast<uint64_t>(std::max<int64_t>(0, snapshot.last_duration_ms));
  monitoring_.latency.Record(LatencyEvent::kSnapshot, now_s, took_ms);
}

void Sampler::LogSlowCommands(int64_t now_ms) {
  if (now_ms < next_summary_ms_) return;
  const std::string summary = monitoring_.SlowSummary();
  if (summary.empty()) return;
  spdlog::warn("{}", summary);
  next_summary_ms_ = now_ms + kSummaryIntervalMs;
}

}  // namespace bitsieve::server
