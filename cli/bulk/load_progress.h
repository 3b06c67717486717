// load_progress.h: what load shows while it works, on standard error: a line that changes on a terminal, elsewhere a
// JSON object a line, every few seconds. Confined to the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/bulk/load_state.h"

namespace bitsieve::cli {

class LoadProgress {
 public:
  enum class Form { kNone, kBar, kJson };

  // `total_bytes` of all files, 0 if not known.
  LoadProgress(Form form, uint64_t total_bytes) : form_(form), total_bytes_(total_bytes) {}
  // By what standard error is.
  static Form FormOfStandardError();

  // Looks at the clock, and shows something if it is time. `done_bytes` of the files.
  void Show(const LoadCounts& counts, uint64_t done_bytes);
  // Where it begins, if it goes on from an earlier load.
  void BeginAt(const LoadCounts& counts, uint64_t done_bytes);
  // Removes the line.
  void End();
  double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  void ShowBar(const LoadCounts& counts, uint64_t done_bytes) const;
  void ShowJson(const LoadCounts& counts, uint64_t done_bytes) const;
  double ItemsPerSecond(const LoadCounts& counts) const;
  // Negative if not known.
  double SecondsLeft(uint64_t done_bytes) const;

  const Form form_;
  const uint64_t total_bytes_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = began_;
  uint64_t first_items_ = 0;
  uint64_t first_bytes_ = 0;
};

}  // namespace bitsieve::cli
