// handler_memory.h: memory for one pending operation of Asio, kept beside what waits for it, so that waiting allocates
// nothing. Thread-compatible.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace bitsieve::server {

// An operation that is larger, or a second one at the same time, takes memory from the heap.
class HandlerMemory {
 public:
  HandlerMemory() = default;
  HandlerMemory(const HandlerMemory&) = delete;
  HandlerMemory& operator=(const HandlerMemory&) = delete;

  void* Take(size_t bytes) {
    if (taken_ || bytes > sizeof bytes_) return ::operator new(bytes);
    taken_ = true;
    return bytes_;
  }
  void Give(void* taken) noexcept {
    if (taken == bytes_) {
      taken_ = false;
    } else {
      ::operator delete(taken);
    }
  }

 private:
  alignas(void*) std::byte bytes_[96];
  bool taken_ = false;
};

// The allocator that Asio finds with a handler.
template <class T>
class HandlerAllocator {
 public:
  using value_type = T;

  explicit HandlerAllocator(HandlerMemory& memory) : memory_(&memory) {}
  template <class U>
  HandlerAllocator(const HandlerAllocator<U>& other) noexcept : memory_(other.memory_) {}

  T* allocate(size_t count) { return static_cast<T*>(memory_->Take(count * sizeof(T))); }
  void deallocate(T* taken, size_t) noexcept { memory_->Give(taken); }
  template <class U>
  bool operator==(const HandlerAllocator<U>& other) const noexcept {
    return memory_ == other.memory_;
  }

 private:
  template <class U>
  friend class HandlerAllocator;
  HandlerMemory* memory_;
};

// A handler whose operation lies in `memory`, which is there until the operation has ended.
template <class Handler>
class InPlace {
 public:
  using allocator_type = HandlerAllocator<std::byte>;

  InPlace(HandlerMemory& memory, Handler handler) : memory_(&memory), handler_(std::move(handler)) {}

  allocator_type get_allocator() const noexcept { return allocator_type(*memory_); }
  template <class... Arguments>
  void operator()(Arguments&&... arguments) {
    handler_(std::forward<Arguments>(arguments)...);
  }

 private:
  HandlerMemory* memory_;
  Handler handler_;
};

}  // namespace bitsieve::server
