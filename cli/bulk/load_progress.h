// load_progress.h: what load shows while it works, on standard error: a line that changes on a terminal, elsewhere a
// JSON object a line, every few seconds. Confined to the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "cli/bulk/load_state.h"

namespace bitsieve::cli {

class LoadProgress {
 public:
  enum class Form { kNone, kBar, kJson };
  enum class Phase { kCounting, kLoading, kDeduplicating };
  using Clock = std::chrono::steady_clock;

  // `total_bytes` of all files, 0 if not known. Tests give an output and a clock of their own.
  LoadProgress(Form form, uint64_t total_bytes, std::ostream& output = std::cerr,
               std::function<Clock::time_point()> now = Clock::now)
      : form_(form), total_bytes_(total_bytes), output_(output), now_(std::move(now)) {}
  // By what standard error is.
  static Form FormOfStandardError();

  // Looks at the clock, and shows something if it is time. `done_bytes` of the files.
  void Show(const LoadCounts& counts, uint64_t done_bytes);
  // Rate and time left are those of the phase. Without a call it is the loading.
  void Begin(Phase phase);
  // Records of the file that an earlier load added; this load does not count them.
  void Skip(uint64_t items, uint64_t bytes);
  // Removes the line.
  void End();
  // Since it was made.
  double seconds() const { return Since(began_); }

 private:
  double Since(Clock::time_point begin) const { return std::chrono::duration<double>(now_() - begin).count(); }
  void ShowBar(const LoadCounts& counts, uint64_t done_bytes) const;
  void ShowJson(const LoadCounts& counts, uint64_t done_bytes) const;
  double ItemsPerSecond(const LoadCounts& counts) const;
  // Negative if not known.
  double SecondsLeft(uint64_t done_bytes) const;

  const Form form_;
  const uint64_t total_bytes_;
  std::ostream& output_;
  const std::function<Clock::time_point()> now_;
  const Clock::time_point began_ = now_();
  Phase phase_ = Phase::kLoading;
  Clock::time_point phase_began_ = began_;
  Clock::time_point shown_ = began_;
  uint64_t skipped_items_ = 0;
  uint64_t skipped_bytes_ = 0;
};

}  // namespace bitsieve::cli
