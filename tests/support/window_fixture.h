// window_fixture.h: windows of items and of time under a clock that tests turn by hand. Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/families/window/window_filter.h"
#include "core/families/window/window_type.h"
#include "core/filter/filter_factory.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::test {

class WindowFixture {
 public:
  static constexpr uint64_t kAbsent = uint64_t{1} << 40;  // items from here on are never added
  static constexpr double kSurely = 1e-9;                 // so low a rate that no item is taken for another

  static core::FilterParams Params(double rate, uint64_t capacity, core::WindowSpan window) {
    core::FilterParams params;
    params.type = core::kWindowType;
    params.error_rate = rate;
    params.capacity = capacity;
    params.expansion = 0;
    core::SetWindow(params, window);
    params.seed = 42;
    core::ShareForStatedCapacity(params);
    return params;
  }
  std::unique_ptr<core::Filter> OfItems(double rate, uint64_t items) {
    return Make(Params(rate, items, {.items = items}));
  }
  std::unique_ptr<core::Filter> OfTime(double rate, uint64_t capacity, uint64_t duration_ms) {
    return Make(Params(rate, capacity, {.duration_ms = duration_ms}));
  }
  std::unique_ptr<core::Filter> Make(const core::FilterParams& params) {
    auto filter = core::MakeFilter(params, budget, clock);
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }

  static std::vector<core::KeyHash> Hashes(const core::Filter& filter, uint64_t first, size_t count) {
    std::vector<core::KeyHash> hashes(count);
    for (size_t i = 0; i < count; ++i) hashes[i] = filter.HashOf(std::to_string(first + i));
    return hashes;
  }
  static std::vector<core::AddOutcome> Add(core::Filter& filter, uint64_t first, size_t count) {
    std::vector<core::AddOutcome> outcomes(count);
    EXPECT_EQ(filter.Add(Hashes(filter, first, count), outcomes), count);
    return outcomes;
  }
  static core::AddOutcome AddOne(core::Filter& filter, uint64_t item) { return Add(filter, item, 1)[0]; }
  static size_t Found(const core::Filter& filter, uint64_t first, size_t count) {
    std::vector<uint8_t> present(count);
    filter.MayContain(Hashes(filter, first, count), present);
    return std::accumulate(present.begin(), present.end(), size_t{0});
  }

  static std::string BodyOf(core::FilterImage& image) {
    std::string body(image.body_bytes(), '\0');
    EXPECT_TRUE(image.Read(0, std::as_writable_bytes(std::span(body))));
    return body;
  }
  core::Result<std::unique_ptr<core::Filter>> Decode(std::string_view header, std::string_view body) {
    auto decoder = core::FilterDecoder::Open(header, budget, clock);
    if (!decoder) return tl::unexpected(decoder.error());
    if (auto status = (*decoder)->Append(core::AsBytes(body)); !status) return tl::unexpected(status.error());
    return (*decoder)->Finish();
  }
  std::unique_ptr<core::Filter> Restart(const core::Filter& filter) {
    const auto image = filter.Capture();
    auto copy = Decode(image->header(), BodyOf(*image));
    EXPECT_TRUE(copy) << copy.error().message;
    return std::move(*copy);
  }

  core::MemoryBudget budget;
  ManualClock clock;
};

}  // namespace bitsieve::test
