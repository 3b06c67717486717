#include "tests/simulation/reduce.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/simulation/child.h"

namespace bitsieve::simulation {
namespace {

constexpr uint64_t kSeeds = 4;

// Returns the beginning of a message that says which kind of fault it is.
std::string KindOf(const std::string& message) { return message.substr(0, message.find_first_of("0123456789:")); }

class Reducer {
  using Clock = std::chrono::steady_clock;

 public:
  Reducer(const Script& script, std::chrono::seconds patience)
      : best_{.script = script, .message = RunInChild(script).message}, end_(Clock::now() + patience) {}

  Reduced Run() {
    if (best_.message.empty()) return best_;
    for (size_t before = 0; before != Size();) {
      before = Size();
      DropLives();
      for (size_t i = 0; i < best_.script.lives.size(); ++i) {
        DropParts(&Life::commands, i);
        DropParts(&Life::faults, i);
        DropParts(&Life::clock_steps, i);
        DropParts(&Life::memory_steps, i);
      }
    }
    return best_;
  }

 private:
  size_t Size() const {
    size_t size = best_.script.lives.size();
    for (const Life& life : best_.script.lives) {
      size += life.commands.size() + life.faults.size() + life.clock_steps.size() + life.memory_steps.size();
    }
    return size;
  }

  bool Try(Script script) {
    for (uint64_t i = 0; i < kSeeds && Clock::now() < end_; ++i) {
      if (i != 0) ++script.seed;
      const ChildOutcome outcome = RunInChild(script);
      if (outcome.ok || KindOf(outcome.message) != KindOf(best_.message)) continue;
      best_ = {.script = std::move(script), .message = outcome.message};
      return true;
    }
    return false;
  }

  void DropLives() {
    DropRanges(best_.script.lives.size(), [](Script script, size_t from, size_t count) {
      const auto first = script.lives.begin() + static_cast<ptrdiff_t>(from);
      script.lives.erase(first, first + static_cast<ptrdiff_t>(count));
      return script;
    });
  }
  template <class Part>
  void DropParts(std::vector<Part> Life::*parts, size_t life) {
    DropRanges((best_.script.lives[life].*parts).size(), [=](Script script, size_t from, size_t count) {
      auto& all = script.lives[life].*parts;
      const auto first = all.begin() + static_cast<ptrdiff_t>(from);
      all.erase(first, first + static_cast<ptrdiff_t>(count));
      return script;
    });
  }

  // Leaves out longer ranges first.
  template <class Without>
  void DropRanges(size_t size, Without without) {
    for (size_t length = (size + 1) / 2; length > 0; length /= 2) {
      for (size_t from = 0; from < size;) {
        const size_t count = std::min(length, size - from);
        if (Try(without(best_.script, from, count))) {
          size -= count;
        } else {
          from += count;
        }
      }
    }
  }

  Reduced best_;
  const Clock::time_point end_;
};

}  // namespace

Reduced Reduce(const Script& script, std::chrono::seconds patience) { return Reducer(script, patience).Run(); }

}  // namespace bitsieve::simulation
