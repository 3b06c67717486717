// expiring_fixture.h: filters whose items expire, under a clock that tests turn by hand. Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/families/expiring/expiring_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::test {

class ExpiringFixture {
 public:
  static constexpr uint64_t kTtlMs = 14'000;  // epochs of a second
  static constexpr double kSurely = 1e-7;     // so low a rate that no item is taken for another

  static core::FilterParams Params(double rate, uint64_t capacity, uint32_t expansion) {
    core::FilterParams params;
    params.type = core::kExpiringType;
    params.error_rate = rate;
    params.capacity = capacity;
    params.expansion = expansion;
    core::SetTtlMs(params, kTtlMs);
    params.seed = 42;
    core::ShareForStatedCapacity(params);
    return params;
  }
  std::unique_ptr<core::Filter> Make(const core::FilterParams& params) {
    auto filter = core::MakeFilter(params, budget, clock);
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }
  std::unique_ptr<core::Filter> Make(double rate, uint64_t capacity, uint32_t expansion) {
    return Make(Params(rate, capacity, expansion));
  }
  std::unique_ptr<core::Filter> Restart(const core::Filter& filter) {
    auto copy = core::CloneFilter(filter, budget, clock);
    EXPECT_TRUE(copy) << copy.error().message;
    return std::move(*copy);
  }

  static std::vector<core::KeyHash> Hashes(const core::Filter& filter, uint64_t first, size_t count) {
    std::vector<core::KeyHash> hashes(count);
    for (size_t i = 0; i < count; ++i) hashes[i] = filter.HashOf(std::to_string(first + i));
    return hashes;
  }
  static std::vector<core::AddOutcome> Add(core::Filter& filter, uint64_t first, size_t count,
                                           const core::ItemTime& time = {}) {
    std::vector<core::AddOutcome> outcomes(count, core::AddOutcome::kFull);
    filter.Add(Hashes(filter, first, count), outcomes, time);
    return outcomes;
  }
  static core::AddOutcome AddOne(core::Filter& filter, uint64_t item, const core::ItemTime& time = {}) {
    return Add(filter, item, 1, time)[0];
  }
  static size_t Found(const core::Filter& filter, uint64_t first, size_t count) {
    std::vector<uint8_t> present(count);
    filter.MayContain(Hashes(filter, first, count), present);
    return std::accumulate(present.begin(), present.end(), size_t{0});
  }
  static bool Has(const core::Filter& filter, uint64_t item) { return Found(filter, item, 1) == 1; }
  static int64_t LeftMs(const core::Filter& filter, uint64_t item) {
    int64_t left_ms = 0;
    filter.TimeToLive(Hashes(filter, item, 1), {&left_ms, 1});
    return left_ms;
  }
  static bool Touch(core::Filter& filter, uint64_t item) {
    uint8_t touched = 0;
    filter.Touch(Hashes(filter, item, 1), {&touched, 1});
    return touched != 0;
  }
  static bool Remove(core::Filter& filter, uint64_t item) {
    uint8_t removed = 0;
    filter.Remove(Hashes(filter, item, 1), {&removed, 1});
    return removed != 0;
  }

  core::MemoryBudget budget;
  ManualClock clock;  // begins within an epoch
};

}  // namespace bitsieve::test
