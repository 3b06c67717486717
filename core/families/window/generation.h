// generation.h: one generation of a window: a blocked Bloom filter that forgets all in constant time.
//
// Idea        clearing a big block of memory takes long, so it is not done at once. Lines are grouped by kGroupLines;
//             each group has a tag, and the block a round. To forget everything is to begin a new round: a group whose
//             tag is not the round counts as clear, regardless of its bits. An add clears the groups it touches; and
//             each new item clears kSweptGroups further ones, so that soon all have the round's tag and no tag is
//             looked at any more.
// Cost        4 bytes per group (0.8%). At most kSweptGroups + 2 groups are cleared per new item: 80 lines, 5 KiB.
// Threads     MayContain, Prefetch and the getters may run concurrently with one writer, without a lock. A lookup that
//             runs while a new round begins may see either round's content. Writers exclude each other.
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "core/families/bloom/blocked_bloom.h"
#include "core/memory/image_part.h"

namespace bitsieve::core {

class Generation {
 public:
  static constexpr uint64_t kGroupLines = 8;
  static constexpr uint64_t kSweptGroups = 8;

  // Makes an empty generation. kOutOfMemory if the budget refuses. The shape is a valid one of type blocked.
  static Result<std::unique_ptr<Generation>> Make(const SubFilterShape& shape, MemoryBudget& budget);
  // Returns all that Make takes from the budget.
  static uint64_t TotalBytes(const SubFilterShape& shape);

  void Prefetch(std::span<const KeyHash> hashes) const { bits_.Prefetch(hashes); }
  // Looks items up as SubFilter::MayContain does.
  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const;
  // Adds items as BitSubFilter::Add does.
  AddProgress Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added);
  // Forgets everything.
  void BeginRound();
  // Captures the bits as of now, while others continue to change them; what counts as clear is read as clear. The
  // caller excludes writers.
  std::unique_ptr<ImagePart> Capture(const ImagePool& pool);

  // For bits that were read back, before any other thread sees them.
  SubFilter& bits() { return bits_; }
  const SubFilter& bits() const { return bits_; }
  bool Full() const { return bits_.Room() == 0; }

  // Which generation of its window this is, counted from 1; 0: none. Written only by its window.
  std::atomic<uint64_t> sequence{0};
  // When the first and the last of its items were seen; only in windows of time.
  std::atomic<uint64_t> first_ms{0};
  std::atomic<uint64_t> last_ms{0};

 private:
  class Image;

  Generation(const SubFilterShape& shape, BitMemory bits, BitMemory tags, MemoryReservation overhead);

  uint32_t* tag(uint64_t group) const { return reinterpret_cast<uint32_t*>(tags_.data()) + group; }
  bool IsClean(uint64_t group, uint32_t round) const { return __atomic_load_n(tag(group), __ATOMIC_ACQUIRE) == round; }
  bool LinesAreClean(const KeyHash& hash, uint32_t round) const;
  void CleanLines(const KeyHash& hash, uint32_t round);
  void Clean(uint64_t group, uint32_t round);
  void Sweep(uint64_t groups, uint32_t round);

  BlockedBloom bits_;
  BitMemory tags_;
  const MemoryReservation overhead_;
  const uint64_t groups_;

  // Written only by the writer.
  uint32_t last_round_ = 0;
  uint64_t swept_ = 0;                    // groups that were swept in this round
  std::atomic<uint32_t> dirty_round_{0};  // the tag of what is clean; 0: everything is
};

}  // namespace bitsieve::core
