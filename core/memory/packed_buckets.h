// packed_buckets.h: PackedSlots in buckets of a few slots each, without gaps. A value is looked for in all slots of a
// bucket at once, as many as fit into a word: a slot is equal where the difference is 0, and the lowest 0 of a word of
// numbers shows where a borrow comes from (Lamport, "Multiple Byte Processing with Full-Word Instructions", 1975).
// Threads: as PackedSlots.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/memory/packed_slots.h"

namespace bitsieve::core {

class PackedBuckets {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // `memory` has PackedSlots::BytesFor(buckets * bucket_size, slot_bits) bytes. Only those bits of a slot that
  // `compared` has are looked for: a slot may hold more than what it is known by.
  PackedBuckets(std::byte* memory, uint32_t slot_bits, uint32_t bucket_size, uint64_t compared)
      : slots_(memory, slot_bits),
        size_(bucket_size),
        group_(std::min(bucket_size, 64 / slot_bits)),
        ones_(OneInEach(group_)),
        last_ones_(OneInEach((bucket_size - 1) % group_ + 1)),
        compared_(ones_ * compared),
        reciprocal_((kOne + slot_bits - 1) / slot_bits) {}
  PackedBuckets(std::byte* memory, uint32_t slot_bits, uint32_t bucket_size)
      : PackedBuckets(memory, slot_bits, bucket_size, (uint64_t{1} << slot_bits) - 1) {}

  const void* AddressOf(uint64_t bucket) const { return slots_.AddressOf(bucket * size_); }
  uint64_t ByteOf(uint64_t bucket, uint32_t slot) const { return slots_.ByteOf(bucket * size_ + slot); }
  // Without a branch on whether the slot lies across two words: that cannot be predicted.
  uint64_t Get(uint64_t bucket, uint32_t slot) const { return slots_.Run(bucket * size_ + slot) & slots_.mask(); }
  void Set(uint64_t bucket, uint32_t slot, uint64_t value) { slots_.Set(bucket * size_ + slot, value); }

  // Returns whether either of two buckets holds the value. Without a branch on what they hold: that cannot be
  // predicted.
  bool Contain(uint64_t bucket, uint64_t other, uint64_t value) const {
    uint64_t matches = 0;
    for (uint32_t first = 0; first < size_; first += group_) {
      matches |= Matches(bucket, first, value) | Matches(other, first, value);
    }
    return matches != 0;
  }
  // Returns a slot of either bucket that holds the value; that of kNone if there is none. Which of the two it is cannot
  // be predicted either, and costs no branch.
  struct Place {
    uint64_t bucket;
    uint32_t slot;
  };
  Place FindInEither(uint64_t bucket, uint64_t other, uint64_t value) const {
    Place found{bucket, kNone};
    for (uint32_t first = 0; first < size_; first += group_) {
      const uint64_t here = Matches(bucket, first, value);
      const uint64_t there = Matches(other, first, value);
      const uint64_t matches = Either(here != 0, here, there);
      found.bucket = Either(matches != 0, Either(here != 0, bucket, other), found.bucket);
      found.slot = static_cast<uint32_t>(Either(matches != 0, first + FirstOf(matches), found.slot));
    }
    return found;
  }
  // Returns the first slot that holds the value, or kNone.
  uint32_t Find(uint64_t bucket, uint64_t value) const {
    for (uint32_t first = 0; first < size_; first += group_) {
      const uint64_t matches = Matches(bucket, first, value);
      if (matches != 0) return first + FirstOf(matches);
    }
    return kNone;
  }
  uint32_t Count(uint64_t bucket, uint64_t value) const {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < size_; ++slot) count += Get(bucket, slot) == value ? 1 : 0;
    return count;
  }

 private:
  // Returns one of two values. A conditional expression may become a branch.
  static uint64_t Either(bool is_first, uint64_t first, uint64_t second) {
    return second ^ ((first ^ second) & (uint64_t{0} - uint64_t{is_first}));
  }
  static constexpr uint32_t kOne = 1 << 16;  // of reciprocal_

  // Returns the slot of its group to which the lowest set bit belongs: its place divided by the bits of a slot.
  uint32_t FirstOf(uint64_t matches) const {
    return static_cast<uint32_t>(std::countr_zero(matches)) * reciprocal_ / kOne;
  }
  uint64_t OneInEach(uint32_t slots) const {
    uint64_t ones = 0;
    for (uint32_t i = 0; i < slots; ++i) ones |= uint64_t{1} << (i * slots_.slot_bits());
    return ones;
  }
  // Compares the group of slots from `first` on. Returns 0 if none is equal, else a word in which the lowest set bit is
  // the highest of the first equal slot. Bits above it mean nothing.
  uint64_t Matches(uint64_t bucket, uint32_t first, uint64_t value) const {
    const uint64_t ones = first + group_ < size_ ? ones_ : last_ones_;
    const uint64_t differences = (slots_.Run(bucket * size_ + first) ^ value * ones) & compared_;
    return (differences - ones) & ~differences & ones << (slots_.slot_bits() - 1);
  }

  PackedSlots slots_;
  uint32_t size_;
  uint32_t group_;  // slots that are looked at together
  uint64_t ones_, last_ones_;
  uint64_t compared_;    // the bits of a group that are compared
  uint32_t reciprocal_;  // of slot_bits; exact enough for places within a word
};

}  // namespace bitsieve::core
