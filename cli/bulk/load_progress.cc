#include "cli/bulk/load_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/units.h"

namespace bitsieve::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenBars{100};
constexpr std::chrono::milliseconds kBetweenObjects{2000};
constexpr size_t kBarWidth = 24;

// "1:05", "2:00:00"
std::string TimeText(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  char text[32];
  if (whole < 3600) {
    std::snprintf(text, sizeof text, "%llu:%02llu", static_cast<unsigned long long>(whole / 60),
                  static_cast<unsigned long long>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%llu:%02llu:%02llu", static_cast<unsigned long long>(whole / 3600),
                  static_cast<unsigned long long>(whole / 60 % 60), static_cast<unsigned long long>(whole % 60));
  }
  return text;
}

}  // namespace

LoadProgress::Form LoadProgress::FormOfStandardError() { return isatty(STDERR_FILENO) != 0 ? Form::kBar : Form::kJson; }

void LoadProgress::BeginAt(const LoadCounts& counts, uint64_t done_bytes) {
  first_items_ = counts.read;
  first_bytes_ = done_bytes;
}

double LoadProgress::seconds() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

double LoadProgress::ItemsPerSecond(const LoadCounts& counts) const {
  return static_cast<double>(counts.read - first_items_) / std::max(seconds(), 1e-3);
}

double LoadProgress::SecondsLeft(uint64_t done_bytes) const {
  if (total_bytes_ == 0 || done_bytes <= first_bytes_) return -1;
  const auto left = static_cast<double>(total_bytes_ - std::min(done_bytes, total_bytes_));
  return left * seconds() / static_cast<double>(done_bytes - first_bytes_);
}

void LoadProgress::Show(const LoadCounts& counts, uint64_t done_bytes) {
  if (form_ == Form::kNone) return;
  const auto now = Clock::now();
  if (now - shown_ < (form_ == Form::kBar ? kBetweenBars : kBetweenObjects)) return;
  shown_ = now;
  form_ == Form::kBar ? ShowBar(counts, done_bytes) : ShowJson(counts, done_bytes);
}

void LoadProgress::ShowBar(const LoadCounts& counts, uint64_t done_bytes) const {
  std::string line;
  if (total_bytes_ != 0) {
    const double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes_));
    const auto filled = static_cast<size_t>(share * kBarWidth);
    char percent[8];
    std::snprintf(percent, sizeof percent, "%3.0f%% ", 100 * share);
    line = percent + ("[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] ");
  }
  line += CountText(counts.read) + " items, " + CountText(static_cast<uint64_t>(ItemsPerSecond(counts))) + "/s";
  if (const double left = SecondsLeft(done_bytes); left >= 0) line += ", " + TimeText(left) + " left";
  if (counts.refused != 0) line += ", " + CountText(counts.refused) + " refused";
  std::cerr << "\r\033[K" << line << std::flush;
}

void LoadProgress::ShowJson(const LoadCounts& counts, uint64_t done_bytes) const {
  nlohmann::ordered_json object = {{"read", counts.read},
                                   {"new", counts.added},
                                   {"present", counts.present},
                                   {"refused", counts.refused},
                                   {"bytes", done_bytes},
                                   {"seconds", seconds()},
                                   {"items_per_second", ItemsPerSecond(counts)}};
  if (total_bytes_ != 0) object["total_bytes"] = total_bytes_;
  if (const double left = SecondsLeft(done_bytes); left >= 0) object["seconds_left"] = left;
  std::cerr << object.dump() + "\n" << std::flush;
}

void LoadProgress::End() {
  if (form_ == Form::kBar) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace bitsieve::cli
