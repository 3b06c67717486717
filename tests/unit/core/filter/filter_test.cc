// The parts of the interface that all types share: hashing, numbers of changes, and known false positives.
#include "core/filter/filter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/false_positive_codec.h"
#include "core/filter/filter_factory.h"
#include "core/filter/sampled_error_rate.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {
namespace {

// Keeps what is reported; refuses reservations when told to.
class Recorder final : public ChangeListener {
 public:
  bool Reserve(size_t count) noexcept override {
    if (refuses) return false;
    reserved += count;
    return true;
  }
  void Release(size_t count) noexcept override { reserved -= count; }
  void OnChange(const Change& change, size_t of_reserved) noexcept override {
    reserved -= of_reserved;
    kinds.push_back(change.kind);
    sequences.push_back(change.sequence);
    hashes.insert(hashes.end(), change.hashes.begin(), change.hashes.end());
  }

  bool refuses = false;
  size_t reserved = 0;
  std::vector<ChangeKind> kinds;
  std::vector<uint64_t> sequences;
  std::vector<KeyHash> hashes;
};

class FilterTest : public testing::Test {
 protected:
  std::unique_ptr<Filter> Make(FilterType type = kBlockedType, uint64_t capacity = 1000) {
    FilterParams params;
    params.type = type;
    params.capacity = capacity;
    params.seed = 42;
    return std::move(*MakeFilter(params, budget_, SystemClock()));
  }
  static AddOutcome Add(Filter& filter, std::string_view item) {
    const KeyHash hash = filter.HashOf(item);
    AddOutcome outcome{};
    filter.Add({&hash, 1}, {&outcome, 1});
    return outcome;
  }
  static bool Has(const Filter& filter, std::string_view item) {
    const KeyHash hash = filter.HashOf(item);
    uint8_t present = 0;
    filter.MayContain({&hash, 1}, {&present, 1});
    return present != 0;
  }
  static RecordOutcome Deny(Filter& filter, std::string_view item) {
    const KeyHash hash = filter.HashOf(item);
    RecordOutcome outcome{};
    filter.RecordFalsePositives({&hash, 1}, {&outcome, 1});
    return outcome;
  }
  // Makes a filter that is so small and full that an item which was not added is found.
  std::pair<std::unique_ptr<Filter>, std::string> MakeWrong() {
    FilterParams params;
    params.type = kBlockedType;
    params.capacity = 50;
    params.error_rate = kMaxErrorRate;
    params.seed = 1;
    std::unique_ptr<Filter> filter = std::move(*MakeFilter(params, budget_, SystemClock()));
    for (int i = 0; i < 50; ++i) Add(*filter, "item" + std::to_string(i));
    for (int i = 0;; ++i) {
      std::string other = "other" + std::to_string(i);
      if (Has(*filter, other)) return {std::move(filter), std::move(other)};
    }
  }

