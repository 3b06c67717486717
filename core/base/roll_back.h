// roll_back.h: takes a change back if what was to follow it fails by an exception. Thread-compatible.
#pragma once

#include <utility>

namespace bitsieve::core {

// Calls undo(), which does not throw, when it dies, unless it was dismissed.
template <class Undo>
class RollBack {
 public:
  explicit RollBack(Undo undo) : undo_(std::move(undo)) {}
  RollBack(const RollBack&) = delete;
  RollBack& operator=(const RollBack&) = delete;
  ~RollBack() {
    if (armed_) undo_();
  }

  void Dismiss() noexcept { armed_ = false; }

 private:
  Undo undo_;
  bool armed_ = true;
};

}  // namespace bitsieve::core
