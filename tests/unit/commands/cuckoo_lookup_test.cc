#include "commands/cuckoo_lookup.h"

#include <gtest/gtest.h>

#include "commands/cuckoo_errors.h"
#include "commands/cuckoo_options.h"
#include "tests/support/handler_context.h"
#include "tests/support/manual_workers.h"

namespace bitsieve::commands {
namespace {

using test::HandlerContext;

class CuckooLookupTest : public testing::Test, protected test::CommandFixture {
 protected:
  CuckooLookupTest() {
    Reply({"CF.RESERVE", "cuckoo", "100"});
    Reply({"BF.RESERVE", "bloom", "0.01", "100"});
  }
  // Makes a large filter, from which items are removed until a compaction is due.
  core::RedisCuckoo& WithManyRemoved(const std::string& name) {
    Reply({"CF.RESERVE", name, "20000", "EXPANSION", "1"});
    for (int i = 0; i < 60'000; i += 1000) {
      test::Words words{"CF.INSERT", name, "ITEMS"};
      for (int item = i; item < i + 1000; ++item) words.push_back(std::to_string(item));
      Reply(words);
    }
    core::RedisCuckoo& cuckoo = *AsCuckoo(registry.Find(name).get());
    for (int i = 0; i < 59'000 && !is_due_; ++i) {
      const core::KeyHash hash = cuckoo.HashOf(std::to_string(i));
      uint8_t removed = 0;
      cuckoo.Remove({&hash, 1}, {&removed, 1});
      is_due_ = cuckoo.TakeDueCompaction();
    }
    EXPECT_TRUE(is_due_);
    cuckoo.ForgetDueCompaction();
    const core::KeyHash hash = cuckoo.HashOf("59999");
    uint8_t removed = 0;
    cuckoo.Remove({&hash, 1}, {&removed, 1});  // makes it due again
    return cuckoo;
  }

 private:
  bool is_due_ = false;
};

TEST_F(CuckooLookupTest, OnlyRediscuckooFiltersAreFound) {
  EXPECT_EQ(AsCuckoo(nullptr), nullptr);
  EXPECT_EQ(AsCuckoo(registry.Find("bloom").get()), nullptr);
  HandlerContext found(*this, {"cf.info", "cuckoo"});
  EXPECT_EQ(FindCuckoo(found.context, "missing", "other"), registry.Find("cuckoo").get());
  EXPECT_EQ(found.reply(), "");
  HandlerContext missing(*this, {"cf.info", "none"});
  EXPECT_EQ(FindCuckoo(missing.context, "missing", "other"), nullptr);
  EXPECT_EQ(missing.reply(), "-missing\r\n");
  HandlerContext other(*this, {"cf.info", "bloom"});
  EXPECT_EQ(FindCuckoo(other.context, "missing", "other"), nullptr);
  EXPECT_EQ(other.reply(), "-other\r\n");
}

TEST_F(CuckooLookupTest, TheFilterThatHasTheNameFirstStays) {
  HandlerContext call(*this, {"cf.add", "new", "x"});
  const FilterPtr first = MakeCuckoo(call.context, DefaultCuckooParams(settings));
  const FilterPtr second = MakeCuckoo(call.context, DefaultCuckooParams(settings));
  EXPECT_EQ(PublishCuckoo(call.context, first), first);
  EXPECT_EQ(PublishCuckoo(call.context, second), first);
  EXPECT_EQ(TakenBy(registry.Find("new")), wire::kItemExists);
  EXPECT_EQ(TakenBy(registry.Find("bloom")), wire::kWrongType);
  EXPECT_EQ(call.reply(), "");
}

TEST_F(CuckooLookupTest, RefusedMemoryIsReplied) {
  budget.set_limit_bytes(budget.used_bytes());
  HandlerContext call(*this, {"cf.add", "new", "x"});
  EXPECT_EQ(MakeCuckoo(call.context, DefaultCuckooParams(settings)), nullptr);
  EXPECT_EQ(call.reply(), "-ERR Insufficient memory to create filter\r\n");
  EXPECT_EQ(registry.Find("new"), nullptr);
}

TEST_F(CuckooLookupTest, AHeaderIsOpenedOrRefusedWithItsReason) {
  const std::string header =
      AsCuckoo(registry.Find("cuckoo").get())->type().redisbloom_form->header(*registry.Find("cuckoo"));
  HandlerContext good(*this, {"cf.loadchunk", "new", "1", header});
  EXPECT_NE(OpenCuckooHeader(good.context, header), nullptr);
  EXPECT_EQ(good.reply(), "");
  const auto refusal = [&](const std::string& bytes) {
    HandlerContext call(*this, {"cf.loadchunk", "new", "1", bytes});
    EXPECT_EQ(OpenCuckooHeader(call.context, bytes), nullptr);
    return call.reply();
  };
  EXPECT_EQ(refusal("x"), "-Invalid header\r\n");
  EXPECT_EQ(refusal(std::string(header.size(), '\0')), "-Couldn't create filter!\r\n");
  EXPECT_EQ(refusal(std::string(32, '\0')), "-" + std::string(wire::kInvalidHeaderOf20) + "\r\n");
}

TEST_F(CuckooLookupTest, AWorkerCompactsALargeFilterIfThereIsOne) {
  test::ManualWorkers workers;
  core::RedisCuckoo& cuckoo = WithManyRemoved("f");
  const uint64_t before = cuckoo.Header().deletes;
  ASSERT_GT(before, 0U);
  HandlerContext call(*this, {"cf.del", "f", "x"}, &workers);
  CompactIfDue(call.context, cuckoo);
  ASSERT_EQ(workers.Waiting(), 1U);
  EXPECT_EQ(cuckoo.Header().deletes, before) << "the command itself compacted nothing";
  EXPECT_EQ(workers.RunNext(), Weight::kLarge);
  EXPECT_EQ(cuckoo.Header().deletes, 0U);
  CompactIfDue(call.context, cuckoo);
  EXPECT_EQ(workers.Waiting(), 0U) << "nothing is due";
}

TEST_F(CuckooLookupTest, ARenamedFilterIsCompactedByItsNextRemoval) {
  test::ManualWorkers workers;
  core::RedisCuckoo& cuckoo = WithManyRemoved("f");
  Reply({"RENAME", "f", "g"});
  HandlerContext call(*this, {"cf.del", "f", "x"}, &workers);
  CompactIfDue(call.context, cuckoo);
  EXPECT_EQ(workers.Waiting(), 0U);
  const core::KeyHash hash = cuckoo.HashOf("59998");
  uint8_t removed = 0;
  cuckoo.Remove({&hash, 1}, {&removed, 1});
  HandlerContext next(*this, {"cf.del", "g", "59998"}, &workers);
  CompactIfDue(next.context, cuckoo);
  EXPECT_EQ(workers.Waiting(), 1U);
  workers.Stop();
}

}  // namespace
}  // namespace bitsieve::commands