  MemoryBudget budget_;
};

TEST_F(FilterTest, HashesOneItemAsItHashesSeveral) {
  const auto filter = Make();
  const std::vector<std::string_view> items{"a", "bb", ""};
  std::vector<KeyHash> hashes(3);
  filter->HashItems(items, hashes);
  for (size_t i = 0; i < items.size(); ++i) EXPECT_EQ(hashes[i], filter->HashOf(items[i]));
}

TEST_F(FilterTest, ChangesAreNumberedAndReportedOnce) {
  Recorder recorder;
  const auto filter = Make();
  EXPECT_EQ(filter->id(), 0U);
  filter->Attach(&recorder, 9, 4);
  EXPECT_TRUE(filter->pristine());
  EXPECT_EQ(Add(*filter, "a"), AddOutcome::kAdded);
  EXPECT_EQ(Add(*filter, "a"), AddOutcome::kPresent);
  EXPECT_EQ(Add(*filter, "b"), AddOutcome::kAdded);
  EXPECT_FALSE(filter->pristine());
  EXPECT_EQ(filter->id(), 9U);
  EXPECT_EQ(filter->sequence(), 6U);
  EXPECT_EQ(recorder.sequences, (std::vector<uint64_t>{5, 6})) << "what changes nothing is not reported";
  EXPECT_EQ(recorder.hashes, (std::vector<KeyHash>{filter->HashOf("a"), filter->HashOf("b")}));
  EXPECT_EQ(recorder.reserved, 0U);
  filter->Attach(nullptr, 0, 0);
}

TEST_F(FilterTest, AChangeThatCannotBeReportedIsNotMade) {
  Recorder recorder;
  const auto filter = Make();
  filter->Attach(&recorder, 1, 0);
  recorder.refuses = true;
  EXPECT_EQ(Add(*filter, "a"), AddOutcome::kOutOfMemory);
  EXPECT_FALSE(Has(*filter, "a"));
  EXPECT_EQ(filter->ItemCount(), 0U);
  filter->Attach(nullptr, 0, 0);
}

TEST_F(FilterTest, AKnownFalsePositiveIsDeniedUntilItIsAdded) {
  const auto [filter, wrong] = MakeWrong();
  EXPECT_EQ(Deny(*filter, wrong), RecordOutcome::kRecorded);
  EXPECT_FALSE(Has(*filter, wrong));
  EXPECT_TRUE(Has(*filter, "item1"));
  EXPECT_EQ(filter->KnownFalsePositives(), std::vector<KeyHash>{filter->HashOf(wrong)});
  EXPECT_EQ(filter->Info().false_positives, 1U);
  Add(*filter, wrong);
  EXPECT_TRUE(Has(*filter, wrong));
  EXPECT_TRUE(filter->KnownFalsePositives().empty());
}

TEST_F(FilterTest, WhatIsDeniedAnywayIsNoFalsePositive) {
  const auto filter = Make();
  EXPECT_EQ(Deny(*filter, "absent"), RecordOutcome::kNothing);
}

// FalsePositiveImage and FalsePositiveDecoder.
TEST_F(FilterTest, ImagesKeepKnownFalsePositives) {
  const auto [filter, wrong] = MakeWrong();
  const uint64_t plain = filter->Capture()->body_bytes();
  ASSERT_EQ(Deny(*filter, wrong), RecordOutcome::kRecorded);
  const auto image = filter->Capture();
  ASSERT_NE(dynamic_cast<FalsePositiveImage*>(image.get()), nullptr);
  EXPECT_EQ(image->body_bytes(), plain + sizeof(KeyHash));
  std::vector<std::byte> body(image->body_bytes());
  ASSERT_TRUE(image->Read(0, std::span(body).first(7)));
  ASSERT_TRUE(image->Read(7, std::span(body).subspan(7)));

  const auto read = DecodeFilter(image->header(), body, budget_, SystemClock());
  ASSERT_TRUE(read);
  EXPECT_FALSE(Has(**read, wrong));
  EXPECT_EQ((*read)->KnownFalsePositives(), filter->KnownFalsePositives());
  EXPECT_FALSE(DecodeFilter(image->header(), std::span(body).first(body.size() - 1), budget_, SystemClock()));
  budget_.set_limit_bytes(budget_.used_bytes() + 1);
  EXPECT_FALSE(DecodeFilter(image->header(), body, budget_, SystemClock()));
}

TEST_F(FilterTest, ASampleFindsTheErrorRate) {
  const auto [filter, wrong] = MakeWrong();
  const std::optional<double> sampled = SampledErrorRate(*filter, 1);
  ASSERT_TRUE(sampled.has_value());
  EXPECT_GT(*sampled, 0.02);
  EXPECT_LT(*sampled, 1.5 * kMaxErrorRate);
  EXPECT_EQ(SampledErrorRate(*Make(), 1), std::nullopt) << "an empty filter finds too little";
}

TEST(SharedOptions, HashReadsItsNames) {
  FilterParams params;
  ASSERT_TRUE(kHashOption.read("MURMUR3", params)) << "in any case";
  EXPECT_EQ(kHashOption.text(params), "murmur3");
  const Status unknown = ReadHash("md5", params);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message.find("'md5'"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("xxh3"), std::string::npos);
  EXPECT_EQ(kHashOption.text(params), "murmur3") << "nothing was changed";
}

TEST(SharedOptions, FieldsShowTheInfo) {
  MemoryBudget budget;
  const auto filter = std::move(*MakeFilter({}, budget, SystemClock()));
  FilterInfo info;
  info.false_positives = 3;
  info.fingerprint_bits = 12;
  EXPECT_EQ(kFalsePositivesField.value(*filter, info), InfoValue(uint64_t{3}));
  EXPECT_EQ(kFingerprintBitsField.value(*filter, info), InfoValue(uint64_t{12}));
  EXPECT_EQ(kHashField.value(*filter, info), InfoValue(std::string("xxh3")));
}

}  // namespace
}  // namespace bitsieve::core
