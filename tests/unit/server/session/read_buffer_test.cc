#include "server/session/read_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace bitsieve::server {
namespace {

constexpr size_t kScratchBytes = 64 * 1024;

class ReadBufferTest : public ::testing::Test {
 protected:
  // Receives at most `limit` of `bytes`, as a connection does; returns how many, and leaves all bytes at hand in
  // `input_`.
  size_t Receive(std::string_view bytes, size_t limit = SIZE_MAX) {
    const std::span<char> room = buffer_.Prepare(scratch());
    EXPECT_FALSE(room.empty());
    const size_t size = std::min({bytes.size(), room.size(), limit});
    std::memcpy(room.data(), bytes.data(), size);
    input_ = buffer_.Commit(scratch(), size);
    return size;
  }
  std::span<char> scratch() { return scratch_; }
  std::string_view input() const { return {input_.data(), input_.size()}; }
  std::string_view kept() { return {buffer_.kept().data(), buffer_.kept().size()}; }

  std::array<char, kScratchBytes> scratch_{};
  ReadBuffer buffer_;
  std::span<char> input_;
};

TEST_F(ReadBufferTest, HoldsNoMemoryWhenAllIsParsed) {
  Receive("PING\r\n");
  EXPECT_EQ(input(), "PING\r\n");
  buffer_.Keep(input_.subspan(input_.size()));
  EXPECT_EQ(buffer_.capacity(), 0);
}

TEST_F(ReadBufferTest, KeepsWhatIsLeftWhileOthersUseTheScratchArea) {
  Receive("PING\r\nPI");
  buffer_.Keep(input_.subspan(6));
  scratch_.fill('x');
  Receive("NG\r\n");
  EXPECT_EQ(input(), "PING\r\n");
}

TEST_F(ReadBufferTest, BytesOneByOneStayInOrder) {
  std::string all;
  for (int i = 0; i < 40000; ++i) {
    const std::string byte(1, static_cast<char>('a' + i % 26));
    all += byte;
    ASSERT_EQ(Receive(byte), 1);
    ASSERT_EQ(input().size(), all.size());
    buffer_.Keep(input_);
    scratch_[0] = '#';
  }
  EXPECT_EQ(kept(), all);
}

TEST_F(ReadBufferTest, GrowsWithWhatWasReceivedAtMostDoubling) {
  const std::string huge(20 << 20, 'z');
  size_t received = 0;
  while (received < huge.size()) {
    received += Receive(std::string_view(huge).substr(received));
    buffer_.Keep(input_);
    ASSERT_LE(buffer_.capacity(), std::max<size_t>(2 * received, 2 * kScratchBytes));
  }
  EXPECT_EQ(kept(), huge);
}

TEST_F(ReadBufferTest, GivesMemoryBackAfterAHugeCommand) {
  const std::string huge(4 << 20, 'z');
  for (size_t received = 0; received < huge.size();) {
    received += Receive(std::string_view(huge).substr(received));
    buffer_.Keep(input_);
  }
  buffer_.Keep(buffer_.kept().last(10));
  EXPECT_EQ(kept(), std::string(10, 'z'));
  EXPECT_LE(buffer_.capacity(), 4096);
  buffer_.Keep(buffer_.kept().last(0));
  EXPECT_EQ(kept(), "");
  EXPECT_LE(buffer_.capacity(), 4096);
}

TEST_F(ReadBufferTest, TheEndOfALongInputMovesToTheFront) {
  const std::string bytes = std::string(30000, 'a') + std::string(30000, 'b');
  Receive(bytes);
  buffer_.Keep(input_);
  scratch_.fill('x');
  buffer_.Keep(buffer_.kept().subspan(30000));
  EXPECT_EQ(kept(), std::string(30000, 'b'));
  Receive("c");
  EXPECT_EQ(input(), std::string(30000, 'b') + "c");
}

TEST_F(ReadBufferTest, SharedBytesStayWhereTheyAre) {
  Receive(std::string(50000, 'a') + "rest");
  buffer_.Keep(input_);
  input_ = buffer_.kept();
  const std::string_view used = input().substr(0, 50000);
  const size_t capacity = buffer_.capacity();
  const std::shared_ptr<const void> shared = buffer_.Share();
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(buffer_.Share(), shared);
  EXPECT_EQ(buffer_.shared_bytes(), capacity);
  EXPECT_EQ(buffer_.capacity(), 0U) << "they are no longer the buffer's";
  EXPECT_EQ(kept().data(), used.data());
  buffer_.Keep(input_.subspan(50000));
  EXPECT_EQ(kept(), "rest");
  Receive(" and more");
  EXPECT_EQ(input(), "rest and more");
  buffer_.Keep(input_.last(0));
  EXPECT_EQ(used, std::string(50000, 'a'));
  EXPECT_EQ(shared.use_count(), 1) << "the buffer has let go of them";
}

TEST_F(ReadBufferTest, WhatLiesInTheScratchAreaIsNotShared) {
  Receive("PING\r\nPI");
  EXPECT_EQ(buffer_.Share(), nullptr);
  buffer_.Keep(input_.subspan(6));
  Receive("NG\r\n");
  EXPECT_EQ(buffer_.Share(), nullptr);
}

}  // namespace
}  // namespace bitsieve::server
