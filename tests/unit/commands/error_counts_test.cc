#include "commands/error_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>

namespace bitsieve::commands {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::map<std::string, uint64_t> CountsOf(const ErrorCounts& errors) {
  std::map<std::string, uint64_t> counts;
  errors.ForEach([&](std::string_view code, uint64_t count) { counts[std::string(code)] = count; });
  return counts;
}

TEST(ErrorCountsTest, TheFirstWordIsTheCode) {
  ErrorCounts errors;
  errors.Count("ERR not found");
  errors.Count("ERR item exists");
  errors.Count("Nonscaling filters cannot expand");
  errors.Count("LONELY");
  EXPECT_THAT(CountsOf(errors), ElementsAre(Pair("ERR", 2), Pair("LONELY", 1), Pair("Nonscaling", 1)));
}

TEST(ErrorCountsTest, LongCodesAreCutAndFurtherOnesAreNotCounted) {
  ErrorCounts errors;
  errors.Count(std::string(40, 'A') + " first");
  errors.Count(std::string(50, 'A') + " counts with it");
  EXPECT_THAT(CountsOf(errors), ElementsAre(Pair(std::string(16, 'A'), 2)));
  for (int i = 0; i < 1000; ++i) errors.Count("CODE" + std::to_string(i));
  EXPECT_EQ(CountsOf(errors).size(), 32U);
  errors.Count("CODE0 again");
  EXPECT_EQ(CountsOf(errors)["CODE0"], 2U) << "those that have a place still count";
}

TEST(ErrorCountsTest, ACodeStaysAfterAReset) {
  ErrorCounts errors;
  errors.Add("OOM", 7);
  errors.Reset();
  EXPECT_THAT(CountsOf(errors), ElementsAre(Pair("OOM", 0)));
  errors.Add("OOM", 2);
  EXPECT_THAT(CountsOf(errors), ElementsAre(Pair("OOM", 2)));
}

TEST(ErrorCountsTest, AnyThreadMayReadWhileOneCounts) {
  ErrorCounts errors;
  std::thread writer([&errors] {
    for (int i = 0; i < 1000; ++i) errors.Count("CODE" + std::to_string(i % 20) + " text");
  });
  for (int i = 0; i < 100; ++i) {
    for (const auto& [code, count] : CountsOf(errors)) {
      EXPECT_TRUE(code.starts_with("CODE")) << code;
      EXPECT_LE(count, 50U);
    }
  }
  writer.join();
  EXPECT_EQ(CountsOf(errors).size(), 20U);
}

}  // namespace
}  // namespace bitsieve::commands
