// hash_set.h: an exact set of 64-bit hashes that only grows: it remembers the order of their coming, and can be walked
// by their value. What a ribbon filter collects until it is frozen.
//
// Idea        extendible hashing (Fagin, Nievergelt, Pippenger, Strong, 1979): a directory, indexed by the top bits of
//             a hash, points to segments of 4 KiB, each an open-addressing table of the hashes that share some top
//             bits. A full segment gives its upper half to a new one; when it had the whole prefix of the directory,
//             that is doubled before. So growing is a few microseconds now and then, never a pass over everything.
// Order       all hashes also lie one after the other in a log, which is what an image is made of: what was there at
//             some moment is a beginning of it, which never changes.
// Cost        8 bytes per item in the log, and 9 to 19 in the segments, which all fill at about the same time. All of
//             it is taken from the budget in pieces that double up to 2 MiB.
// Threads     Insert: one thread at a time. Contains, Prefetch, size: any number of threads, without a lock, at any
//             time. A hash found is there. A hash not found counts only if its segment was the right one and gave
//             nothing away during the lookup (its version is even and has not moved); otherwise the lookup is repeated.
//             Log: excludes inserters; what it returns may be read for ever. ForEach: only while no thread inserts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/memory/bit_memory.h"

namespace bitsieve::core {

class HashSet {
 public:
  enum class Outcome { kPresent, kAdded, kOutOfMemory };

  // kOutOfMemory if the budget refuses. The budget must outlive the set.
  static Result<std::unique_ptr<HashSet>> Make(MemoryBudget& budget);

  // No hash is 0.
  bool Contains(uint64_t hash) const;
  // std::bad_alloc, as kOutOfMemory, has changed nothing.
  Outcome Insert(uint64_t hash);
  void Prefetch(uint64_t hash) const;

  uint64_t size() const { return size_.load(std::memory_order_acquire); }
  uint64_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }
  // The most that size_bytes() is with so many hashes.
  static uint64_t MostBytes(uint64_t hashes);

  // All there is now, in the order of coming.
  std::vector<std::span<const uint64_t>> Log() const;

  // Calls visit(hash) for all hashes in [first, last], and a few beyond.
  template <class Visit>
  void ForEach(uint64_t first, uint64_t last, const Visit& visit) const {
    const Directory& directory = *directory_.load(std::memory_order_acquire);
    const Segment* before = nullptr;
    for (uint64_t i = directory.IndexOf(first); i <= directory.IndexOf(last); ++i) {
      const Segment* segment = directory.entries[i].load(std::memory_order_acquire);
      if (segment == before) continue;
      before = segment;
      for (const std::atomic<uint64_t>& slot : segment->slots) {
        if (const uint64_t hash = slot.load(std::memory_order_relaxed); hash != 0) visit(hash);
      }
    }
  }

 private:
  static constexpr size_t kSegmentBytes = 4096;
  static constexpr uint64_t kSmallestSetBytes = 16
                                                << 10;  // the first pieces of log and segments, which are whole pages
  static constexpr uint32_t kSlots = (kSegmentBytes - 16) / sizeof(uint64_t);
  static constexpr uint32_t kFull = kSlots * 7 / 8;  // a segment with so many is divided before the next one

  struct Segment {
    std::atomic<uint32_t> version;  // odd while it gives its upper half away
    uint32_t count;                 // the inserter's alone
    std::atomic<uint64_t> prefix;   // the top bits that its hashes share, then a 1, then zeros
    std::atomic<uint64_t> slots[kSlots];

    static uint32_t Home(uint64_t hash) { return static_cast<uint32_t>((hash & 0xFFFFFFFF) * kSlots >> 32); }
    uint32_t Depth() const;  // how many top bits
    bool Owns(uint64_t hash) const;
    bool Holds(uint64_t hash) const;
    void Put(uint64_t hash);  // which is not there; there is room
  };
  static_assert(sizeof(Segment) == kSegmentBytes);

  struct Directory {
    BitMemory memory;
    uint32_t depth = 0;  // 2^depth entries
    std::atomic<Segment*>* entries = nullptr;

    uint64_t IndexOf(uint64_t hash) const { return depth == 0 ? 0 : hash >> (64 - depth); }
  };

  struct Piece {
    BitMemory memory;
    uint64_t used_bytes;
  };

  explicit HashSet(MemoryBudget& budget) : budget_(budget) {}

  Segment* Find(uint64_t hash) const {
    const Directory& directory = *directory_.load(std::memory_order_acquire);
    return directory.entries[directory.IndexOf(hash)].load(std::memory_order_acquire);
  }
  // Each makes what it is named after; false if the budget refuses, or std::bad_alloc, and then nothing has changed.
  bool MakeDirectory(uint32_t depth);
  bool DoubleDirectory();
  Segment* MakeSegment();
  bool Divide(Segment& segment);
  bool MakeRoomInLog();
  // The next bytes of the last piece, or of a new one: as large as all before it, up to a limit.
  std::byte* Take(std::vector<Piece>& pieces, uint64_t bytes);
  Result<BitMemory> Allocate(uint64_t bytes);

  MemoryBudget& budget_;
  // The inserter's alone, except for what `directory_` leads to. Old directories stay, since other threads may be
  // reading them.
  std::vector<std::unique_ptr<Directory>> directories_;
  std::vector<Piece> segments_;
  uint64_t segment_count_ = 0;
  std::vector<Piece> log_;
  std::atomic<const Directory*> directory_{nullptr};  // released when complete
  std::atomic<uint64_t> size_{0};                     // released after the hash it counts is to be found
  std::atomic<uint64_t> size_bytes_{0};               // relaxed: only ever reported
};

}  // namespace bitsieve::core
