// packed_slots.h: an array of small numbers, each of the same width, packed without gaps into 64-bit words. For the
// types that keep fingerprints of items: widths need not be whole bytes, since a bit of width is a factor of two in the
// rate.
//
// Threads: Get and Run may run beside Set. A slot that lies across two words may then be seen half changed: a reader
// beside a writer repeats the read until nothing changed during it. One writer at a time. Words are released by Set and
// acquired by Get, so that a reader that sees a word of a change also sees what the writer did before it: the version
// that announces the change (Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

namespace bitsieve::core {

class PackedSlots {
 public:
  static constexpr uint32_t kMaxBits = 40;

  // `memory` has at least BytesFor(slots, slot_bits) bytes. slot_bits in [1, kMaxBits]. If it is not aligned to words,
  // only Get, Run and AddressOf may be called, which read whole aligned words: up to 7 bytes before the memory and
  // after it.
  PackedSlots(std::byte* memory, uint32_t slot_bits)
      : words_(reinterpret_cast<uint64_t*>(memory - Misalignment(memory))),
        begin_(8 * Misalignment(memory)),
        bits_(slot_bits),
        mask_((uint64_t{1} << slot_bits) - 1) {
    assert(slot_bits >= 1 && slot_bits <= kMaxBits);
  }

  // Whole words; with one to spare, so that a slot may always be read as two.
  static uint64_t BytesFor(uint64_t slots, uint32_t slot_bits) { return ((slots * slot_bits + 63) / 64 + 1) * 8; }

  uint32_t slot_bits() const { return bits_; }
  uint64_t mask() const { return mask_; }  // of the bits of a slot
  uint64_t ByteOf(uint64_t slot) const { return slot * bits_ / 64 * 8; }
  const void* AddressOf(uint64_t slot) const { return words_ + BitOf(slot) / 64; }

  uint64_t Get(uint64_t slot) const {
    const uint64_t bit = BitOf(slot);
    const uint64_t* word = words_ + bit / 64;
    const unsigned shift = bit % 64;
    const uint64_t low = Load(word) >> shift;
    if (shift + bits_ <= 64) return low & mask_;
    return (low | Load(word + 1) << (64 - shift)) & mask_;
  }

  // The 64 bits that begin with this slot: of the slots after it, as many as fit.
  uint64_t Run(uint64_t slot) const {
    const uint64_t bit = BitOf(slot);
    const uint64_t* word = words_ + bit / 64;
    const unsigned shift = bit % 64;
    return Load(word) >> shift | Load(word + 1) << 1 << (63 - shift);
  }

  // `value` fits in slot_bits.
  void Set(uint64_t slot, uint64_t value) {
    assert((value & ~mask_) == 0 && begin_ == 0);
    const uint64_t bit = slot * bits_;
    uint64_t* word = words_ + bit / 64;
    const unsigned shift = bit % 64;
    Store(word, (Load(word) & ~(mask_ << shift)) | value << shift);
    if (shift + bits_ <= 64) return;
    const unsigned in_first = 64 - shift;
    Store(word + 1, (Load(word + 1) & ~(mask_ >> in_first)) | value >> in_first);
  }

 private:
  static size_t Misalignment(const std::byte* memory) { return reinterpret_cast<uintptr_t>(memory) % sizeof(uint64_t); }
  uint64_t BitOf(uint64_t slot) const { return begin_ + slot * bits_; }
  static uint64_t Load(const uint64_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
  static void Store(uint64_t* word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

  uint64_t* words_;
  uint32_t begin_;  // bits of the first word before the memory
  uint32_t bits_;
  uint64_t mask_;
};

}  // namespace bitsieve::core
