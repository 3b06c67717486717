#include "core/memory/memory_image.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "core/memory/bit_memory.h"

namespace bitsieve::core {
namespace {

constexpr uint64_t kChunk = MemoryImage::kChunkBytes;

// An image of a whole memory, closed by the destructor.
class OpenImage {
 public:
  OpenImage(BitMemory& memory, const ImagePool& pool) : image_(memory, memory.size_bytes(), pool) {}
  ~OpenImage() { image_.Close(); }
  MemoryImage& operator*() { return image_; }
  MemoryImage* operator->() { return &image_; }

 private:
  MemoryImage image_;
};

class MemoryImages : public testing::Test {
 protected:
  static BitMemory Make(uint64_t bytes, MemoryBudget& budget) {
    BitMemory memory = std::move(*BitMemory::Allocate(bytes, budget));
    for (uint64_t i = 0; i < bytes; ++i) memory.data()[i] = static_cast<std::byte>(i * 7 + i / 251);
    return memory;
  }
  static std::vector<std::byte> BytesOf(const BitMemory& memory) {
    return {memory.data(), memory.data() + memory.size_bytes()};
  }
  static void Write(BitMemory& memory, uint64_t word, uint64_t value) {
    memory.BeforeWrite(word * 8);
    __atomic_store_n(reinterpret_cast<uint64_t*>(memory.data()) + word, value, __ATOMIC_RELAXED);
  }
  static Result<std::vector<std::byte>> ReadAll(MemoryImage& image, uint64_t bytes, uint64_t piece) {
    std::vector<std::byte> all(bytes);
    for (uint64_t at = 0; at < bytes; at += piece) {
      const auto out = std::span(all).subspan(at, std::min(piece, bytes - at));
      if (Status status = image.Read(at, out); !status) return tl::unexpected(status.error());
    }
    return all;
  }

