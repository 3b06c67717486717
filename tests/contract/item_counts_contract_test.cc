// The contract of every filter type about its item counts: each form in which a filter is handed out is taken back, and
// counts the same, however the filter came to its counts.
#include "core/base/bytes.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_union.h"
#include "tests/contract/every_option.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

constexpr uint64_t kCountedCapacity = 600;

class ItemCounts : public testing::TestWithParam<OptionCase> {
 protected:
  using Made = core::Result<std::unique_ptr<core::Filter>>;

  std::unique_ptr<core::Filter> Make() {
    auto filter = core::MakeFilter(GetParam().params, budget_, StillClock());
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }
  // Adds items [first, end), as far as the filter takes them.
  static void Add(core::Filter& filter, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const core::KeyHash hash = filter.HashOf(Key(KeySource::kStrings, i));
      core::AddOutcome outcome;
      filter.Add({&hash, 1}, {&outcome, 1});
    }
  }
  // Makes a copy from RedisBloom's chunks, which pass the checks of those from a client.
  Made FromChunks(const core::Filter& filter) {
    const core::RedisBloomForm& form = *filter.type().redisbloom_form;
    auto decoder = form.open(form.header(filter), core::ItemCounts::kSummed, budget_);
    if (!decoder) return tl::unexpected(decoder.error());
    for (uint64_t offset = 0; offset < (*decoder)->body_bytes();) {
      const std::string chunk = form.read(filter, offset, 100);
      if (auto status = (*decoder)->Append(core::AsBytes(chunk)); !status) return tl::unexpected(status.error());
      offset += chunk.size();
    }
    return (*decoder)->Finish();
  }
  void ExpectTakenBack(const core::Filter& filter, const std::string& state) {
    const std::string dump = core::DumpFilter(filter).value();
    const auto expect = [&](const Made& copy, const std::string& form) {
      ASSERT_TRUE(copy) << form << " " << state << ": " << copy.error().message;
      EXPECT_EQ((*copy)->ItemCount(), filter.ItemCount()) << form << " " << state;
      EXPECT_EQ(core::DumpFilter(**copy).value(), dump) << form << " " << state;
    };
    expect(core::CloneFilter(filter, budget_, StillClock()), "the image");
    expect(core::RestoreFilter(dump, budget_, StillClock()), "the dump");
    if (filter.type().redisbloom_form != nullptr) expect(FromChunks(filter), "the chunks");
  }

  core::MemoryBudget budget_;
};
INSTANTIATE_TEST_SUITE_P(Options, ItemCounts, testing::ValuesIn(EveryOption(kCountedCapacity)),
                         [](const auto& test) { return test.param.name; });

TEST_P(ItemCounts, AreTakenBackAtEveryFill) {
  const auto filter = Make();
  uint64_t added = 0;
  for (const double load : {0.0, 0.01, 0.5, 1.0, 2.0, 9.0}) {
    const auto items = static_cast<uint64_t>(load * static_cast<double>(kCountedCapacity));
    Add(*filter, added, items);
    added = items;
    ExpectTakenBack(*filter, "after " + std::to_string(items) + " additions");
  }
}

TEST_P(ItemCounts, AreTakenBackAfterRemovals) {
  const auto filter = Make();
  if (!filter->capabilities().remove) GTEST_SKIP() << "it removes none";
  Add(*filter, 0, kCountedCapacity);
  Add(*filter, 0, kCountedCapacity / 2);  // repeated, which counting filters count
  for (uint64_t i = 0; i < kCountedCapacity; i += 2) {
    const core::KeyHash hash = filter->HashOf(Key(KeySource::kStrings, i));
    uint8_t removed = 0;
    filter->Remove({&hash, 1}, {&removed, 1});
    if (i % 100 == 0) ExpectTakenBack(*filter, "after " + std::to_string(i / 2) + " removals");
  }
}

TEST_P(ItemCounts, OfUnionsAreTakenBack) {
  const auto first = Make();
  if (first->type().unite == nullptr) GTEST_SKIP() << "it is not united";
  Add(*first, 0, kCountedCapacity / 2);
  for (const uint64_t others : {uint64_t{0}, kCountedCapacity / 8, kCountedCapacity / 4}) {
    const auto other = Make();
    Add(*other, kCountedCapacity / 2, kCountedCapacity / 2 + others);
    const core::Filter* both[] = {first.get(), other.get()};
    const auto made = core::Unite(both, budget_, StillClock());
    ASSERT_TRUE(made) << made.error().message;
    ExpectTakenBack(**made, "of a union");
    const core::Status united = core::UniteInto(*other, {both, 1});
    ASSERT_TRUE(united) << united.error().message;
    ExpectTakenBack(*other, "after a union");
  }
}

// The items of a union count from its beginning. If the process ends before all bits have come, the next one begins
// with such a filter.
TEST_P(ItemCounts, OfUnionsInProgressAreTakenBack) {
  const auto filter = Make();
  if (filter->type().unite == nullptr) GTEST_SKIP() << "it is not united";
  auto* const chain = dynamic_cast<core::ScalableFilter*>(filter.get());
  if (chain == nullptr) GTEST_SKIP() << "its items are those that it has";
  const auto count = [](std::span<core::SubFilter* const> sub_filters) -> core::Result<uint64_t> {
    sub_filters.back()->CountChange(sub_filters.back()->Room(), 0);
    return 1;
  };
  ASSERT_TRUE(chain->Unite(count));
  EXPECT_GE(filter->ItemCount(), kCountedCapacity);
  ExpectTakenBack(*filter, "in a union");
}

}  // namespace
}  // namespace bitsieve::test
