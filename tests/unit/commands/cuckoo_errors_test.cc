#include "commands/cuckoo_errors.h"

#include <gtest/gtest.h>

namespace bitsieve::commands::wire {
namespace {

// Clients of RedisBloom match on these texts, so its numbers stand in them, whatever our constants are.
TEST(CuckooErrors, RangesAreRedisBloomsToTheLetter) {
  EXPECT_EQ(std::string_view(kMaxIterationsRange), "MAXITERATIONS: value must be in the range [1, 65535]");
  EXPECT_EQ(std::string_view(kBucketSizeRange), "BUCKETSIZE: value must be in the range [1, 255]");
  EXPECT_EQ(std::string_view(kCuckooExpansionRange), "EXPANSION: value must be in the range [0, 32768]");
  EXPECT_EQ(std::string_view(kCuckooCapacityRange), "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]");
  EXPECT_EQ(std::string_view(kCuckooInsertCapacityRange),
            "Capacity must be in the range [cf-bucket-size * 2, 1073741824]");
}

// A reply is one line, and a text without a code begins with a capital letter, as RedisBloom's do.
TEST(CuckooErrors, EachIsOneLineWithACodeOrASentence) {
  for (const std::string_view text :
       {kBadCuckooIterations, kBadCuckooBucketSize, kBadCuckooExpansion, kNoMemoryForCuckoo, kNoMemoryForItem,
        kCuckooFull, kMaxExpansionsReached, kNothingToDelete, kNothingToCompact, kInvalidPosition, kInvalidHeader,
        kInvalidHeaderOf20, kHeaderRefused, kChunkRefused, kTooManyCuckooLoads, kCuckooNotReserved}) {
    EXPECT_EQ(text.find_first_of("\r\n"), std::string_view::npos) << text;
    EXPECT_TRUE(text.front() >= 'A' && text.front() <= 'Z') << text;
  }
}

}  // namespace
}  // namespace bitsieve::commands::wire
