#include "core/filter/change_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/clock.h"
#include "core/filter/change_position.h"
#include "core/filter/filter_factory.h"
#include "tests/support/filter_types.h"

namespace bitsieve::core {
namespace {

using testing::HasSubstr;

std::string RunOf(const Change& change) {
  std::string bytes;
  AppendChangeRun(change, bytes);
  EXPECT_EQ(bytes.size(), ChangeRunBytes(change.time_ms, change.until_ms, change.hashes.size()));
  return bytes;
}

TEST(ChangeRuns, HaveFixedBytes) {
  const KeyHash hash{0x0102030405060708, 0x1112131415161718};
  const std::string hash_bytes("\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11", 16);
  EXPECT_EQ(RunOf({ChangeKind::kAdded, 0, 0, 0, {&hash, 1}}), std::string("\x01\x01\x00", 3) + hash_bytes);
  EXPECT_EQ(RunOf({ChangeKind::kRemoved, 0, 0, 0, {&hash, 1}}), std::string("\x02\x01\x00", 3) + hash_bytes);
  EXPECT_EQ(RunOf({ChangeKind::kFalsePositives, 0, 0, 0, {&hash, 1}}), std::string("\x03\x01\x00", 3) + hash_bytes);
  EXPECT_EQ(RunOf({ChangeKind::kRenewed, 0, 0, 5, {&hash, 1}, 6}),
            std::string("\xc4\x01\x00\x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0", 19) + hash_bytes);
  EXPECT_EQ(RunOf({ChangeKind::kAdded, 0, 0, 5, {&hash, 1}}),
            std::string("\x81\x01\x00\x05\0\0\0\0\0\0\0", 11) + hash_bytes);
}

TEST(ChangeRuns, ManyHashesAreSeveralRuns) {
  const std::vector<KeyHash> hashes(kMaxRunHashes + 1, KeyHash{1, 2});
  const std::string bytes = RunOf({ChangeKind::kAdded, 0, 0, 0, hashes});
  std::string_view rest = bytes;
  EXPECT_EQ(TakeChangeRun(rest)->hashes.size(), kMaxRunHashes * 16);
  EXPECT_EQ(TakeChangeRun(rest)->hashes.size(), 16U);
  EXPECT_TRUE(rest.empty());
}

TEST(ChangeRuns, OtherBytesAreRefused) {
  const auto problem = [](std::string_view bytes) {
    const auto run = TakeChangeRun(bytes);
    return run ? "none" : run.error().message;
  };
  const std::string hash(16, 'h'), time(8, 't'), zero(8, '\0');
  EXPECT_EQ(problem(std::string("\x01\x01\x00", 3) + hash), "none");
  EXPECT_THAT(problem("\x01"), HasSubstr("too short"));
  EXPECT_THAT(problem(std::string("\x01\x02\x00", 3) + hash), HasSubstr("too short"));
  EXPECT_THAT(problem(std::string("\x00\x01\x00", 3) + hash), HasSubstr("unknown kind 0"));
  EXPECT_THAT(problem(std::string("\x05\x01\x00", 3) + hash), HasSubstr("unknown kind 5"));
  EXPECT_THAT(problem(std::string("\x01\x00\x00", 3) + hash), HasSubstr("no hashes"));
  EXPECT_THAT(problem(std::string("\x41\x01\x00", 3) + time + hash), HasSubstr("wrong times"));
  EXPECT_THAT(problem(std::string("\x04\x01\x00", 3) + hash), HasSubstr("wrong times"));
  EXPECT_THAT(problem(std::string("\x81\x01\x00", 3) + zero + hash), HasSubstr("wrong times"));
}

TEST(ChangeRuns, ThatDoNotFitTheFilterAreRefused) {
  MemoryBudget budget;
  FilterClock clock;
  for (const FilterTypeRow* type : FilterTypes()) {
    if (!type->made.by_reserve) continue;
    FilterParams params;
    params.type = type->type;
    params.capacity = 100;
    test::SetRequiredParams(params);
    const auto filter = std::move(*MakeFilter(Settled(params), budget, clock));
    const std::string hash(16, 'h');
    const auto refused = [&](ChangeKind kind, uint64_t time_ms = 0, uint64_t until_ms = 0) {
      const Status status = ApplyChangeRun(*filter, clock, {kind, time_ms, until_ms, hash});
      if (!status) {
        EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
        EXPECT_THAT(status.error().message, HasSubstr("the filter "));
      }
      return !status;
    };
    EXPECT_EQ(refused(ChangeKind::kRemoved), !type->can.remove) << type->name;
    EXPECT_EQ(refused(ChangeKind::kFalsePositives), !type->can.deny) << type->name;
    const auto now = static_cast<uint64_t>(clock.WallMs());
    EXPECT_EQ(refused(ChangeKind::kRenewed, now, now + 1000), !type->can.expire) << type->name;
  }
}

TEST(ChangeRuns, OfAFilterWithoutMemoryAreRefused) {
  MemoryBudget budget;
  FilterClock clock;
  FilterParams params;
  params.capacity = 100;
  const auto filter = std::move(*MakeFilter(params, budget, clock));
  budget.set_limit_bytes(1);
  std::vector<KeyHash> hashes;
  for (int i = 0; i < 1000; ++i) hashes.push_back(filter->HashOf(std::to_string(i)));
  const auto bytes = std::as_bytes(std::span(hashes));
  const Status status = ApplyChangeRun(
      *filter, clock, {ChangeKind::kAdded, 0, 0, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(status.error().message, "out of memory for the filter to grow");
}

}  // namespace
}  // namespace bitsieve::core
