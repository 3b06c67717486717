// move_version.h: lets lookups run while one writer moves what they look for. A lookup that finds its item is right;
// one that does not can only have missed what was moved during it, and the version shows whether anything was: a
// seqlock.
//
// Threads: one writer at a time, any number of readers, which never write. What they read between Current and Unchanged
// are atomic words that the writer releases and they acquire: then a reader that sees a word of a move sees its version
// too (Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

namespace bitsieve::core {

// `Word` counts the moves: it must not wrap around during a lookup.
template <class Word>
class BasicMoveVersion {
 public:
  // Nothing is found to be missing while one of these lives.
  class Move {
   public:
    explicit Move(BasicMoveVersion& version) : version_(version.version_) {
      version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    Move(const Move&) = delete;
    Move& operator=(const Move&) = delete;
    ~Move() { version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

   private:
    std::atomic<Word>& version_;
  };

  // Returns whether look() finds: at once if it does, else once nothing moved while it looked.
  template <class Look>
  bool Finds(const Look& look) const {
    return Ask([&look] {
      const bool found = look();
      return std::pair(found, found);
    });
  }
  // Sets present[i] = 1 where look(i) finds, as Finds does, else 0. The version is checked only once if nothing moves.
  template <class Look>
  void FindEach(std::span<uint8_t> present, const Look& look) const {
    const Word seen = Current();
    for (size_t i = 0; i < present.size(); ++i) present[i] = look(i) ? 1 : 0;
    if (Unchanged(seen)) return;
    for (size_t i = 0; i < present.size(); ++i) {
      if (present[i] == 0) present[i] = Finds([&] { return look(i); }) ? 1 : 0;
    }
  }
  // Returns what look() returns while nothing moves.
  template <class Look>
  auto AtRest(const Look& look) const {
    return Ask([&look] { return std::pair(look(), false); });
  }

  Word Current() const { return version_.load(std::memory_order_acquire); }
  // From now on no lookup here counts as absent: the caller must look elsewhere.
  void Close() { version_.store(version_.load(std::memory_order_relaxed) | 1, std::memory_order_release); }
  // Returns whether nothing was moving at `seen`, nor has moved since.
  bool Unchanged(Word seen) const { return seen % 2 == 0 && version_.load(std::memory_order_relaxed) == seen; }

 private:
  // Repeats ask(), which returns an answer, and whether it holds regardless of what moved.
  template <class Question>
  auto Ask(const Question& ask) const {
    constexpr int kPatience = 64;  // then the writer may have been put to sleep amid a move
    for (int tries = 1;; ++tries) {
      const Word seen = Current();
      const auto [answer, holds] = ask();
      if (holds || Unchanged(seen)) return answer;
      if (tries % kPatience == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  std::atomic<Word> version_{0};  // odd while something is being moved
};

using MoveVersion = BasicMoveVersion<uint64_t>;

}  // namespace bitsieve::core
