// The contract of filter types that deny known false positives: such a filter denies exactly those and no item that was
// added, and so do its images, its mapped dumps and its unions.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "core/base/bytes.h"
#include "core/base/change_meter.h"
#include "core/base/checksum.h"
#include "core/filter/filter_dump.h"
#include "core/filter/image_header.h"
#include "core/filter/staging.h"
#include "tests/contract/filter_contract.h"

namespace bitsieve::test {
namespace {

using core::AddOutcome;
using core::FalsePositiveList;
using core::RecordOutcome;
using KeyHashes = std::vector<core::KeyHash>;

std::vector<core::FilterType> TypesThatDeny() {
  std::vector<core::FilterType> types = AllTypes();
  std::erase_if(types, [](core::FilterType type) { return !core::FindFilterType(type)->can.deny; });
  return types;
}

class FalsePositives : public FilterContract {
 protected:
  static constexpr uint64_t kItems = 2'000;

  // Returns a filter with items [0, items), at a rate of a tenth; frozen if its type freezes.
  std::unique_ptr<core::Filter> MakeWith(uint64_t items, uint32_t expansion = 2) {
    auto filter = Make(0.1, kItems, expansion, 1);
    Add(*filter, KeySource::kStrings, 0, items);
    core::Staging* const staging = filter->staging();
    if (staging == nullptr) return filter;
    EXPECT_TRUE(staging->Close());
    return std::move(staging->Build(budget_, [] { return true; }).value());
  }
  static bool Freezes() { return core::FindFilterType(GetParam())->can.freeze; }
  static std::vector<uint8_t> Present(const core::Filter& filter, const KeyHashes& hashes) {
    std::vector<uint8_t> present(hashes.size());
    filter.MayContain(hashes, present);
    return present;
  }
  // Returns those of `asked` absent items, from kAbsent on, that the filter shows as present.
  static KeyHashes Wrong(const core::Filter& filter, size_t asked = 3'000) {
    const KeyHashes absent = Absent(filter, asked);
    const std::vector<uint8_t> present = Present(filter, absent);
    KeyHashes wrong;
    for (size_t i = 0; i < asked; ++i) {
      if (present[i] != 0) wrong.push_back(absent[i]);
    }
    return wrong;
  }
  static KeyHashes Absent(const core::Filter& filter, size_t count) {
    return Hashes(filter, KeySource::kStrings, kAbsent, count);
  }
  static std::vector<RecordOutcome> Record(core::Filter& filter, const KeyHashes& hashes) {
    std::vector<RecordOutcome> outcomes(hashes.size(), RecordOutcome::kOutOfMemory);
    filter.RecordFalsePositives(hashes, outcomes);
    return outcomes;
  }
  static void ExpectAlike(const core::Filter& one, const core::Filter& other) {
    EXPECT_EQ(one.KnownFalsePositives(), other.KnownFalsePositives());
    EXPECT_EQ(one.ItemCount(), other.ItemCount());
    EXPECT_EQ(Wrong(one), Wrong(other));
    EXPECT_EQ(CountFound(other, KeySource::kStrings, 0, kItems), kItems);
  }
};
INSTANTIATE_TEST_SUITE_P(Types, FalsePositives, testing::ValuesIn(TypesThatDeny()),
                         [](const auto& test) { return std::string(core::FilterTypeName(test.param)); });

TEST_P(FalsePositives, ThatAreNotedAreDeniedAndNothingElseIs) {
  const auto filter = MakeWith(kItems);
  const KeyHashes wrong = Wrong(*filter);
  ASSERT_GT(wrong.size(), 100U);
  const KeyHashes noted(wrong.begin(), wrong.begin() + 70);
  EXPECT_EQ(Record(*filter, noted), std::vector(noted.size(), RecordOutcome::kRecorded));
  EXPECT_EQ(Record(*filter, noted), std::vector(noted.size(), RecordOutcome::kNothing)) << "once more";
  EXPECT_EQ(Wrong(*filter), KeyHashes(wrong.begin() + 70, wrong.end()));
  EXPECT_EQ(CountFound(*filter, KeySource::kStrings, 0, kItems), kItems);
  EXPECT_EQ(filter->KnownFalsePositives(), noted);
  EXPECT_EQ(filter->Info().false_positives, 70U);
}

TEST_P(FalsePositives, OfWhatIsDeniedAnywayNoneIsNoted) {
  const auto filter = MakeWith(kItems);
  KeyHashes absent = Absent(*filter, 1'000);
  const std::vector<uint8_t> present = Present(*filter, absent);
  size_t i = 0;
  std::erase_if(absent, [&](const core::KeyHash&) { return present[i++] != 0; });
  EXPECT_EQ(Record(*filter, absent), std::vector(absent.size(), RecordOutcome::kNothing));
  EXPECT_TRUE(filter->KnownFalsePositives().empty());
  if (Freezes()) return;
  const auto empty = Make(0.1, kItems, 2, 1);
  EXPECT_EQ(Record(*empty, absent), std::vector(absent.size(), RecordOutcome::kNothing)) << "of a filter without bits";
}

TEST_P(FalsePositives, ThatAreAddedAreNewAndNoneAnyMore) {
  if (Freezes()) GTEST_SKIP() << "nothing is added once it is frozen";
  for (const uint32_t expansion : {0U, 2U}) {
    const auto filter = MakeWith(kItems - 100, expansion);
    const KeyHashes wrong = Wrong(*filter);
    Record(*filter, wrong);
    const KeyHashes some(wrong.begin(), wrong.begin() + 60);
    const uint64_t items = filter->ItemCount(), changes = filter->ChangeCount();
    const uint64_t metered = core::ChangeMeter::Total();
    std::vector<AddOutcome> outcomes(some.size());
    filter->Add(some, outcomes);
    EXPECT_EQ(outcomes, std::vector(some.size(), AddOutcome::kAdded));
    EXPECT_EQ(filter->ItemCount(), items + some.size());
    EXPECT_EQ(filter->ChangeCount(), changes + some.size());
    EXPECT_EQ(core::ChangeMeter::Total(), metered + some.size());
    EXPECT_EQ(Present(*filter, some), std::vector(some.size(), uint8_t{1}));
    filter->Add(some, outcomes);
    EXPECT_EQ(outcomes, std::vector(some.size(), AddOutcome::kPresent)) << "once more";
    EXPECT_EQ(filter->Info().false_positives, wrong.size() - some.size());
    EXPECT_EQ(filter->Info().items, filter->ItemCount());
  }
}

TEST_P(FalsePositives, OfAFullFilterCanStillBeAdded) {
  if (Freezes()) GTEST_SKIP() << "nothing is added once it is frozen";
  const auto filter = Make(0.1, 500, 0, 1);
  std::vector<AddOutcome> outcome(1);
  for (uint64_t i = 0; outcome[0] != AddOutcome::kFull; ++i) {
    filter->Add(Hashes(*filter, KeySource::kStrings, i, 1), outcome);
  }
  const KeyHashes wrong = Wrong(*filter);
  Record(*filter, wrong);
  filter->Add({wrong.data(), 1}, outcome);
  EXPECT_EQ(outcome[0], AddOutcome::kAdded);
  EXPECT_EQ(Present(*filter, {wrong[0]})[0], 1);
  const auto again = core::RestoreFilter(core::DumpFilter(*filter).value(), budget_, StillClock());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->ItemCount(), 501U);
}

TEST_P(FalsePositives, AreKeptWhileItGrows) {
  if (Freezes()) GTEST_SKIP() << "it does not grow once it is frozen";
  const auto filter = MakeWith(kItems);
  const KeyHashes wrong = Wrong(*filter);
  Record(*filter, wrong);
  Add(*filter, KeySource::kStrings, kItems, 10 * kItems);
  EXPECT_GT(filter->Info().sub_filters, 2U);
  EXPECT_EQ(Present(*filter, wrong), std::vector(wrong.size(), uint8_t{0}));
  EXPECT_EQ(CountFound(*filter, KeySource::kStrings, 0, 11 * kItems), 11 * kItems);
  ExpectAlike(*filter, *core::CloneFilter(*filter, budget_, StillClock()).value());
}

TEST_P(FalsePositives, ComeBackFromEveryImage) {
  const auto filter = MakeWith(kItems);
  const KeyHashes wrong = Wrong(*filter);
  Record(*filter, wrong);
  if (!Freezes()) {
    std::vector<AddOutcome> outcomes(10);
    filter->Add({wrong.data(), 10}, outcomes);
  }
  const std::string dump = core::DumpFilter(*filter).value();
  const auto restored = core::RestoreFilter(dump, budget_, StillClock());
  ASSERT_TRUE(restored) << restored.error().message;
  ExpectAlike(*filter, **restored);
  EXPECT_EQ(core::DumpFilter(**restored).value(), dump);
  const auto mapped = core::MapFilterDump(core::AsBytes(dump), budget_);
  ASSERT_TRUE(mapped) << mapped.error().message;
  ExpectAlike(*filter, **mapped);

  const auto image = filter->Capture();
  EXPECT_EQ(image->header().size() % sizeof(uint64_t), MakeWith(0)->Capture()->header().size() % sizeof(uint64_t))
      << "the body of a mapped dump is aligned to words";
  const auto summary = core::SummarizeImage(image->header());
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->items, filter->ItemCount());
  EXPECT_EQ(summary->false_positives, filter->Info().false_positives);
  // The body is put in pieces and out of order, where the type allows that.
  auto decoder = core::FilterDecoder::Open(image->header(), budget_, StillClock()).value();
  std::string body(image->body_bytes(), '\0');
  ASSERT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
  const size_t half = body.size() - 24;
  decoder->Put(half, core::AsBytes(body).subspan(half));
  decoder->Put(0, core::AsBytes(body).first(half));
  const auto put = decoder->Finish();
  ASSERT_TRUE(put) << put.error().message;
  ExpectAlike(*filter, **put);
}

TEST_P(FalsePositives, OfADamagedImageAreRefused) {
  const auto filter = MakeWith(kItems);
  const KeyHashes wrong = Wrong(*filter);
  Record(*filter, {wrong[0], wrong[1], wrong[2]});
  const auto image = filter->Capture();
  std::string body(image->body_bytes(), '\0');
  ASSERT_TRUE(image->Read(0, std::as_writable_bytes(std::span(body))));
  const auto decode = [&](const std::string& header, const std::string& bytes) -> std::string {
    const auto decoded = core::DecodeFilter(header, core::AsBytes(bytes), budget_, StillClock());
    return decoded ? "accepted" : decoded.error().message;
  };
  EXPECT_EQ(decode(image->header(), body), "accepted");
  std::string twice = body;
  std::copy_n(twice.end() - 16, 16, twice.end() - 32);
  EXPECT_EQ(decode(image->header(), twice), "filter body: a false positive appears twice");

  const auto with = [&](size_t bytes_from_end, auto value) {
    std::string header = image->header();
    header.resize(header.size() - 8);
    std::memcpy(header.data() + header.size() - bytes_from_end, &value, sizeof value);
    core::ByteWriter(header).Put(core::Checksum(header));
    return decode(header, body);
  };
  EXPECT_EQ(with(8, uint64_t{3}), "accepted");
  EXPECT_NE(with(8, uint64_t{4}), "accepted") << "one more than there are";
  EXPECT_EQ(with(8, uint64_t{FalsePositiveList::kMaxHashes} + 1),
            "filter header: the number of false positives is out of range");
  EXPECT_EQ(with(16, uint64_t{1} << 61), "filter header: the number of added false positives is out of range");
}

TEST_P(FalsePositives, AreRefusedBeyondTheMostAndWithoutMemory) {
  const auto filter = Make(0.25, 1'000, 0, 1);
  Add(*filter, KeySource::kStrings, 0, 1'000);
  core::MemoryBudget budget;
  auto copy = core::CloneFilter(*filter, budget, StillClock()).value();
  if (core::Staging* const staging = copy->staging()) {
    staging->Close();
    copy = std::move(staging->Build(budget, [] { return true; }).value());
  }
  const KeyHashes wrong = Wrong(*copy, 8 * FalsePositiveList::kMaxHashes);
  ASSERT_GT(wrong.size(), FalsePositiveList::kMaxHashes);
  const uint64_t limit = budget.used_bytes() + 1;
  budget.set_limit_bytes(limit);
  EXPECT_EQ(Record(*copy, {wrong[0]})[0], RecordOutcome::kOutOfMemory);
  EXPECT_EQ(Present(*copy, {wrong[0]})[0], 1);
  budget.set_limit_bytes(0);
  const std::vector<RecordOutcome> outcomes = Record(*copy, wrong);
  EXPECT_EQ(std::ranges::count(outcomes, RecordOutcome::kRecorded), FalsePositiveList::kMaxHashes);
  EXPECT_EQ(outcomes.back(), RecordOutcome::kTooMany);
  EXPECT_EQ(copy->Info().size_bytes, copy->size_bytes());
  EXPECT_GT(copy->size_bytes(), limit);
  copy.reset();
  EXPECT_EQ(budget.used_bytes(), 0U);
}

// Items are added while false positives are noted and looked up: none is missed once its addition has returned.
TEST_P(FalsePositives, ThreadsMayNoteAddAndLookUp) {
  if (Freezes()) GTEST_SKIP() << "nothing is added once it is frozen";
  const auto filter = Make(0.1, 20'000, 2, 1);
  Add(*filter, KeySource::kStrings, 0, 10'000);
  const KeyHashes wrong = Wrong(*filter, 20'000);
  std::atomic<size_t> added{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (added.load() < wrong.size()) {
        ASSERT_EQ(CountFound(*filter, KeySource::kStrings, 0, 1'000), 1'000U);
        const KeyHashes there(wrong.begin(), wrong.begin() + static_cast<ptrdiff_t>(added.load()));
        ASSERT_EQ(Present(*filter, there), std::vector(there.size(), uint8_t{1}));
      }
    });
  }
  Record(*filter, wrong);
  std::vector<AddOutcome> outcome(1);
  for (size_t i = 0; i < wrong.size(); ++i) {
    filter->Add({&wrong[i], 1}, outcome);
    ASSERT_EQ(outcome[0], AddOutcome::kAdded);
    added = i + 1;
  }
}

TEST_P(FalsePositives, ThatAreNotedBeforeItIsFrozenAreThoseThatItShowsThen) {
  if (!Freezes()) GTEST_SKIP() << "it does not freeze";
  const auto filter = Make(0.1, kItems, 2, 1);
  Add(*filter, KeySource::kStrings, 0, kItems - 1);
  const KeyHashes noted = Absent(*filter, 1'000);
  EXPECT_EQ(Record(*filter, noted), std::vector(noted.size(), RecordOutcome::kRecorded));
  EXPECT_EQ(Record(*filter, noted), std::vector(noted.size(), RecordOutcome::kNothing)) << "once more";
  const KeyHashes last = Hashes(*filter, KeySource::kStrings, kItems - 1, 1);
  EXPECT_EQ(Record(*filter, last)[0], RecordOutcome::kRecorded);
  Add(*filter, KeySource::kStrings, kItems - 1, 1);
  EXPECT_EQ(Record(*filter, Hashes(*filter, KeySource::kStrings, 0, 10)), std::vector(10, RecordOutcome::kNothing))
      << "of items";
  const auto again = core::CloneFilter(*filter, budget_, StillClock()).value();
  EXPECT_EQ(again->KnownFalsePositives(), noted);
  core::Staging& closing = *again->staging();
  ASSERT_TRUE(closing.Close());
  const auto frozen = closing.Build(budget_, [] { return true; }).value();
  const KeyHashes wrong = Wrong(*frozen, 1'000);
  closing.HandOverTo(*frozen);
  EXPECT_EQ(frozen->KnownFalsePositives(), wrong);
  EXPECT_TRUE(Wrong(*frozen, 1'000).empty());
  EXPECT_EQ(CountFound(*frozen, KeySource::kStrings, 0, kItems), kItems);
  EXPECT_EQ(Record(*again, noted), std::vector(noted.size(), RecordOutcome::kMoved));
}

// The bytes on disk must never change.
TEST_P(FalsePositives, GoldenBytes) {
  const auto filter = MakeWith(1'000);
  Record(*filter, Wrong(*filter, 500));
  ASSERT_NE(filter->Info().false_positives, 0U);
  const std::string dump = core::DumpFilter(*filter).value();
  const std::map<std::string_view, uint64_t> golden{
      {"blocked", 4894800473089598000U}, {"classic", 7716347972831498206U}, {"ribbon", 8579315929813823589U}};
  EXPECT_EQ(core::Checksum(dump), golden.at(filter->type().name));
}

}  // namespace
}  // namespace bitsieve::test
