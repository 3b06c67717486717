#include "config/quotas.h"

#include <gtest/gtest.h>

namespace bitsieve::config {
namespace {

TEST(QuotaRows, ArePatternsWithTwoLimits) {
  EXPECT_TRUE(ParseQuotas("").value().empty());
  const auto rows = ParseQuotas(" shop:*  1000 100mb\tuser:?? 0 0 ");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].pattern, "shop:*");
  EXPECT_EQ((*rows)[0].filters, 1000u);
  EXPECT_EQ((*rows)[0].bytes, 100u << 20);
  EXPECT_EQ((*rows)[1].pattern, "user:??");
  EXPECT_EQ((*rows)[1].filters, 0u);
}

TEST(QuotaRows, NothingElseIsTaken) {
  for (const char* text : {"a", "a 1", "a 1 1mb b", "a -1 1mb", "a 1.5 1mb", "a 1k 1mb", "a 1 much", "a 1 -1",
                           "a 99999999999999999999 1", "a 1 1 b 1 1 a 2 2"}) {
    EXPECT_FALSE(AreQuotas(text)) << text;
  }
}

TEST(QuotaRows, ThereIsAMostOfThem) {
  std::string text;
  for (size_t i = 0; i < kMaxQuotas; ++i) text += "n" + std::to_string(i) + " 1 1 ";
  EXPECT_TRUE(AreQuotas(text));
  EXPECT_FALSE(AreQuotas(text + "one-more 1 1"));
}

}  // namespace
}  // namespace bitsieve::config
