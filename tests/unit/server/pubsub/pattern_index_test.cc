#include "server/pubsub/pattern_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace bitsieve::server {
namespace {

PatternPtr Make(PatternIndex& index, const std::string& text) {
  auto pattern = std::make_shared<Pattern>();
  pattern->text = std::make_shared<const std::string>(text);
  index.Insert(pattern);
  return pattern;
}

std::multiset<std::string> AllPatterns(const PatternIndex& index, std::string_view channel) {
  std::multiset<std::string> all;
  index.ForEach(channel, [&](const PatternPtr& pattern) { all.insert(*pattern->text); });
  return all;
}

std::multiset<std::string> WalkOf(const PatternIndex& index, std::string_view channel) {
  std::multiset<std::string> all;
  std::vector<PatternPtr> step;
  for (PatternIndex::Walk walk;;) {
    index.Next(channel, walk, step);
    EXPECT_LE(step.size(), PatternIndex::kStep);
    if (step.empty()) return all;
    for (const PatternPtr& pattern : step) all.insert(*pattern->text);
  }
}

TEST(PatternIndex, OnlyPatternsThatBeginAsTheChannelDoesAreVisited) {
  PatternIndex index;
  const std::string long_prefix(100, 'l');
  for (const std::string text : {"*", "?x", "news*", "news.[ab]", "newspaper", "new\\*s", "n*", "other*"})
    Make(index, text);
  Make(index, long_prefix + "*");
  using Texts = std::multiset<std::string>;
  EXPECT_EQ(AllPatterns(index, "news.a"), (Texts{"*", "?x", "news*", "news.[ab]", "new\\*s", "n*"}));
  EXPECT_EQ(AllPatterns(index, ""), (Texts{"*", "?x"}));
  EXPECT_EQ(AllPatterns(index, std::string(80, 'l')), (Texts{"*", "?x", long_prefix + "*"}));
  EXPECT_EQ(WalkOf(index, "news.a"), AllPatterns(index, "news.a"));
}

TEST(PatternIndex, CostIsThatOfThePatternsThatBeginAsTheChannelDoes) {
  PatternIndex index;
  for (int i = 0; i < 16'000; ++i) Make(index, "p" + std::to_string(i) + "*");
  EXPECT_LT(index.CostOf("x1"), 1'000U);
  EXPECT_LT(index.CostOf("p1234"), 10'000U);
  for (int i = 0; i < 1'000; ++i) Make(index, "*" + std::to_string(i));
  EXPECT_GT(index.CostOf("x1"), 60'000U);
}

TEST(PatternIndex, ErasedPatternsAreGone) {
  PatternIndex index;
  std::vector<PatternPtr> patterns;
  for (int i = 0; i < 1'000; ++i) patterns.push_back(Make(index, (i % 2 == 0 ? "*" : "a*") + std::to_string(i)));
  std::multiset<std::string> expected;
  for (int i = 0; i < 1'000; ++i) {
    if (i % 3 == 0) {
      expected.insert(*patterns[static_cast<size_t>(i)]->text);
    } else {
      index.Erase(patterns[static_cast<size_t>(i)]);
    }
  }
  EXPECT_EQ(AllPatterns(index, "ab"), expected);
  EXPECT_EQ(WalkOf(index, "ab"), expected);
  EXPECT_EQ(index.Find("*1"), nullptr);
  EXPECT_EQ(index.Find("*0"), patterns[0]);
  EXPECT_EQ(index.size(), expected.size());
}

// Whatever is erased and inserted between the steps of a walk, what stays is visited.
TEST(PatternIndex, AWalkVisitsAllThatStay) {
  for (const size_t erased : {0U, 1U, 70U, 299U}) {
    PatternIndex index;
    std::vector<PatternPtr> patterns;
    std::set<std::string> staying, visited;
    for (size_t i = 0; i < 300; ++i) patterns.push_back(Make(index, "*" + std::to_string(i)));
    PatternIndex::Walk walk;
    std::vector<PatternPtr> step;
    index.Next("c", walk, step);
    for (const PatternPtr& pattern : step) visited.insert(*pattern->text);
    for (size_t i = 0; i < 300; ++i) {
      if (i * 7 % 300 < erased) {
        index.Erase(patterns[i]);
      } else {
        staying.insert(*patterns[i]->text);
      }
    }
    for (int i = 0; i < 10; ++i) Make(index, "*new" + std::to_string(i));
    for (index.Next("c", walk, step); !step.empty(); index.Next("c", walk, step)) {
      for (const PatternPtr& pattern : step) visited.insert(*pattern->text);
    }
    for (const std::string& text : staying) EXPECT_TRUE(visited.contains(text)) << text << " of " << erased;
  }
}

}  // namespace
}  // namespace bitsieve::server
