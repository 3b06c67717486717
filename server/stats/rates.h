// rates.h: what the server does per second, over the last 1.5 seconds, from samples of its counters. Thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/base/mutex.h"

namespace bitsieve::server {

class Rates {
 public:
  static constexpr std::chrono::milliseconds kInterval{100};  // at which Sample() is to be called

  struct Totals {
    uint64_t commands = 0;
    uint64_t input_bytes = 0;
    uint64_t output_bytes = 0;
  };

  // The counters as they are now.
  void Sample(int64_t monotonic_ms, const Totals& totals) {
    const core::LockGuard lock(mutex_);
    const bool reset = count_ != 0 && totals.commands < At(count_ - 1).totals.commands;  // CONFIG RESETSTAT
    if (reset) count_ = 0;
    At(count_++) = {monotonic_ms, totals};
  }

  // 0 until there are two samples.
  Totals PerSecond() const {
    const core::LockGuard lock(mutex_);
    if (count_ < 2) return {};
    const Entry& newest = At(count_ - 1);
    const Entry& oldest = At(count_ <= kSamples ? 0 : count_ - kSamples);
    const int64_t ms = newest.ms - oldest.ms;
    const auto rate = [ms](uint64_t now, uint64_t before) {
      return ms <= 0 || now < before ? 0 : (now - before) * 1000 / static_cast<uint64_t>(ms);
    };
    return {rate(newest.totals.commands, oldest.totals.commands),
            rate(newest.totals.input_bytes, oldest.totals.input_bytes),
            rate(newest.totals.output_bytes, oldest.totals.output_bytes)};
  }

 private:
  static constexpr size_t kSamples = 16;

  struct Entry {
    int64_t ms = 0;
    Totals totals;
  };

  Entry& At(size_t sample) BITSIEVE_REQUIRES(mutex_) { return entries_[sample % kSamples]; }
  const Entry& At(size_t sample) const BITSIEVE_REQUIRES(mutex_) { return entries_[sample % kSamples]; }

  mutable core::Mutex mutex_;
  std::array<Entry, kSamples> entries_ BITSIEVE_GUARDED_BY(mutex_);
  size_t count_ BITSIEVE_GUARDED_BY(mutex_) = 0;  // of samples since the start or the last reset
};

}  // namespace bitsieve::server
