// big_buffer.h: memory for many values, in huge pages if the system has them. It costs nothing before it is used.
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "core/memory/memory_source.h"

namespace bitsieve::cli {

template <class T>
class BigBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  BigBuffer() = default;
  // Takes memory for `count` zero values, at least 1. Throws std::bad_alloc.
  explicit BigBuffer(size_t count)
      : bytes_(count * sizeof(T)),
        values_(static_cast<T*>(core::CurrentMemorySource().allocate_zeroed(bytes_, kAlignment))) {
    if (values_ == nullptr) throw std::bad_alloc();
  }
  BigBuffer(BigBuffer&& other) noexcept : bytes_(other.bytes_), values_(std::exchange(other.values_, nullptr)) {}
  BigBuffer& operator=(BigBuffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(values_, other.values_);
    return *this;
  }
  ~BigBuffer() {
    if (values_ != nullptr) core::CurrentMemorySource().free(values_, bytes_);
  }

  T* get() const { return values_; }
  T& operator[](size_t index) const { return values_[index]; }

 private:
  static constexpr size_t kAlignment = 64;

  size_t bytes_ = 0;
  T* values_ = nullptr;
};

}  // namespace bitsieve::cli
