#include "cli/bulk/load_progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/client/units.h"

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

const char* NameOf(LoadProgress::Phase phase) {
  switch (phase) {
    case LoadProgress::Phase::kCounting:
      return "counting";
    case LoadProgress::Phase::kLoading:
      return "loading";
    case LoadProgress::Phase::kDeduplicating:
      return "deduplicating";
  }
  __builtin_unreachable();
}

}  // namespace

LoadProgress::Form LoadProgress::FormOfStandardError() { return isatty(STDERR_FILENO) != 0 ? Form::kBar : Form::kJson; }

void LoadProgress::Begin(Phase phase) {
  End();
  phase_ = phase;
  phase_began_ = shown_ = now_();
}

void LoadProgress::Skip(uint64_t items, uint64_t bytes) {
  skipped_items_ += items;
  skipped_bytes_ += bytes;
}

double LoadProgress::ItemsPerSecond(const LoadCounts& counts) const {
  return static_cast<double>(counts.read - skipped_items_) / std::max(Since(phase_began_), 1e-3);
}

double LoadProgress::SecondsLeft(uint64_t done_bytes) const {
  if (total_bytes_ == 0 || done_bytes <= skipped_bytes_) return -1;
  const auto left = static_cast<double>(total_bytes_ - std::min(done_bytes, total_bytes_));
  return left * Since(phase_began_) / static_cast<double>(done_bytes - skipped_bytes_);
}

void LoadProgress::Show(const LoadCounts& counts, uint64_t done_bytes) {
  if (form_ == Form::kNone) return;
  const auto now = now_();
  if (now - shown_ < (form_ == Form::kBar ? kBetweenBars : kBetweenObjects)) return;
  shown_ = now;
  form_ == Form::kBar ? ShowBar(counts, done_bytes) : ShowJson(counts, done_bytes);
}

void LoadProgress::ShowBar(const LoadCounts& counts, uint64_t done_bytes) const {
  std::string line = phase_ == Phase::kCounting ? "counting: " : "";
  if (total_bytes_ != 0) {
    const double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes_));
    const auto filled = static_cast<size_t>(share * kBarWidth);
    char percent[8];
    std::snprintf(percent, sizeof percent, "%3.0f%% ", 100 * share);
    line += percent + ("[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] ");
  }
  line += CountText(counts.read) + " items, " + CountText(static_cast<uint64_t>(ItemsPerSecond(counts))) + "/s";
  if (const double left = SecondsLeft(done_bytes); left >= 0) line += ", " + TimeText(left) + " left";
  if (counts.refused != 0) line += ", " + CountText(counts.refused) + " refused";
  output_ << "\r\033[K" << line << std::flush;
}

void LoadProgress::ShowJson(const LoadCounts& counts, uint64_t done_bytes) const {
  nlohmann::ordered_json object = {{"phase", NameOf(phase_)}, {"read", counts.read}};
  if (phase_ != Phase::kCounting) {
    object["new"] = counts.added;
    object["present"] = counts.present;
    object["refused"] = counts.refused;
  }
  object["bytes"] = done_bytes;
  object["seconds"] = Since(phase_began_);
  object["items_per_second"] = ItemsPerSecond(counts);
  if (total_bytes_ != 0) object["total_bytes"] = total_bytes_;
  if (const double left = SecondsLeft(done_bytes); left >= 0) object["seconds_left"] = left;
  output_ << object.dump() + "\n" << std::flush;
}

void LoadProgress::End() {
  if (form_ == Form::kBar) output_ << "\r\033[K" << std::flush;
}

}  // namespace bitsieve::cli
