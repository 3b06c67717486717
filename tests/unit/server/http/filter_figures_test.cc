#include "server/http/filter_figures.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/filter_factory.h"

namespace bitsieve::server {
namespace {

void AddNumbers(core::Filter& filter, int first, int count) {
  std::vector<core::KeyHash> hashes;
  for (int i = 0; i < count; ++i) hashes.push_back(filter.HashOf(std::to_string(first + i)));
  std::vector<core::AddOutcome> outcomes(hashes.size());
  ASSERT_EQ(filter.Add(hashes, outcomes), hashes.size());
}

TEST(FilterFiguresTest, AreThoseOfTheFilterAtTheirMoment) {
  core::MemoryBudget memory;
  const core::FilterParams params{.error_rate = 1e-6, .capacity = 1'000};
  const auto filter = std::move(*core::MakeFilter(params, memory, core::SystemClock()));
  AddNumbers(*filter, 0, 100);
  const FilterFigures figures = FiguresOf("f", *filter);
  const core::FilterInfo info = filter->Info();
  EXPECT_EQ(figures.name, "f");
  EXPECT_EQ(figures.type, filter->type().name);
  EXPECT_EQ(figures.items, info.items);
  EXPECT_EQ(figures.capacity, info.capacity);
  EXPECT_EQ(figures.size_bytes, info.size_bytes);
  EXPECT_EQ(figures.sub_filters, 1U);
  EXPECT_EQ(figures.requested_error_rate, 1e-6);
  EXPECT_DOUBLE_EQ(figures.Fill(), static_cast<double>(info.items) / static_cast<double>(info.capacity));
  AddNumbers(*filter, 100, 100);
  EXPECT_EQ(figures.items, info.items) << "they are plain values";
  EXPECT_GT(FiguresOf("f", *filter).items, figures.items);
}

TEST(FilterFiguresTest, WithoutACapacityNothingIsFull) {
  FilterFigures figures;
  figures.items = 7;
  EXPECT_EQ(figures.Fill(), 0);
  figures.capacity = 7;
  EXPECT_EQ(figures.Fill(), 1);
}

}  // namespace
}  // namespace bitsieve::server
