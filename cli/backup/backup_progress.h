// backup_progress.h: what backup and restore show while they work, and in the end. On a terminal there is a line that
// changes, elsewhere nothing before the end. Confined to the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "server/persistence/inspect/inspection.h"

namespace bitsieve::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string command);

  // Shows the progress on a terminal. The arguments are those of server::BackupProgress.
  void Show(std::string_view act, uint64_t done_bytes, uint64_t total_bytes);
  // Removes the line.
  void End();

 private:
  using Clock = std::chrono::steady_clock;

  const std::string command_;
  const bool on_terminal_;
  std::string act_;
  Clock::time_point since_;  // of the act
  Clock::time_point shown_;
};

// Returns what a backup holds: "snapshot 7, 3 filters, 12 records of the log up to position 345".
std::string Described(const server::Inspection& found);
// Prints each line of the error on a line of standard error, led by the command's name. Returns kExitFailure.
int Fail(std::string_view command, const core::Error& error);

}  // namespace bitsieve::cli
