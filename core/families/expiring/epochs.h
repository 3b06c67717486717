// epochs.h: the time axis of a filter whose items expire, cut into epochs of equal length: a time to live T is k of
// them, 14 or 250. An item that expires at some moment is kept until the epoch of that moment is over: never shorter,
// and at most T / k longer.
//
// Numbers     a slot has 4 or 8 bits for its epoch: the epoch modulo 16 or 256. At a given moment the epochs of live
//             items are the current one and the k after it, so of the 16 or 256 numbers 1 or 5 are over. A number is
//             read relative to a moment not after which it was written: see expiring_table.h.
// Thread-safe: plain values.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bitsieve::core {

class Epochs {
 public:
  static constexpr uint64_t kMaxMs = uint64_t{1} << 54;  // no product of a time below overflows

  // number_bits is 4 or 8; ttl_ms at least 1.
  Epochs(uint64_t ttl_ms, uint32_t number_bits)
      : ttl_ms_(ttl_ms), number_bits_(number_bits), per_ttl_(number_bits == 4 ? 14 : 250) {}

  uint64_t ttl_ms() const { return ttl_ms_; }
  uint32_t number_bits() const { return number_bits_; }
  uint32_t per_ttl() const { return per_ttl_; }                     // k
  uint32_t numbers() const { return uint32_t{1} << number_bits_; }  // of which slots hold one
  // Returns how many epochs ago a segment of a table may have been swept at most when an item is stored in it.
  uint32_t max_tag_age() const { return numbers() - per_ttl_ - 1; }
  // Returns how many epochs ago it was swept when a sweep is worth its time. With 4 bits, sweeps are few enough for one
  // in each epoch, which makes lookups faster.
  uint32_t due_tag_age() const { return number_bits_ == 4 ? 1 : max_tag_age() - 1; }
  uint64_t NumberOf(uint64_t epoch) const { return epoch & (numbers() - 1); }

  // Returns the epoch of a moment, at most kMaxMs.
  uint64_t At(uint64_t ms) const { return ms * per_ttl_ / ttl_ms_; }
  // Returns the first moment after the epoch.
  uint64_t EndMs(uint64_t epoch) const { return ((epoch + 1) * ttl_ms_ + per_ttl_ - 1) / per_ttl_; }
  // Returns the epoch that has this number, and is not before `since`.
  uint64_t Since(uint64_t since, uint64_t number) const { return since + NumberOf(number - since); }

  // Returns how many slots so many live items take at most: those whose time is over take theirs until the end of the
  // epoch.
  uint64_t SlotsFor(uint64_t items) const { return items + (items + per_ttl_ - 1) / per_ttl_; }
  // Returns the number of items for which so many slots are enough.
  uint64_t ItemsIn(uint64_t slots) const {
    return std::max<uint64_t>(1,
                              slots / (per_ttl_ + 1) * per_ttl_ + slots % (per_ttl_ + 1) * per_ttl_ / (per_ttl_ + 1));
  }

 private:
  uint64_t ttl_ms_;
  uint32_t number_bits_;
  uint32_t per_ttl_;
};

}  // namespace bitsieve::core
