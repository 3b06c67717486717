#include "cli/migrate/sketch_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;

TEST(SketchKeys, NounsOfTypes) {
  EXPECT_EQ(SketchNoun("CMSk-TYPE"), "Count-Min Sketch");
  EXPECT_EQ(SketchNoun("TDIS-TYPE"), "t-digest");
  for (const char* other : {"", "string", "MBbloom--", "MBbloomCF", "cmsk-type"}) EXPECT_EQ(SketchNoun(other), "");
}

TEST(SketchKeys, LinesByType) {
  FoundSketches sketches;
  EXPECT_THAT(sketches.Lines(), ElementsAre());
  sketches.Add("TopK-TYPE", "a");
  sketches.Add("CMSk-TYPE", "line\n");
  sketches.Add("TopK-TYPE", "b");
  EXPECT_EQ(sketches.count(), 3U);
  EXPECT_THAT(sketches.Lines(), ElementsAre("1 Count-Min Sketch: 'line\\x0a'", "2 Top-K: 'a', 'b'"));
}

TEST(SketchKeys, OnlyTheFirstNamesAreKept) {
  FoundSketches sketches;
  for (int i = 0; i < 5000; ++i) sketches.Add("TDIS-TYPE", "t" + std::to_string(i));
  EXPECT_EQ(sketches.by_type().at("TDIS-TYPE").names.size(), FoundSketches::kMaxNames);
  EXPECT_EQ(sketches.count(), 5000U);
  EXPECT_THAT(sketches.Lines().at(0), testing::StartsWith("5,000 t-digest: 't0', 't1', "));
  EXPECT_THAT(sketches.Lines().at(0), testing::EndsWith(", 't19' and 4,980 more"));
}

}  // namespace
}  // namespace bitsieve::cli
