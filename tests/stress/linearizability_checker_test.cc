// Tests the checker itself: it must find what is wrong, and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/stress/linearizability.h"

namespace bitsieve::test {
namespace {

Operation Did(int64_t begin, int64_t end, Verb verb, uint8_t item, int64_t reply) {
  return {begin, end, {{verb, item, reply}}};
}

TEST(LinearizabilityCheckerTest, NewIsToldOnce) {
  EXPECT_TRUE(IsLinearizable({{Did(0, 9, Verb::kAdd, 0, 1)}, {Did(1, 8, Verb::kAdd, 0, 0)}}, Copies::kOne));
  EXPECT_TRUE(IsLinearizable({{Did(0, 9, Verb::kAdd, 0, 0)}, {Did(1, 8, Verb::kAdd, 0, 1)}}, Copies::kOne));
  EXPECT_FALSE(IsLinearizable({{Did(0, 9, Verb::kAdd, 0, 1)}, {Did(1, 8, Verb::kAdd, 0, 1)}}, Copies::kOne));
  EXPECT_FALSE(IsLinearizable({{Did(0, 9, Verb::kAdd, 0, 0)}, {Did(1, 8, Verb::kAdd, 0, 0)}}, Copies::kOne));
}

TEST(LinearizabilityCheckerTest, WhatEndedIsSeenByWhatBeginsLater) {
  const Operation add = Did(0, 5, Verb::kAdd, 0, 1);
  EXPECT_TRUE(IsLinearizable({{add}, {Did(4, 9, Verb::kExists, 0, 0)}}, Copies::kOne));
  EXPECT_TRUE(IsLinearizable({{add}, {Did(4, 9, Verb::kExists, 0, 1)}}, Copies::kOne));
  EXPECT_FALSE(IsLinearizable({{add}, {Did(6, 9, Verb::kExists, 0, 0)}}, Copies::kOne));
  // An item also does not disappear again once a client has seen it.
  EXPECT_FALSE(IsLinearizable(
      {{Did(0, 9, Verb::kAdd, 0, 1)}, {Did(1, 3, Verb::kExists, 0, 1)}, {Did(4, 8, Verb::kExists, 0, 0)}},
      Copies::kOne));
  // A client cannot see an item before it was added.
  EXPECT_FALSE(IsLinearizable({{Did(4, 9, Verb::kAdd, 0, 1)}, {Did(0, 3, Verb::kExists, 0, 1)}}, Copies::kOne));
}

TEST(LinearizabilityCheckerTest, APipelineKeepsItsOrder) {
  // All commands run at the same time; yet the second command of a pipeline sees what the first did.
  EXPECT_FALSE(IsLinearizable({{Did(0, 9, Verb::kAdd, 0, 1), Did(0, 9, Verb::kExists, 0, 0)}}, Copies::kOne));
  EXPECT_TRUE(IsLinearizable(
      {{Did(0, 9, Verb::kAdd, 0, 1), Did(0, 9, Verb::kExists, 0, 0)}, {Did(0, 9, Verb::kClear, 0, 1)}}, Copies::kOne));
  const std::vector<Operation> writer = {Did(0, 9, Verb::kAdd, 0, 1), Did(0, 9, Verb::kAdd, 1, 1)};
  EXPECT_FALSE(
      IsLinearizable({writer, {Did(0, 9, Verb::kExists, 1, 1), Did(0, 9, Verb::kExists, 0, 0)}}, Copies::kOne));
  // The items of one command have no order.
  EXPECT_TRUE(IsLinearizable({writer, {{0, 9, {{Verb::kExists, 1, 1}, {Verb::kExists, 0, 0}}}}}, Copies::kOne));
}

TEST(LinearizabilityCheckerTest, CopiesAreCounted) {
  const Operation first = Did(0, 1, Verb::kAdd, 0, 1);
  const Operation second = Did(2, 3, Verb::kAdd, 0, 0);
  const auto remove = [](int64_t at, int64_t reply) { return Did(at, at + 1, Verb::kRemove, 0, reply); };
  EXPECT_TRUE(IsLinearizable({{first, second, remove(4, 1), remove(6, 1), remove(8, 0)}}, Copies::kCounted));
  EXPECT_FALSE(IsLinearizable({{first, second, remove(4, 1), remove(6, 0)}}, Copies::kCounted));
  EXPECT_FALSE(IsLinearizable({{first, second, remove(4, 1), remove(6, 1)}}, Copies::kOne));
  EXPECT_FALSE(IsLinearizable({{first}, {second}, {Did(4, 5, Verb::kCount, 0, 1)}}, Copies::kCounted));
  // If two clients take the last copy, only one gets it.
  EXPECT_FALSE(IsLinearizable({{first, remove(4, 1)}, {remove(4, 1)}}, Copies::kCounted));
}

TEST(LinearizabilityCheckerTest, NamesAreMadeOnceAndGoOnce) {
  const auto both = [](Verb verb, int64_t one, int64_t other) {
    return IsLinearizable({{Did(0, 1, Verb::kAdd, 0, 1), Did(2, 9, verb, 0, one)}, {Did(2, 9, verb, 0, other)}},
                          Copies::kOne);
  };
  EXPECT_TRUE(both(Verb::kDelete, 0, 1));
  EXPECT_FALSE(both(Verb::kDelete, 1, 1));
  EXPECT_FALSE(both(Verb::kDelete, 0, 0));
  EXPECT_TRUE(both(Verb::kReserve, kTaken, kTaken));
  EXPECT_FALSE(both(Verb::kReserve, 1, kTaken));
  EXPECT_TRUE(both(Verb::kClear, 1, 1));
  EXPECT_FALSE(both(Verb::kClear, 1, kNotFound));
  EXPECT_FALSE(both(Verb::kClear, 1, kUnexpected));
}

TEST(LinearizabilityCheckerTest, AddingToAMissingNameMakesTheFilterFirst) {
  const Operation add = Did(0, 9, Verb::kAdd, 0, 1);
  const auto seen = [&](Verb verb, int64_t reply, int64_t presence) {
    return IsLinearizable({{add}, {Did(1, 2, verb, 0, reply), Did(3, 4, Verb::kExists, 0, presence)}}, Copies::kOne);
  };
  EXPECT_TRUE(seen(Verb::kReserve, kTaken, 0));
  EXPECT_TRUE(seen(Verb::kReserve, kTaken, 1));
  // It goes with the filter that it made.
  EXPECT_TRUE(seen(Verb::kDelete, 1, 0));
  EXPECT_FALSE(IsLinearizable(
      {{add},
       {Did(1, 2, Verb::kReserve, 0, kTaken), Did(3, 4, Verb::kExists, 0, 0), Did(5, 6, Verb::kDelete, 0, 1),
        Did(7, 8, Verb::kExists, 0, 1), Did(10, 11, Verb::kDelete, 0, 0)}},
      Copies::kOne));
}

// The replies to a single client are determined; if any of them is changed, there is no explanation.
TEST(LinearizabilityCheckerTest, EveryWrongReplyToALoneClientIsFound) {
  std::mt19937 random(7);
  History history(1);
  std::array<int, 4> held{};
  for (int at = 0; at < 400; at += 2) {
    const auto item = static_cast<uint8_t>(random() % held.size());
    int& mine = held[item];
    const bool present = mine > 0;
    switch (at == 0 ? 0 : random() % 3) {  // the filter is made first
      case 0:
        history[0].push_back(Did(at, at + 1, Verb::kAdd, item, present ? 0 : 1));
        ++mine;
        break;
      case 1:
        history[0].push_back(Did(at, at + 1, Verb::kRemove, item, present ? 1 : 0));
        mine -= present ? 1 : 0;
        break;
      default:
        history[0].push_back(Did(at, at + 1, Verb::kExists, item, present ? 1 : 0));
    }
  }
  ASSERT_TRUE(IsLinearizable(history, Copies::kCounted));
  for (Operation& operation : history[0]) {
    int64_t& reply = operation.steps[0].reply;
    reply = 1 - reply;
    EXPECT_FALSE(IsLinearizable(history, Copies::kCounted)) << operation.begin_ns;
    reply = 1 - reply;
  }
}

}  // namespace
}  // namespace bitsieve::test
