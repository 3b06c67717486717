// scratch.h: memory that is used again and again, for numbers of values that vary. Thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace bitsieve::cli {

template <class T>
class Scratch {
 public:
  // Returns room for `count` values, which are what was left there, or were never set. What was returned before is no
  // longer valid.
  std::span<T> Room(size_t count) {
    if (count > room_) {
      values_.reset();
      values_ = std::make_unique_for_overwrite<T[]>(count);
      room_ = count;
    }
    return {values_.get(), count};
  }
  T* data() const { return values_.get(); }

 private:
  std::unique_ptr<T[]> values_;
  size_t room_ = 0;
};

}  // namespace bitsieve::cli
