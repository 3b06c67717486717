// intrusive_ptr.h: shared ownership of objects that count their owners themselves: a pointer is one word, and there is
// no separate block for the count. Pointers are as thread-safe as std::shared_ptr: different ones may be used by
// different threads, also if they own one object.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace bitsieve::core {

// A base of T. T is made by new, and destroyed by delete when its last owner lets go.
class OwnerCount {
 public:
  void AddOwner() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  // Adds an owner; returns false, and does nothing, if no owner is left.
  bool AddOwnerUnlessGone() const {
    uint32_t owners = owners_.load(std::memory_order_relaxed);
    while (owners != 0 && !owners_.compare_exchange_weak(owners, owners + 1, std::memory_order_relaxed)) continue;
    return owners != 0;
  }
  // Returns whether that was the last owner.
  bool RemoveOwner() const { return owners_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  // Returns the number of owners at this moment.
  uint32_t owners() const { return owners_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<uint32_t> owners_{0};
};

// Calls AddOwner of its object, and LetGo(const T*), found by argument, when it no longer owns it.
template <class T>
class IntrusivePtr {
 public:
  IntrusivePtr() = default;
  IntrusivePtr(std::nullptr_t) {}
  // Takes an object that has no owner yet.
  template <class Made>
  requires std::is_convertible_v<Made*, T*> IntrusivePtr(std::unique_ptr<Made> made) : object_(made.release()) {
    if (object_ != nullptr) object_->AddOwner();
  }
  IntrusivePtr(const IntrusivePtr& other) : object_(other.object_) {
    if (object_ != nullptr) object_->AddOwner();
  }
  IntrusivePtr(IntrusivePtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  IntrusivePtr& operator=(IntrusivePtr other) noexcept {
    swap(other);
    return *this;
  }
  ~IntrusivePtr() {
    if (object_ != nullptr) LetGo(object_);
  }

  // Returns a pointer to an object whose new owner has been counted already.
  static IntrusivePtr Adopt(T* owned) {
    IntrusivePtr pointer;
    pointer.object_ = owned;
    return pointer;
  }

  void swap(IntrusivePtr& other) noexcept { std::swap(object_, other.object_); }
  void reset() { IntrusivePtr().swap(*this); }
  T* get() const { return object_; }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const IntrusivePtr&) const = default;
  // Returns the number of owners at this moment; 0 if there is no object.
  uint32_t use_count() const { return object_ == nullptr ? 0 : object_->owners(); }

 private:
  T* object_ = nullptr;
};

}  // namespace bitsieve::core
