#include "server/net/write_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace bitsieve::server {
namespace {

TEST(WriteBuffer, IsEmptyAtFirstAndAfterAllWasSent) {
  WriteBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  buffer.Append("hello");
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
    const std::string part = std::to_string(i) + ",";
    expected += part;
    buffer.Append(part);
    const size_t step = std::min<size_t>(buffer.size(), static_cast<size_t>(i % 8));
    sent += buffer.unsent().substr(0, step);
    buffer.Consume(step);
    ASSERT_EQ(buffer.size(), expected.size() - sent.size());
  }
  sent += buffer.unsent();
  EXPECT_EQ(sent, expected);
}

}  // namespace
}  // namespace bitsieve::server
