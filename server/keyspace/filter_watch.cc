#include "server/keyspace/filter_watch.h"

#include <algorithm>

#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/filter/filter.h"
#include "core/filter/filter_type.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// The most filters that a step looks at; the estimate of an error rate takes microseconds, and more for some filter
// types.
constexpr size_t kMaxCandidates = 64;
constexpr uint32_t kManySubFilters = 3;
// The estimate is off by up to a tenth.
constexpr double kTolerance = 1.1;

bool IsFillingUp(const core::Filter& filter) {
  if (filter.capabilities().forget) return false;
  return filter.SubFilters() >= kManySubFilters || filter.ItemCount() >= filter.params().capacity / 5 * 4;
}

uint32_t PercentReached(const core::FilterParams& params, const core::FilterInfo& info) {
  const double share = static_cast<double>(info.items) / static_cast<double>(params.capacity);
  return share >= 1 ? 100 : share >= 0.8 ? 80 : 0;
}

// The estimated error rate if it is above the requested one; else 0.
double ExceedingRate(const core::Filter& filter) {
  const double rate = filter.EstimatedErrorRate().value_or(0);
  return rate > kTolerance * filter.params().error_rate ? rate : 0;
}

// A capacity with room for a quarter more items, of two significant digits.
uint64_t AmpleCapacity(uint64_t items) {
  uint64_t capacity = items + items / 4, unit = 1;
  while (capacity / unit >= 100) unit *= 10;
  return (capacity + unit - 1) / unit * unit;
}

std::string ReserveThatFits(const std::string& name, const core::Filter& filter, uint64_t items) {
  return "BF.RESERVE " + name + " " + core::ShortestText(filter.params().error_rate) + " " +
         std::to_string(AmpleCapacity(items)) + " TYPE " + std::string(filter.type().name);
}

std::string WhatFollows(const core::FilterParams& params, uint32_t percent) {
  if (params.scaling()) return percent == 100 ? "it grows" : "beyond that it grows";
  return percent == 100 ? "it refuses further ones" : "beyond that it refuses further ones";
}

// `exceeding_rate` is 0 if the requested one is kept.
std::string LineOf(const std::string& name, const core::Filter& filter, const core::FilterInfo& info, uint32_t percent,
                   double exceeding_rate) {
  const core::FilterParams params = filter.params();
  std::string line = "Filter " + name + " holds " + std::to_string(info.items) + " items";
  if (exceeding_rate > 0) {
    line += ", and its estimated error rate, " + core::ShortestText(exceeding_rate) + ", is above the requested " +
            core::ShortestText(params.error_rate);
  }
  if (info.sub_filters >= kManySubFilters) {
    return line + " in " + std::to_string(info.sub_filters) + " sub-filters, which makes lookups slower; " +
           ReserveThatFits(name, filter, info.items) + " would have avoided them";
  }
  if (percent == 0) return line;
  return line + ", " + std::to_string(percent) + "% of the " + std::to_string(params.capacity) +
         " that it was made for: " + WhatFollows(params, percent);
}

}  // namespace

void FilterWatch::Step(int64_t monotonic_ms) {
  if (cursor_ == 0 && monotonic_ms < next_round_ms_) return;
  if (cursor_ == 0) next_round_ms_ = monotonic_ms + kRoundMs;
  constexpr uint64_t kSteps = 512;  // of a round, so that one of a million filters takes a millisecond at most
  candidates_.clear();
  cursor_ =
      keyspace_.Scan(cursor_, keyspace_.Size() / kSteps + 1, [this](std::string_view name, const FilterPtr& filter) {
        if (candidates_.size() < kMaxCandidates && IsFillingUp(*filter))
          candidates_.push_back({std::string(name), filter});
      });
  for (const Candidate& candidate : candidates_) Look(candidate, monotonic_ms);
  candidates_.clear();
  if (cursor_ == 0) EndRound();
}

void FilterWatch::Look(const Candidate& candidate, int64_t now_ms) {
  const core::Filter& filter = *candidate.filter;
  const core::FilterInfo info = filter.Info();
  const double rate = ExceedingRate(filter);
  const Level level{PercentReached(filter.params(), info), info.sub_filters >= kManySubFilters ? info.sub_filters : 0,
                    rate > 0};
  if (known_.size() == kMaxKnown && !known_.contains(candidate.name)) return;
  Known& known = known_[candidate.name];
  known.round = round_;
  const bool is_silent = round_ == 0 || now_ms - known.logged_ms < kSilenceMs;
  if (round_ == 0 || level.percent < known.level.percent) known.level = level;  // what was so before, or a new filter
  if (is_silent || !level.IsWorseThan(known.level)) return;
  known.level = level;
  known.logged_ms = now_ms;
  if (++lines_ > kMaxLinesAtOnce) {
    ++omitted_;
    return;
  }
  warn_(LineOf(core::PrintableName(candidate.name), filter, info, level.percent, rate));
}

void FilterWatch::EndRound() {
  if (omitted_ != 0) warn_(std::to_string(omitted_) + " more filters are filling up: BF.INFO shows how far");
  std::erase_if(known_, [this](const auto& entry) { return entry.second.round != round_; });
  ++round_;
  lines_ = omitted_ = 0;
}

}  // namespace bitsieve::server
