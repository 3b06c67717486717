// hash_list.h: the hashes of a few items, exactly: what a growing Bloom filter holds before it takes bits. The first
// hash lies in the object, further ones in a block of their own that is replaced by a larger one when it is full.
//
// Threads: readers take no lock and may run concurrently with one writer. All are given the same pins (reader_pins.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/reader_pins.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

class HashList {
 public:
  static constexpr size_t kMaxHashes = 16;

  HashList() = default;
  HashList(const HashList&) = delete;
  HashList& operator=(const HashList&) = delete;
  ~HashList();

  // present[i] = 1 where hashes[i] is there; other elements are left as they are.
  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present, ReaderPins& pins) const;
  size_t size(ReaderPins& pins) const;

  // Returns the hashes in the order in which they were added. The caller holds a pin, or is the writer.
  std::vector<KeyHash> All() const;

  // The rest is the writer's.

  bool Contains(const KeyHash& hash) const;
  // Adds a hash that is not there, where fewer than kMaxHashes are. May throw std::bad_alloc, and has changed nothing
  // then.
  void Add(const KeyHash& hash, const ReaderPins& pins);
  // Empties the list for good, once new readers no longer use it.
  void Clear(const ReaderPins& pins);

  // Returns the bytes that a list of `hashes` hashes takes besides the object.
  static uint64_t BlockBytes(size_t hashes);

 private:
  struct Block;

  // Returns the marker of a list that has the first hash and no block.
  static Block* OnlyFirst();
  static bool IsBlock(const Block* block) { return block != nullptr && block != OnlyFirst(); }
  bool Holds(const Block* block, const KeyHash& hash) const;
  void Publish(Block* block) { block_.store(block, std::memory_order_seq_cst); }

  KeyHash first_{};                     // written once, before block_
  std::atomic<Block*> block_{nullptr};  // null while the list is empty
};

}  // namespace bitsieve::core
