// model.h: what one client knows about the filters that it uses: every state in which they may be, given the replies so
// far. A reply that no state explains is a fault of the server.
//
// Idea        A client's commands take effect in their order, and no other changes its filters or its items. So one
//             state would do, were it not for what a client cannot know: whether a filter whose time is about to be
//             over is gone already, whether a command without a reply was executed, and up to which of its commands the
//             content survived a crash. Then all possibilities are kept, until replies rule them out.
// States      are plain values: for each filter whether it is there, its type, its expiry, and how many copies it has
//             of each item. Error rates are so low that there are no false positives.
// Crash       the states that may be found afterwards are those after each of the client's steps, from the last one
//             that must be durable on. Each carries the number of steps that survived.
// Thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/reply.h"

namespace bitsieve::simulation {

inline constexpr size_t kOwnKeys = 3;
inline constexpr size_t kSharedKeys = 2;
inline constexpr size_t kItems = 12;

using Words = std::vector<std::string>;

// Returns the commands of a transaction, which are separated by "|"; of any other command that one.
std::vector<Words> CommandsOf(const Words& words);

// Types that the model knows, in the order of the numbers that states have for them.
struct TypeTraits {
  const char* name;
  bool counts;   // adding an item again adds a copy
  bool removes;  // BF.DEL
  bool has_card;
  const char* reserve;  // error rate, capacity and options of BF.RESERVE
};
const std::vector<TypeTraits>& ModelledTypes();
size_t TypeNumber(const std::string& name);

struct FilterState {
  bool exists = false;
  bool frozen = false;
  bool expired = false;  // it is not there: its time was over, but this may not be on the disk
  uint8_t type = 0;
  std::array<uint8_t, kItems> copies{};
  int64_t expires_ms = 0;  // of the wall clock; 0: never

  auto operator<=>(const FilterState&) const = default;
};

inline constexpr size_t kDumped = kOwnKeys + kSharedKeys;

struct State {
  // The last one is what the latest BF.DUMP returned, for BF.RESTORE.
  std::array<FilterState, kOwnKeys + kSharedKeys + 1> filters;
  // After a crash: how many steps of the life before survived, if this is the state that is found.
  size_t least_survived = 0;
  size_t most_survived = 0;
};

// The time of day while a command was under way; the clock may have been set meanwhile.
struct WallTimes {
  int64_t first_ms;   // the earliest that the server can have read
  int64_t latest_ms;  // the latest that it can have read since the start of the run
};

// A part of a command that takes effect by itself: one item of BF.MADD, one command of an EXEC.
using Step = Words;
std::vector<Step> StepsOf(const Words& command);

class Model {
 public:
  // `default_type`: of filters that BF.ADD makes. `memory_is_refused`: commands may have been refused memory.
  Model(size_t default_type, bool memory_is_refused)
      : default_type_(default_type), memory_is_refused_(memory_is_refused), states_(1) {}

  // Takes the reply to a step. False if no state explains it. `only_looks`: the step is not one of this life.
  bool Observe(const Step& step, const Reply& reply, WallTimes times, bool only_looks);
  // How many steps were observed since the last crash.
  size_t steps() const { return history_.size(); }

  // The server has crashed, or was stopped. At least the first `durable` steps survived. `pending`: commands whose
  // replies did not come, with their times. `may_refuse`: some that follow each other may have been refused, while the
  // disk was in trouble.
  struct Pending {
    std::vector<Step> steps;
    WallTimes times;
  };
  void Crash(size_t durable, const std::vector<Pending>& pending, bool may_refuse);
  // The smallest and the largest number of steps that can have survived, once replies after the crash were observed.
  size_t least_survived() const;
  size_t most_survived() const;
  // Begins the next life with the states that are left.
  void BeginLife();

  std::string Describe() const;

 private:
  using States = std::vector<State>;

  // Returns the states after the step that agree with the reply. Null: the reply is not known, and no error.
  States Follow(const States& before, const Step& step, const Reply* reply, WallTimes times) const;
  // Adds the states of which a crash may leave one, before `step` and within it.
  void Survive(const States& before, const Step& step, size_t survived, States& left) const;

  // Makes the filter that the step makes before it adds to it. False if it makes none.
  bool MakeFilter(State& state, const Step& step) const;

  const size_t default_type_;
  const bool memory_is_refused_;
  States states_;
  // The steps of this life, and the states before each.
  struct Past {
    States before;
    Step step;
  };
  std::vector<Past> history_;
};

}  // namespace bitsieve::simulation
