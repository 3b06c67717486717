#include "cli/client/units.h"

#include <gtest/gtest.h>

namespace bitsieve::cli {
namespace {

TEST(Units, Counts) {
  constexpr uint64_t kMax = 1'000'000'000'000;
  EXPECT_EQ(ParseCount("1", kMax), 1U);
  EXPECT_EQ(ParseCount("1e9", kMax), 1'000'000'000U);
  EXPECT_EQ(ParseCount("2.5e6", kMax), 2'500'000U);
  EXPECT_EQ(ParseCount("50K", kMax), 50'000U);
  EXPECT_EQ(ParseCount("1.5m", kMax), 1'500'000U);
  EXPECT_EQ(ParseCount("2g", kMax), 2'000'000'000U);
  EXPECT_EQ(ParseCount("1e12", kMax), kMax);
  for (const char* wrong : {"", "k", "0", "-1", "0.5", "1.5", "1e13", "inf", "nan", "1x", "1 k", "1kk"}) {
    EXPECT_EQ(ParseCount(wrong, kMax), std::nullopt) << wrong;
  }
}

TEST(Units, ErrorRates) {
  EXPECT_EQ(ParseErrorRate("0.001"), 0.001);
  EXPECT_EQ(ParseErrorRate("1e-9"), 1e-9);
  EXPECT_DOUBLE_EQ(*ParseErrorRate("0.1%"), 0.001);
  for (const char* high : {"0.25", "0.3", "50%", "0.999"}) EXPECT_EQ(ParseErrorRate(high), 0.25) << "as BF.RESERVE";
  for (const char* wrong : {"", "%", "0", "1", "1e-10", "100%", "0.1%%", "x"}) {
    EXPECT_EQ(ParseErrorRate(wrong), std::nullopt) << wrong;
  }
}

TEST(Units, ItemRates) {
  EXPECT_EQ(ParseItemRate("5000/s"), 5000);
  EXPECT_EQ(ParseItemRate("6k/m"), 100);
  EXPECT_EQ(ParseItemRate("3600/h"), 1);
  EXPECT_EQ(ParseItemRate("86400/d"), 1);
  for (const char* wrong : {"", "/", "5000", "5000/", "5000/ms", "/s", "0/s", "-1/s", "1/s/s"}) {
    EXPECT_EQ(ParseItemRate(wrong), std::nullopt) << wrong;
  }
}

TEST(Units, Texts) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(MemoryText(1023), "1023 bytes");
  EXPECT_EQ(MemoryText(1536), "1.50 KB");
  EXPECT_EQ(MemoryText((1 << 30) - 1), "1.00 GB");
  EXPECT_EQ(MemoryText(uint64_t{20} << 30), "20.0 GB");
  EXPECT_EQ(MemoryText(uint64_t{300} << 20), "300 MB");
  EXPECT_EQ(SizeText(999), "999 bytes");
  EXPECT_EQ(SizeText(1500), "1.5 kB");
  EXPECT_EQ(SizeText(2'000'000'000), "2.0 GB");
  EXPECT_EQ(PercentText(0.001), "0.1%");
  EXPECT_EQ(PercentText(0.00123456), "0.123%");
  EXPECT_EQ(PercentText(0), "0%");
  EXPECT_EQ(PercentText(1e-9), "0.0000001%");
  EXPECT_EQ(PercentText(0.25), "25%");
  EXPECT_EQ(PercentText(1), "100%");
}

}  // namespace
}  // namespace bitsieve::cli
