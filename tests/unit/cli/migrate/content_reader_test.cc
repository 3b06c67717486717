#include "cli/migrate/content_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_type.h"
#include "tests/support/filter_types.h"

namespace bitsieve::cli {
namespace {

class ContentDigestTest : public testing::Test {
 protected:
  std::unique_ptr<core::Filter> Make(core::FilterType type, int items) {
    core::FilterParams params{.type = type, .capacity = 100'000, .seed = 5};
    test::SetRequiredParams(params);
    auto filter = core::MakeFilter(params, budget_, core::SystemClock()).value();
    for (int i = 0; i < items; ++i) Add(*filter, i);
    return filter;
  }
  static void Add(core::Filter& filter, int item) {
    const core::KeyHash hash = filter.HashOf(std::to_string(item));
    core::AddOutcome outcome{};
    filter.Add({&hash, 1}, {&outcome, 1});
  }

  core::MemoryBudget budget_;
};

TEST_F(ContentDigestTest, IsThatOfAllBytes) {
  for (const core::FilterTypeRow* row : core::FilterTypes()) {
    SCOPED_TRACE(row->name);
    const auto filter = Make(row->type, 700);
    std::string bytes;
    if (const core::RedisBloomForm* form = row->redisbloom_form; form != nullptr) {
      bytes = form->header(*filter) + form->read(*filter, 0, 100 << 20);
    } else {
      bytes = core::DumpFilter(*filter).value();
    }
    core::RunningChecksum checksum;
    checksum.Add(bytes);
    const ContentDigest digest = DigestOfFilter(*filter);
    EXPECT_EQ(digest.type, row->name);
    EXPECT_EQ(digest.bytes, bytes.size());
    EXPECT_EQ(digest.checksum, checksum.Value());
    EXPECT_EQ(digest.problem, "");
  }
}

TEST_F(ContentDigestTest, DependsOnEachItem) {
  for (const core::FilterTypeRow* row : core::FilterTypes()) {
    SCOPED_TRACE(row->name);
    const auto filter = Make(row->type, 100);
    EXPECT_NE(DigestOfFilter(*filter).checksum, DigestOfFilter(*Make(row->type, 101)).checksum);
  }
}

TEST_F(ContentDigestTest, ACuckooFilterWithoutItemsHasNoContent) {
  EXPECT_EQ(DigestOfFilter(*Make(core::kRedisCuckooType, 0)).bytes, 0);
  EXPECT_NE(DigestOfFilter(*Make(core::kRedisBloomType, 0)).bytes, 0);
}

}  // namespace
}  // namespace bitsieve::cli
