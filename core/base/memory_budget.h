// memory_budget.h: one account of the bytes that filters hold, with an optional limit, asked *before* anything is
// allocated. A reservation gives its bytes back when it dies, so the account is exact without anyone keeping books.
// A budget may be a part of another one, the whole: what it takes is taken from both, or from neither.
// MemoryBudget is thread-safe. MemoryReservation is thread-compatible. A budget outlives its reservations.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

namespace bitsieve::core {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit_bytes = 0) : limit_bytes_(limit_bytes) {}
  // A part. The whole outlives it.
  MemoryBudget(uint64_t limit_bytes, MemoryBudget* whole) : whole_(whole), limit_bytes_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // Takes `bytes` from the account; false, and nothing taken, if the limit would be exceeded. A limit of 0 is none.
  [[nodiscard]] bool TryTake(uint64_t bytes) {
    if (!TryTakeHere(bytes)) return false;
    if (whole_ == nullptr || whole_->TryTake(bytes)) return true;
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  void GiveBack(uint64_t bytes) {
    used_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    if (whole_ != nullptr) whole_->GiveBack(bytes);
  }
  // Makes this budget, with all that it holds, a part of another whole, regardless of the limits. No other thread uses
  // any of the three budgets during the call.
  void MoveTo(MemoryBudget& whole) {
    if (whole_ != nullptr) whole_->GiveBack(used_bytes());
    whole_ = &whole;
    whole.Take(used_bytes());
  }

  uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  // Returns the most that was ever used.
  uint64_t peak_bytes() const { return peak_bytes_.load(std::memory_order_relaxed); }
  uint64_t limit_bytes() const { return limit_bytes_.load(std::memory_order_relaxed); }
  // Returns what could still be taken here, regardless of what the whole has left.
  uint64_t free_bytes() const {
    const uint64_t limit = limit_bytes(), used = used_bytes();
    return limit == 0 ? UINT64_MAX : limit - std::min(used, limit);
  }
  // Returns how often this budget's own limit refused a reservation.
  uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }
  // A limit below what is used refuses every further reservation; what is held stays.
  void set_limit_bytes(uint64_t bytes) { limit_bytes_.store(bytes, std::memory_order_relaxed); }

 private:
  bool TryTakeHere(uint64_t bytes) {
    uint64_t used = used_bytes_.load(std::memory_order_relaxed);
    do {
      const uint64_t limit = limit_bytes_.load(std::memory_order_relaxed);
      if (used + bytes < used || (limit != 0 && used + bytes > limit)) {
        refusals_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
    } while (!used_bytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    RaisePeak(used + bytes);
    return true;
  }
  void Take(uint64_t bytes) {
    RaisePeak(used_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    if (whole_ != nullptr) whole_->Take(bytes);
  }
  void RaisePeak(uint64_t used) {
    uint64_t peak = peak_bytes_.load(std::memory_order_relaxed);
    while (used > peak && !peak_bytes_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) continue;
  }

  MemoryBudget* whole_ = nullptr;
  // Relaxed throughout: these are counters; no access to other memory depends on their values.
  std::atomic<uint64_t> used_bytes_{0};
  std::atomic<uint64_t> peak_bytes_{0};
  std::atomic<uint64_t> limit_bytes_;
  std::atomic<uint64_t> refusals_{0};
};

class MemoryReservation {
 public:
  MemoryReservation() = default;
  MemoryReservation(MemoryReservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryReservation& operator=(MemoryReservation&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryReservation() {
    if (budget_ != nullptr) budget_->GiveBack(bytes_);
  }

  // Returns an empty reservation (held() false) if the budget refuses.
  static MemoryReservation TryTake(MemoryBudget& budget, uint64_t bytes) {
    MemoryReservation reservation;
    if (budget.TryTake(bytes)) {
      reservation.budget_ = &budget;
      reservation.bytes_ = bytes;
    }
    return reservation;
  }
  // Describes memory that another owner holds: it is in no account (held() false).
  static MemoryReservation OfOthers(uint64_t bytes) {
    MemoryReservation reservation;
    reservation.bytes_ = bytes;
    return reservation;
  }
  // The bytes stay taken; the caller gives them back itself.
  void Detach() {
    budget_ = nullptr;
    bytes_ = 0;
  }
  bool held() const { return budget_ != nullptr; }
  uint64_t bytes() const { return bytes_; }

 private:
  MemoryBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace bitsieve::core
