// descriptor.h: owns a descriptor of the system, and closes it at its end. Thread-compatible.
#pragma once

#include <unistd.h>

#include <utility>

namespace bitsieve::core {

class Descriptor {
 public:
  Descriptor() = default;
  // -1: none.
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    Reset();
    value_ = other.Release();
    return *this;
  }
  ~Descriptor() { Reset(); }

  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }
  void Reset() {
    if (value_ >= 0) ::close(Release());
  }

 private:
  int value_ = -1;
};

}  // namespace bitsieve::core
