#include "config/client_memory.h"

#include <gtest/gtest.h>

namespace bitsieve::config {
namespace {

constexpr uint64_t kGigabyte = 1ULL << 30;

uint64_t Limit(std::string text, uint64_t maxmemory) {
  Options options;
  options.maxmemory_clients = std::move(text);
  options.maxmemory = maxmemory;
  return ClientMemoryLimit(options, 16 * kGigabyte);
}

TEST(ClientMemory, IsASizeOrAPercentage) {
  for (const char* text : {"0", "128kb", "1gb", "0%", "5%", "100%"}) EXPECT_TRUE(IsClientMemory(text)) << text;
  for (const char* text : {"", "%", "101%", "-5%", "5.5%", "1kb%", "1kb", "127kb", "-1", "much", "0100%"}) {
    EXPECT_FALSE(IsClientMemory(text)) << text;
  }
}

TEST(ClientMemory, APercentageIsOfMaxmemory) {
  EXPECT_EQ(Limit("50%", 2 * kGigabyte), 2 * kGigabyte / 100 * 50);
  EXPECT_EQ(Limit("50%", 0), 16 * kGigabyte / 100 * 50) << "of the machine's if there is none";
  EXPECT_EQ(Limit("1%", kGigabyte), kLeastClientShare) << "a chunk of a dump must fit";
}

TEST(ClientMemory, ZeroIsNoLimit) {
  EXPECT_EQ(Limit("0", kGigabyte), UINT64_MAX);
  EXPECT_EQ(Limit("0%", kGigabyte), UINT64_MAX);
  EXPECT_EQ(Limit("1mb", 0), 1ULL << 20);
}

}  // namespace
}  // namespace bitsieve::config
