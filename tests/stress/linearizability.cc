#include "tests/stress/linearizability.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace bitsieve::test {
namespace {

// Number of nodes that a search may try before it gives up, some 3 GB. Histories of the tests here take a few thousand.
constexpr size_t kMaxNodes = 40'000'000;

// Returns whether a step with this reply changes nothing, for any content of the filter.
bool ChangesNothing(const Step& step, Copies copies) {
  switch (step.verb) {
    case Verb::kExists:
    case Verb::kCount:
      return true;
    case Verb::kAdd:
      return copies == Copies::kOne && step.reply == 0;
    case Verb::kAddIfAbsent:
    case Verb::kRemove:
    case Verb::kClear:
    case Verb::kDelete:
    case Verb::kReserve:
      return step.reply <= 0;
    case Verb::kStore:
      return false;
  }
  return false;
}

bool Makes(Verb verb) { return verb == Verb::kAdd || verb == Verb::kStore || verb == Verb::kAddIfAbsent; }

struct Model {
  std::array<uint8_t, kMaxItems> held{};  // copies of each item
  uint16_t made = 0;

  // Applies the step and returns what the reply must be.
  int64_t Apply(const Step& step, Copies copies) {
    uint8_t& mine = held[step.item];
    switch (step.verb) {
      case Verb::kAdd:
        return Put(mine, copies == Copies::kCounted || mine == 0);
      case Verb::kStore:
        Put(mine, true);
        return 1;
      case Verb::kAddIfAbsent:
        return Put(mine, mine == 0);
      case Verb::kExists:
        return mine != 0 ? 1 : 0;
      case Verb::kCount:
        return mine;
      case Verb::kRemove:
        if (made == 0) return kNotFound;
        return mine == 0 ? 0 : (--mine, 1);
      case Verb::kClear:
        held = {};
        return made != 0 ? 1 : kNotFound;
      case Verb::kDelete:
        held = {};
        return std::exchange(made, uint16_t{0});
      case Verb::kReserve:
        return std::exchange(made, uint16_t{1}) != 0 ? kTaken : 1;
    }
    return kUnexpected;
  }

 private:
  int64_t Put(uint8_t& mine, bool one_more) {
    const bool present = mine != 0;
    made = 1;
    if (one_more) ++mine;
    return present ? 0 : 1;
  }
};

// Marks an operation that made the filter before it took its first step.
constexpr uint8_t kMade = 0x80;

// How far each client has come, and what the filter then holds.
struct Node {
  std::array<uint16_t, kMaxClients> next{};  // operations done
  std::array<uint8_t, kMaxClients> done{};   // of the next operation: a bit per step, and kMade
  Model model;

  bool operator==(const Node& other) const {
    return next == other.next && done == other.done && model.held == other.model.held && model.made == other.model.made;
  }
  size_t Depth() const { return std::accumulate(next.begin(), next.end(), size_t{0}); }
};
static_assert(std::has_unique_object_representations_v<Node>, "hashed by its bytes");

struct HashOfNode {
  size_t operator()(const Node& node) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&node), sizeof node});
  }
};

class Search {
 public:
  Search(const History& history, Copies copies) : history_(history), copies_(copies) {
    assert(history.size() <= kMaxClients);
  }

  testing::AssertionResult Run() {
    Reach(Node{});
    while (!waiting_.empty()) {
      const Node node = waiting_.back();
      waiting_.pop_back();
      if (IsEnd(node)) return testing::AssertionSuccess();
      if (node.Depth() > furthest_.Depth()) furthest_ = node;
      if (seen_.size() > kMaxNodes) return testing::AssertionFailure() << "gave up after " << seen_.size() << " nodes";
      Expand(node);
    }
    return testing::AssertionFailure() << "no order explains the replies\n" << Describe(furthest_);
  }

 private:
  const Operation* Head(const Node& node, size_t client) const {
    const auto& operations = history_[client];
    return node.next[client] < operations.size() ? &operations[node.next[client]] : nullptr;
  }
  bool IsEnd(const Node& node) const {
    for (size_t client = 0; client < history_.size(); ++client) {
      if (Head(node, client) != nullptr) return false;
    }
    return true;
  }
  void Reach(const Node& node) {
    if (seen_.insert(node).second) waiting_.push_back(node);
  }

  struct Candidate {
    size_t client;
    const Operation* head;
  };

  void Expand(const Node& node) {
    std::vector<Candidate> candidates;
    for (size_t client = 0; client < history_.size(); ++client) {
      if (const Operation* head = Head(node, client)) candidates.push_back({client, head});
    }
    // The operation that ended first was most likely first: it ends up on top of the stack.
    std::ranges::sort(candidates, std::ranges::greater(), [](const Candidate& each) { return each.head->end_ns; });
    std::vector<Node> changed;
    for (const auto& [client, head] : candidates) {
      if (head->begin_ns > candidates.back().head->end_ns) continue;
      if (Makes(head->steps.front().verb) && node.model.made == 0 && node.done[client] == 0) {
        changed.push_back(node);
        changed.back().model.made = 1;
        changed.back().done[client] = kMade;
      }
      for (size_t i = 0; i < head->steps.size(); ++i) {
        Node next = node;
        if (!Take(next, client, *head, i)) continue;
        if (ChangesNothing(head->steps[i], copies_)) return Reach(next);
        changed.push_back(next);
      }
    }
    for (const Node& next : changed) Reach(next);
  }

  // Returns false if step `i` was taken before, or cannot be taken now.
  bool Take(Node& node, size_t client, const Operation& operation, size_t i) const {
    const auto bit = static_cast<uint8_t>(1U << i);
    if ((node.done[client] & bit) != 0) return false;
    if ((node.done[client] & kMade) != 0 && node.model.made == 0) return false;  // it would go to the one it made
    if (node.model.Apply(operation.steps[i], copies_) != operation.steps[i].reply) return false;
    node.done[client] |= bit;
    if ((node.done[client] & ~kMade) == (1 << operation.steps.size()) - 1) {
      node.done[client] = 0;
      ++node.next[client];
    }
    return true;
  }

  std::string Describe(const Node& node) const {
    std::string text = "after " + std::to_string(node.Depth()) + " commands the filter " +
                       (node.model.made != 0 ? "is there and holds" : "is missing and holds");
    for (const uint8_t copies : node.model.held) text += " " + std::to_string(copies);
    for (size_t client = 0; client < history_.size(); ++client) {
      const Operation* const head = Head(node, client);
      text += "\nclient " + std::to_string(client) + ": ";
      text += head == nullptr ? "done" : Describe(*head, node.done[client]);
    }
    return text;
  }
  static std::string Describe(const Operation& operation, uint8_t done) {
    constexpr const char* kVerbs[] = {"add",    "store", "add-if-absent", "exists", "count",
                                      "remove", "clear", "delete",        "reserve"};
    std::string text = std::to_string(operation.begin_ns) + " to " + std::to_string(operation.end_ns) + " ns:";
    for (size_t i = 0; i < operation.steps.size(); ++i) {
      const Step& step = operation.steps[i];
      if ((done >> i & 1) != 0) continue;
      text += std::string(" ") + kVerbs[static_cast<size_t>(step.verb)] + "(" + std::to_string(step.item) +
              ")=" + std::to_string(step.reply);
    }
    return text;
  }

  const History& history_;
  const Copies copies_;
  std::vector<Node> waiting_;
  std::unordered_set<Node, HashOfNode> seen_;
  Node furthest_;
};

}  // namespace

testing::AssertionResult IsLinearizable(const History& history, Copies copies) { return Search(history, copies).Run(); }

}  // namespace bitsieve::test
