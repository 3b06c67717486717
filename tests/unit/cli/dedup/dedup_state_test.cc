#include "cli/dedup/dedup_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::cli {
namespace {

using core::AddOutcome;
using core::KeyHash;

class DedupStateTest : public testing::Test {
 protected:
  DedupStateTest() { EXPECT_TRUE(disk_.CreateDirectory("/d")); }

  SeenSet Make(bool exact, uint64_t items = 3000) {
    SeenSet seen =
        SeenSet::Make({.exact = exact, .error_rate = exact ? 0 : 0.001, .items = 1000, .seed = 9, .ngram = 2}, budget_)
            .value();
    for (uint64_t i = 0; i < items; ++i) Add(seen, i);
    return seen;
  }
  static AddOutcome Add(SeenSet& seen, uint64_t number) {
    const KeyHash hash = core::HashItem(std::to_string(number), seen.params().seed);
    AddOutcome outcome{};
    EXPECT_TRUE(seen.partition(SeenSet::PartitionOf(hash)).Add({&hash, 1}, {&outcome, 1}));
    return outcome;
  }

  core::MemoryBudget budget_;
  server::MemoryDisk disk_;
};

TEST_F(DedupStateTest, ComesBackAsItWas) {
  for (const bool exact : {false, true}) {
    SeenSet seen = Make(exact);
    ASSERT_TRUE(WriteDedupState(disk_, "/d/state", seen, nullptr));
    auto state = ReadDedupState(disk_, "/d/state", budget_);
    ASSERT_TRUE(state) << state.error().message;
    EXPECT_EQ(state->seen.params(), seen.params());
    EXPECT_EQ(ReadDedupHead(disk_, "/d/state").value().params, seen.params());
    EXPECT_FALSE(state->progress);
    EXPECT_EQ(state->seen.items(), seen.items());
    for (uint64_t i = 0; i < 3000; ++i) EXPECT_EQ(Add(state->seen, i), AddOutcome::kPresent);
    // Both go on in the same way.
    for (uint64_t i = 3000; i < 6000; ++i) EXPECT_EQ(Add(state->seen, i), Add(seen, i));
  }
}

TEST_F(DedupStateTest, HasTheProgressOfARun) {
  const DedupProgress progress{.command = "\"x\" \xff",
                               .position = {2, 12345678901, 77},
                               .output_bytes = {1, 2, 3},
                               .counts = {{5, 4, 1, 100, 90}, {}},
                               .is_complete = true};
  ASSERT_TRUE(WriteDedupState(disk_, "/d/state", Make(true, 5), &progress));
  const auto state = ReadDedupState(disk_, "/d/state", budget_);
  ASSERT_TRUE(state && state->progress);
  EXPECT_EQ(state->progress->position.input, 2u);
  EXPECT_EQ(state->progress->position.bytes, 12345678901u);
  EXPECT_EQ(state->progress->position.records, 77u);
  EXPECT_EQ(state->progress->output_bytes, progress.output_bytes);
  EXPECT_EQ(state->progress->counts, progress.counts);
  EXPECT_TRUE(state->progress->is_complete);
  EXPECT_FALSE(DecodeProgress("{}"));
  EXPECT_FALSE(DecodeProgress("no JSON"));
}

TEST_F(DedupStateTest, AnotherFileIsRefused) {
  const auto missing = ReadDedupState(disk_, "/d/none", budget_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, core::ErrorCode::kIo);
  const SeenSet seen = Make(false);
  ASSERT_TRUE(WriteDedupState(disk_, "/d/state", seen, nullptr));
  core::MemoryBudget small(10'000);
  const auto large = ReadDedupState(disk_, "/d/state", small);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, core::ErrorCode::kOutOfMemory);
}

// Payloads with good checksums around them.
class DedupPayloadTest : public DedupStateTest {
 protected:
  static constexpr size_t kHeadBytes = 36;

  std::string PayloadOf(const SeenSet& seen) {
    EXPECT_TRUE(WriteDedupState(disk_, "/d/state", seen, nullptr));
    server::ChunkBuffer buffer;
    auto file = server::CheckedFileReader::Open(disk_, "/d/state", kDedupStateFormat, buffer).value();
    std::string payload(file.remaining(), '\0');
    EXPECT_TRUE(file.Read(std::as_writable_bytes(std::span(payload))));
    return payload;
  }
  core::ErrorCode CodeOf(const std::string& payload) {
    server::ChunkBuffer buffer;
    auto file =
        server::CheckedFileWriter::Create(disk_, "/d/state", kDedupStateFormat, payload.size(), 1000, buffer).value();
    EXPECT_TRUE(file.Append(payload));
    EXPECT_TRUE(file.Finish());
    const auto state = ReadDedupState(disk_, "/d/state", budget_);
    EXPECT_FALSE(state);
    return state ? core::ErrorCode::kFull : state.error().code;
  }
};

TEST_F(DedupPayloadTest, ImpossibleContentIsRefused) {
  for (const bool exact : {false, true}) {
    const std::string payload = PayloadOf(Make(exact, 300));
    // Each byte of the head, the length of the progress, and the length of the first partition.
    for (size_t at = 0; at < kHeadBytes + 8; ++at) {
      const bool is_free = (at >= 4 && at < 8) || (at >= 24 && at < 32) || (exact && at >= 8 && at < 24);
      if (is_free) continue;  // n-gram and seed; of tables, rate and items decide nothing here
      std::string damaged = payload;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
      EXPECT_NE(CodeOf(damaged), core::ErrorCode::kFull) << at;
    }
    EXPECT_EQ(CodeOf(payload + "x"), core::ErrorCode::kCorrupt);
    for (size_t bytes = 0; bytes < payload.size(); bytes += 97) {
      EXPECT_EQ(CodeOf(payload.substr(0, bytes)), core::ErrorCode::kCorrupt) << bytes;
    }
  }
}

TEST_F(DedupPayloadTest, AHashOfAnotherPartitionIsRefused) {
  std::string payload = PayloadOf(Make(true, 300));
  std::string one;  // in the first partition, the hash of another one
  core::ByteWriter out(one);
  out.Put(uint64_t{16});
  out.Put(uint64_t{1} << 24);
  out.Put(uint64_t{5});
  const auto length = core::ByteReader(std::string_view(payload).substr(kHeadBytes)).Get<uint64_t>();
  payload.replace(kHeadBytes, 8 + length, one);
  EXPECT_EQ(CodeOf(payload), core::ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace bitsieve::cli
