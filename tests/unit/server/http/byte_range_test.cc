#include "server/http/byte_range.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(ByteRange, IsThePartThatLiesWithinTheBody) {
  EXPECT_EQ(ParseByteRange("bytes=0-99", 1000), (ByteRange{0, 100}));
  EXPECT_EQ(ParseByteRange("Bytes=10-10", 1000), (ByteRange{10, 11}));
  EXPECT_EQ(ParseByteRange("bytes=990-2000", 1000), (ByteRange{990, 1000}));
  EXPECT_EQ(ParseByteRange("bytes=990-", 1000), (ByteRange{990, 1000}));
  EXPECT_EQ(ParseByteRange("bytes=-10", 1000), (ByteRange{990, 1000}));
  EXPECT_EQ(ParseByteRange("bytes=-2000", 1000), (ByteRange{0, 1000}));
  EXPECT_EQ(ParseByteRange("bytes=0-18446744073709551615", 1000), (ByteRange{0, 1000}));
}

TEST(ByteRange, HasNoBytesOutsideOfTheBody) {
  for (const char* text : {"bytes=1000-", "bytes=1000-1001", "bytes=18446744073709551615-", "bytes=-0"}) {
    const auto range = ParseByteRange(text, 1000);
    ASSERT_TRUE(range) << text;
    EXPECT_EQ(range->bytes(), 0U) << text;
  }
}

TEST(ByteRange, AnyOtherTextIsNone) {
  for (const char* text : {"", "bytes", "bytes=", "bytes=-", "bytes=5", "bytes=9-5", "bytes=0-1,4-5", "bytes=a-b",
                           "bytes= 0-1", "bytes=0 -1", "bytes=+0-1", "bytes=--1", "bytes=18446744073709551616-",
                           "items=0-1", "bytes=0-1 ", "bytes=00-1"}) {
    EXPECT_FALSE(ParseByteRange(text, 1000)) << text;
  }
}

}  // namespace
}  // namespace bitsieve::server
