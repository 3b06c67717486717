#include "server/session/write_buffer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

size_t ResidentPages(const char* bytes, size_t size) {
  std::vector<unsigned char> resident(size / 4096);
  const uintptr_t page = (reinterpret_cast<uintptr_t>(bytes) + 4095) / 4096 * 4096;
  EXPECT_EQ(mincore(reinterpret_cast<void*>(page), resident.size() * 4096 - 4096, resident.data()), 0);
  return static_cast<size_t>(std::count(resident.begin(), resident.end() - 1, 1));
}

TEST(WriteBuffer, GivesThePagesOfAVeryLongReplyBackWhileItIsSent) {
  constexpr size_t kSize = 8 << 20;
  std::string large(kSize, 'a');
  large.replace(kSize - 3, 3, "end");
  const char* const bytes = large.data();
  WriteBuffer buffer;
  buffer.Append(large, 0);
  std::string sent;
  for (int i = 0; i < 6; ++i) {
    sent += buffer.unsent().substr(0, 1 << 20);
    EXPECT_TRUE(buffer.Consume(1 << 20).bytes().empty());
  }
  EXPECT_LE(ResidentPages(bytes, 6 << 20), 2U);
  EXPECT_EQ(ResidentPages(buffer.unsent().data(), 2 << 20), (2 << 20) / 4096 - 1);
  sent += buffer.unsent();
  EXPECT_EQ(sent, std::string(kSize - 3, 'a') + "end");
  EXPECT_EQ(buffer.Consume(2 << 20).own.data(), bytes) << "to be freed elsewhere";
  EXPECT_TRUE(buffer.empty());
}

TEST(WriteBuffer, SharedBytesAreSentFromWhereTheyAre) {
  const auto text = std::make_shared<const std::string>(3 << 20, 's');
  std::string small = "head", end = "end";
  WriteBuffer buffer;
  buffer.Append(small, 0);
  buffer.AppendShared(text, *text);
  buffer.Append(end, 0);
  EXPECT_EQ(buffer.size(), 4 + text->size() + 3);
  EXPECT_EQ(text.use_count(), 2);
  buffer.Consume(4);
  EXPECT_EQ(buffer.unsent().data(), text->data());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(text.use_count(), 2);
    buffer.Consume(1 << 20);
  }
  EXPECT_EQ(buffer.Consume(1 << 20).owner, text) << "to be freed elsewhere";
  EXPECT_EQ(*text, std::string(3 << 20, 's')) << "its pages belong to others as well";
  EXPECT_EQ(text.use_count(), 1);
  EXPECT_EQ(buffer.unsent(), "end");
  buffer.Consume(3);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.memory_bytes(), 0);
}

TEST(WriteBuffer, ALongReplyAfterAnotherIsSentWhole) {
  WriteBuffer buffer;
  std::string expected, sent;
  for (const char letter : {'a', 'b', 'c'}) {
    std::string large((3 << 20) + 77, letter);
    expected += large;
    buffer.Append(large, 0);
  }
  while (!buffer.empty()) {
    const std::string_view some = buffer.unsent().substr(0, 1'000'000);
    sent += some;
    buffer.Consume(some.size());
  }
  EXPECT_TRUE(sent == expected);
}

}  // namespace
}  // namespace bitsieve::server
