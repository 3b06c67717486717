#include "cli/backup/backup_progress.h"

#include <unistd.h>

#include <iostream>
#include <sstream>
#include <utility>

#include "cli/client/units.h"
#include "cli/commands.h"

namespace bitsieve::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenShows{100};

}  // namespace

ProgressLine::ProgressLine(std::string command)
    : command_(std::move(command)), on_terminal_(::isatty(STDERR_FILENO) != 0) {}

void ProgressLine::Show(std::string_view act, uint64_t done_bytes, uint64_t total_bytes) {
  if (!on_terminal_) return;
  const Clock::time_point now = Clock::now();
  if (act != act_) {
    act_ = act;
    since_ = now;
  } else if (now - shown_ < kBetweenShows) {
    return;
  }
  shown_ = now;
  std::string line = "bitsieve " + command_ + ": " + act_ + " ";
  if (done_bytes == 0) {
    line += total_bytes == 0 ? "" : SizeText(total_bytes);
  } else {
    if (total_bytes != 0) line += std::to_string(done_bytes * 100 / total_bytes) + "% of " + SizeText(total_bytes);
    if (total_bytes == 0) line += SizeText(done_bytes);
    const double seconds = std::chrono::duration<double>(now - since_).count();
    if (seconds > 0) line += ", " + SizeText(static_cast<uint64_t>(static_cast<double>(done_bytes) / seconds)) + "/s";
  }
  std::cerr << "\r\033[K" << line << std::flush;
}

void ProgressLine::End() {
  if (on_terminal_ && !act_.empty()) std::cerr << "\r\033[K" << std::flush;
  act_.clear();
}

std::string Described(const server::Inspection& found) {
  return "snapshot " + std::to_string(found.manifest.snapshot_number) + ", " + std::to_string(found.filters.size()) +
         " filters, " + std::to_string(found.scan.records) + " records of the log up to position " +
         std::to_string(found.scan.end);
}

int Fail(std::string_view command, const core::Error& error) {
  std::istringstream lines(error.message);
  for (std::string line; std::getline(lines, line);) std::cerr << "bitsieve " << command << ": " << line << '\n';
  return kExitFailure;
}

}  // namespace bitsieve::cli
