// linearizability.h: whether the replies to concurrent clients of one filter can be explained by one order of their
// commands, each taking effect at one moment between its sending and its reply (Herlihy, Wing, "Linearizability",
// 1990).
//
// The search is Wing and Gong's: from the empty filter, let any command be next that began before every other remaining
// one had ended, and whose reply is what a plain model of a filter returns. A state that was tried before, that is how
// far each client has come and what the filter then held, is not tried again (Lowe, "Testing for Linearizability",
// 2017). A command that changes nothing, according to its reply, goes first where that reply is right: no order gets
// worse by that.
//
// Adding to a missing name is two steps: it makes the filter, which others may see empty, and adds to that one.
//
// Names are independent of each other, so that each is checked alone. The model knows no false positives: filters must
// have error rates, and items, that make for none. Thread-compatible: pure functions of plain values.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bitsieve::test {

inline constexpr size_t kMaxItems = 8;
inline constexpr size_t kMaxClients = 8;

enum class Verb : uint8_t {
  kAdd,          // makes the filter first if there is none; 1: the item is new, 0: it was there
  kStore,        // as kAdd, but always 1 and always one copy more
  kAddIfAbsent,  // as kAdd, but never a further copy
  kExists,
  kCount,
  kRemove,   // takes one copy; kNotFound of a missing filter
  kClear,    // kNotFound of a missing filter
  kDelete,   // of the name
  kReserve,  // kTaken if the filter is there
};

// Replies are numbers, 1 for OK; these stand for errors.
inline constexpr int64_t kNotFound = -1;
inline constexpr int64_t kTaken = -2;
inline constexpr int64_t kUnexpected = -3;  // what no command may reply

struct Step {
  Verb verb;
  uint8_t item = 0;
  int64_t reply = 0;
};

// A command. If it has several items, it has a step for each, and these take effect one by one in any order.
struct Operation {
  int64_t begin_ns = 0;  // before it was sent
  int64_t end_ns = 0;    // after its reply was read
  std::vector<Step> steps;
};

// The commands of each client in the order in which it sent them. They take effect in this order even where one was
// sent before the reply to the previous one came.
using History = std::vector<std::vector<Operation>>;

// Selects whether adding an item that is already there counts it once more.
enum class Copies : uint8_t { kOne, kCounted };

// A failure reports how far an order could be found, and which reply has no explanation.
testing::AssertionResult IsLinearizable(const History& history, Copies copies);

}  // namespace bitsieve::test