  MemoryBudget budget_;
  const ImagePool pool_{budget_, Patience::kLose};
};

TEST_F(MemoryImages, ShowTheMomentTheyWereOpenedInPiecesOfAnySize) {
  constexpr uint64_t kBytes = 5 * kChunk + 64;
  for (const uint64_t piece : {uint64_t{100}, kChunk - 8, kChunk, kChunk + 1, kBytes}) {
    BitMemory memory = Make(kBytes, budget_);
    const std::vector<std::byte> before = BytesOf(memory);
    OpenImage image(memory, pool_);
    for (uint64_t word = 3; word < kBytes / 8; word += 1000) Write(memory, word, ~uint64_t{0});
    ASSERT_EQ(ReadAll(*image, kBytes, piece), before) << piece;
    EXPECT_NE(BytesOf(memory), before);
  }
}

TEST_F(MemoryImages, CopiesEachChunkOnceAndGivesItBackWhenRead) {
  BitMemory memory = Make(4 * kChunk, budget_);
  const uint64_t idle = budget_.used_bytes();
  OpenImage image(memory, pool_);
  Write(memory, 0, 1);
  Write(memory, 1, 1);
  EXPECT_EQ(budget_.used_bytes(), idle + kChunk);
  std::vector<std::byte> out(kChunk);
  ASSERT_TRUE(image->Read(0, out));
  EXPECT_EQ(budget_.used_bytes(), idle);
  Write(memory, 2, 1);
  EXPECT_EQ(budget_.used_bytes(), idle) << "a chunk that was read needs no copy";
  ASSERT_TRUE(image->Read(kChunk, std::span(out).first(100)));
  Write(memory, kChunk / 8, 1);
  EXPECT_EQ(budget_.used_bytes(), idle + kChunk) << "one that was read in part does";
}

TEST_F(MemoryImages, SeveralOfDifferentMoments) {
  BitMemory memory = Make(2 * kChunk, budget_);
  const std::vector<std::byte> first = BytesOf(memory);
  OpenImage early(memory, pool_);
  Write(memory, 5, 42);
  const std::vector<std::byte> second = BytesOf(memory);
  {
    OpenImage late(memory, pool_);
    Write(memory, 5, 43);
    Write(memory, kChunk / 8, 44);
    EXPECT_EQ(ReadAll(*late, 2 * kChunk, kChunk), second);
  }
  Write(memory, 6, 45);
  EXPECT_EQ(ReadAll(*early, 2 * kChunk, kChunk), first);
}

TEST_F(MemoryImages, AreLostWhenTheBudgetRefusesAndSaySo) {
  MemoryBudget budget(2 * kChunk + kChunk / 2);
  BitMemory memory = Make(2 * kChunk, budget);
  OpenImage image(memory, {budget, Patience::kLose});
  Write(memory, 0, 1);
  std::vector<std::byte> out(kChunk);
  const Status status = image->Read(0, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemory);
  EXPECT_FALSE(image->Read(kChunk, out)) << "lost once, lost for good";
}

TEST_F(MemoryImages, WritersGoOnWhileTheyAreRead) {
  constexpr uint64_t kBytes = 16 * kChunk;
  BitMemory memory = Make(kBytes, budget_);
  std::mutex writing;
  std::atomic<bool> stop{false};
  const auto write = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    while (!stop.load()) {
      const std::lock_guard lock(writing);
      Write(memory, random() % (kBytes / 8), random());
    }
  };
  std::jthread one([&] { write(1); });
  std::jthread two([&] { write(2); });
  for (int round = 0; round < 30; ++round) {
    std::vector<std::byte> before;
    std::optional<OpenImage> image;
    {
      const std::lock_guard lock(writing);
      before = BytesOf(memory);
      image.emplace(memory, pool_);
    }
    ASSERT_EQ(ReadAll(**image, kBytes, 10000), before);
    const std::lock_guard lock(writing);
    image.reset();
  }
  stop.store(true);
}

TEST_F(MemoryImages, OfAPartDoNotMindChangesBehindIt) {
  BitMemory memory = Make(3 * kChunk, budget_);
  const uint64_t idle = budget_.used_bytes();
  MemoryImage image(memory, kChunk + 100, pool_);
  Write(memory, 2 * kChunk / 8, 1);
  EXPECT_EQ(budget_.used_bytes(), idle);
  Write(memory, (kChunk + 8) / 8, 1);
  EXPECT_EQ(budget_.used_bytes(), idle + 100) << "of a chunk in part, that part";
  image.Close();
}

TEST_F(MemoryImages, GiveAllCopiesBackWhenTheyDieUnread) {
  BitMemory memory = Make(4 * kChunk, budget_);
  const uint64_t idle = budget_.used_bytes();
  {
    OpenImage image(memory, pool_);
    for (uint64_t chunk = 0; chunk < 4; ++chunk) Write(memory, chunk * kChunk / 8, 1);
    std::vector<std::byte> out(kChunk + 10);
    ASSERT_TRUE(image->Read(0, out));
    EXPECT_EQ(budget_.used_bytes(), idle + 3 * kChunk);
  }
  EXPECT_EQ(budget_.used_bytes(), idle);
}

class PatientImages : public MemoryImages {
 protected:
  // A pool with memory for one copy.
  MemoryBudget one_copy_{kChunk};
  const ImagePool patient_{one_copy_, Patience::kWait};
};

TEST_F(PatientImages, GoBeyondThePoolForAWriterThatHasBegunAndLoseNothing) {
  BitMemory memory = Make(4 * kChunk, budget_);
  const std::vector<std::byte> before = BytesOf(memory);
  OpenImage image(memory, patient_);
  for (uint64_t chunk = 0; chunk < 4; ++chunk) Write(memory, chunk * kChunk / 8, 1);
  EXPECT_EQ(one_copy_.used_bytes(), kChunk);
  EXPECT_EQ(ReadAll(*image, 4 * kChunk, 1000), before);
  EXPECT_EQ(one_copy_.used_bytes(), 0U);
}

TEST_F(PatientImages, GoBeyondAPoolThatHasNothing) {
  MemoryBudget nothing(1);
  BitMemory memory = Make(4 * kChunk, budget_);
  const std::vector<std::byte> before = BytesOf(memory);
  OpenImage image(memory, {nothing, Patience::kWait});
  Write(memory, 1 * kChunk / 8, 1);
  Write(memory, 2 * kChunk / 8, 1);
  EXPECT_EQ(ReadAll(*image, 4 * kChunk, 1000), before);
}

TEST_F(PatientImages, KeepNothingOnceTheyAreGivenUp) {
  BitMemory memory = Make(4 * kChunk, budget_);
  OpenImage image(memory, patient_);
  image->GiveUp();
  Write(memory, 1 * kChunk / 8, 1);
  EXPECT_EQ(one_copy_.used_bytes(), 0U);
}

}  // namespace
}  // namespace bitsieve::core
