// The contract of filters that are looked up in the bytes of their dump: a mapped filter answers as the filter does,
// and no bytes make it read outside of the dump.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "core/base/bytes.h"
#include "core/filter/filter_dump.h"
#include "core/filter/staging.h"
#include "tests/contract/every_option.h"
#include "tests/fuzz/dump_checksums.h"

namespace bitsieve::test {
namespace {

// A copy of a dump, laid out as the mapping of a file: it begins a page, and the page after its last one cannot be
// read.
class Mapping {
 public:
  explicit Mapping(std::string_view dump) : size_(dump.size()) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    const size_t whole = (size_ + page - 1) / page * page;
    mapped_bytes_ = whole + page;
    memory_ = static_cast<std::byte*>(
        ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memcpy(memory_, dump.data(), size_);
    ::mprotect(memory_, whole, PROT_READ);
    ::mprotect(memory_ + whole, page, PROT_NONE);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(memory_, mapped_bytes_); }

  std::span<const std::byte> bytes() const { return {memory_, size_}; }

 private:
  size_t size_;
  size_t mapped_bytes_;
  std::byte* memory_;
};

class MappedFilter : public testing::TestWithParam<OptionCase> {
 protected:
  static constexpr uint64_t kAdded = 3000;
  static constexpr uint64_t kAsked = 50'000 / kSlowdown;

  // Makes a filter that has grown if its type can, and is frozen if it must be, and its dump.
  void SetUp() override {
    filter_ = std::move(*core::MakeFilter(GetParam().params, budget_, StillClock()));
    std::vector<core::AddOutcome> outcomes(kAdded);
    filter_->Add(HashesOf(*filter_, 0, kAdded), outcomes);
    if (core::Staging* const staging = filter_->staging()) {
      ASSERT_TRUE(staging->Close());
      filter_ = std::move(*staging->Build(budget_, [] { return true; }));
    }
    dump_ = *core::DumpFilter(*filter_);
  }

  static std::vector<core::KeyHash> HashesOf(const core::Filter& filter, uint64_t first, uint64_t count) {
    std::vector<core::KeyHash> hashes(count);
    for (uint64_t i = 0; i < count; ++i) hashes[i] = filter.HashOf(Key(KeySource::kStrings, first + i));
    return hashes;
  }
  static std::vector<uint8_t> AnswersOf(const core::Filter& filter) {
    const std::vector<core::KeyHash> hashes = HashesOf(filter, 0, kAsked);
    std::vector<uint8_t> present(kAsked);
    filter.Prefetch(hashes);
    filter.MayContain(hashes, present);
    return present;
  }
  bool can_be_mapped() const { return filter_->type().map != nullptr; }

  core::MemoryBudget budget_;
  std::unique_ptr<core::Filter> filter_;
  std::string dump_;
};
INSTANTIATE_TEST_SUITE_P(Options, MappedFilter, testing::ValuesIn(EveryOption(500)),
                         [](const auto& test) { return test.param.name; });

TEST_P(MappedFilter, AnswersAsTheFilterDoes) {
  const Mapping mapping(dump_);
  const auto mapped = core::MapFilterDump(mapping.bytes(), budget_);
  if (!can_be_mapped()) {
    ASSERT_FALSE(mapped);
    EXPECT_EQ(mapped.error().code, core::ErrorCode::kUnsupported);
    EXPECT_NE(mapped.error().message.find("types that can be mapped are blocked"), std::string::npos);
    return;
  }
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(AnswersOf(**mapped), AnswersOf(*filter_));
  EXPECT_EQ((*mapped)->params(), filter_->params());
  EXPECT_EQ((*mapped)->ItemCount(), filter_->ItemCount());
  EXPECT_EQ((*mapped)->Info().capacity, filter_->Info().capacity);
  EXPECT_EQ((*mapped)->Info().sub_filters, filter_->Info().sub_filters);
  if (filter_->capabilities().count) {
    const std::vector<core::KeyHash> hashes = HashesOf(*filter_, 0, 1000);
    std::vector<uint64_t> counts(hashes.size()), expected(hashes.size());
    (*mapped)->Count(hashes, counts);
    filter_->Count(hashes, expected);
    EXPECT_EQ(counts, expected);
  }
  EXPECT_EQ(*core::DumpFilter(**mapped), dump_);
}

TEST_P(MappedFilter, TakesNoMemoryForItsBits) {
  if (!can_be_mapped() || dump_.size() < 1000) GTEST_SKIP();
  const Mapping mapping(dump_);
  core::MemoryBudget budget;
  const auto mapped = core::MapFilterDump(mapping.bytes(), budget);
  ASSERT_TRUE(mapped);
  EXPECT_LT(budget.used_bytes(), 1000 * (*mapped)->SubFilters());
}

TEST_P(MappedFilter, RefusesADumpOfAnotherLength) {
  for (size_t size = 0; size < dump_.size(); size += 1 + size / 16) {
    const Mapping mapping(std::string_view(dump_).substr(0, size));
    ASSERT_FALSE(core::MapFilterDump(mapping.bytes(), budget_)) << size;
  }
  const Mapping longer(dump_ + std::string(64, '\0'));
  EXPECT_FALSE(core::MapFilterDump(longer.bytes(), budget_));
}

// In a forged file, heads that contradict the file are refused, and lookups end within the bytes for any bits.
TEST_P(MappedFilter, WhateverBytesAreForgedNothingIsReadBeyondThem) {
  if (!can_be_mapped()) GTEST_SKIP();
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string forged = dump_;
    const size_t head = std::min<size_t>(forged.size(), 400);
    for (int i = 0; i < 3; ++i) forged[random() % head] = static_cast<char>(random() % 3 == 0 ? 0xFF : random());
    if (round % 3 == 0) std::memset(forged.data() + head, 0xFF, forged.size() - head);
    PutDumpChecksums(forged);
    const Mapping mapping(forged);
    core::MemoryBudget budget;
    const auto mapped = core::MapFilterDump(mapping.bytes(), budget);
    if (!mapped) continue;
    std::vector<uint8_t> present(500);
    (*mapped)->MayContain(HashesOf(**mapped, 0, present.size()), present);
  }
}

}  // namespace
}  // namespace bitsieve::test
