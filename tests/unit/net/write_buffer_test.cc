#include "server/net/write_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace bitsieve::server {
namespace {

TEST(WriteBuffer, IsEmptyAtFirstAndAfterAllWasSent) {
  WriteBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  std::string hello = "hello";
  buffer.Append(hello, 0);
  EXPECT_EQ(buffer.size(), 5);
  buffer.Consume(5);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.unsent(), "");
}

TEST(WriteBuffer, SendsInOrderInWhateverParts) {
  WriteBuffer buffer;
  std::string expected;
  std::string sent;
  for (int i = 0; i < 2000; ++i) {
    std::string part = std::to_string(i) + ",";
    expected += part;
    buffer.Append(part, 0);
    const size_t step = std::min<size_t>(buffer.unsent().size(), static_cast<size_t>(i % 8));
    sent += buffer.unsent().substr(0, step);
    buffer.Consume(step);
    ASSERT_EQ(buffer.size(), expected.size() - sent.size());
  }
  for (; !buffer.empty(); buffer.Consume(buffer.unsent().size())) sent += buffer.unsent();
  EXPECT_EQ(sent, expected);
}

TEST(WriteBuffer, TakesLongStringsOverAndGivesThemBackOneByOne) {
  WriteBuffer buffer;
  std::string expected;
  for (int i = 0; i < 10; ++i) {
    std::string large(1 << 20, static_cast<char>('a' + i));
    std::string small = std::to_string(i);
    expected += large.substr(5) + small.substr(1);
    const char* const bytes = large.data();
    buffer.Append(large, 5);
    EXPECT_EQ(large, "");
    if (i == 0) {
      EXPECT_EQ(buffer.unsent().data(), bytes + 5) << "it was copied";
    }
    buffer.Append(small, 1);
  }
  EXPECT_EQ(buffer.size(), expected.size());
  EXPECT_GE(buffer.memory_bytes(), expected.size());
  const size_t all = buffer.memory_bytes();
  std::string sent(buffer.unsent());
  buffer.Consume(sent.size());
  EXPECT_LE(buffer.memory_bytes(), all - (1 << 20));
  for (; !buffer.empty(); buffer.Consume(buffer.unsent().size())) sent += buffer.unsent();
  EXPECT_TRUE(sent == expected);
  EXPECT_EQ(buffer.memory_bytes(), 0);
  EXPECT_EQ(buffer.blocks(), 0);
}

}  // namespace
}  // namespace bitsieve::server
