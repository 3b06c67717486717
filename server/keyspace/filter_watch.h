// filter_watch.h: warns of filters that are filling up, before their users notice: one that passes 80% or 100% of the
// capacity that it was made for, that grows its third and each further sub-filter, or whose estimated error rate passes
// the requested one. All filters are looked at in turn, some at a time, about once a minute, so that adding items
// costs nothing for it. A filter gets one line an hour at most, and another only if it has become worse; what was so
// when the watch began gets none. Windows forget, and are left out.
// Thread-compatible; the keyspace outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/keyspace/keyspace.h"

namespace bitsieve::server {

class FilterWatch {
 public:
  using Warn = std::function<void(const std::string& line)>;

  static constexpr int64_t kRoundMs = 60'000;       // from the beginning of a round to that of the next
  static constexpr int64_t kSilenceMs = 3'600'000;  // of a filter that had a line
  static constexpr size_t kMaxKnown = 16'384;       // filters that are filling up; of further ones there are no lines
  static constexpr size_t kMaxLinesAtOnce = 10;     // in a round; further ones are counted

  FilterWatch(const Keyspace& keyspace, Warn warn) : keyspace_(keyspace), warn_(std::move(warn)) {}

  // Looks at some more filters; to be called ten times a second, once all are loaded.
  void Step(int64_t monotonic_ms);

 private:
  // How bad it is: 80 or 100 percent full, sub-filters from the third on, and whether the error rate is exceeded.
  struct Level {
    uint32_t percent = 0;
    uint32_t sub_filters = 0;
    bool exceeds_rate = false;

    bool IsWorseThan(const Level& other) const {
      return percent > other.percent || sub_filters > other.sub_filters || (exceeds_rate && !other.exceeds_rate);
    }
  };
  struct Known {
    Level level;
    int64_t logged_ms = INT64_MIN / 2;
    uint64_t round = 0;  // in which it was last seen
  };
  struct Candidate {
    std::string name;
    commands::FilterPtr filter;
  };

  void Look(const Candidate& candidate, int64_t now_ms);
  void EndRound();

  const Keyspace& keyspace_;
  const Warn warn_;
  std::unordered_map<std::string, Known> known_;
  std::vector<Candidate> candidates_;
  uint64_t cursor_ = 0;
  uint64_t round_ = 0;
  int64_t next_round_ms_ = 0;
  size_t lines_ = 0;    // of this round
  size_t omitted_ = 0;  // of this round
};

}  // namespace bitsieve::server
