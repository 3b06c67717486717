// false_positive_list.h: the known false positives of a filter: hashes that its bits show, but of which it is known
// that no such item was added. Lookups answer "definitely not" for them, until they are added.
//
// Idea        a client that pays for each false positive (a read of a slow store, say) finds out which ones it meets
//             again and again. Their hashes, all 128 bits, are kept with the filter: only an item of equal hash could
//             be missed, and for n items and m false positives that is one chance in 2^128 / (n m).
// Layout      the hashes lie one after the other, in insertion order, as in an image. An open-addressing table of their
//             places, at most half full, leads to them; a hash that is taken off leaves its place to the last.
// Cost        24 to 48 bytes for each, and as much again for the smaller tables that readers may still look at. A
//             lookup that the bits deny costs nothing more.
// Limits      kMaxHashes: a filter that needs more is better recreated with a lower error rate.
// Threads     TakeOut, Contains, size and the other counts: any number of threads, without a lock. Add, TakeOff,
//             Forget, CountAdded and CopyTo: one thread at a time, the filter's writer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/intrusive_ptr.h"
#include "core/base/memory_budget.h"
#include "core/hash/key_hash.h"
#include "core/memory/move_version.h"

namespace bitsieve::core {

// The outcome of recording a false positive.
enum class RecordOutcome : uint8_t {
  kNothing,      // lookups deny it anyway
  kRecorded,     // from now on they do
  kTooMany,      // there is no room for further ones
  kMoved,        // the filter has been frozen: note the item in the filter that takes its place
  kOutOfMemory,  // the memory budget refuses
};

class FalsePositiveList : public OwnerCount {
 public:
  static constexpr uint32_t kMaxHashes = 1 << 16;

  // Makes an empty list. Returns null if the budget, which outlives the list, or the system refuses memory.
  static std::unique_ptr<FalsePositiveList> Make(MemoryBudget& budget) noexcept;
  FalsePositiveList(const FalsePositiveList&) = delete;
  FalsePositiveList& operator=(const FalsePositiveList&) = delete;
  ~FalsePositiveList();

  // Sets present[i] = 0 where hashes[i] is on the list; other elements stay as they are.
  void TakeOut(std::span<const KeyHash> hashes, std::span<uint8_t> present) const;
  bool Contains(const KeyHash& hash) const;
  uint32_t size() const { return size_.load(std::memory_order_acquire); }
  // Returns the number of items that were added after they had been on the list, and set no bit.
  uint64_t added() const { return added_.load(std::memory_order_acquire); }
  // Returns a count that grows with every change except those caused by additions, which count as items.
  uint64_t changes() const { return changes_.load(std::memory_order_acquire); }
  // Returns the bytes of the budget that the list takes.
  uint64_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }
  // Returns whether there are neither hashes nor additions: the list is then equivalent to none.
  bool empty() const { return size() == 0 && added() == 0; }

  // Only the writer calls the functions below.

  // Adds a hash that is not on the list. Returns kRecorded, kTooMany or kOutOfMemory.
  RecordOutcome Add(const KeyHash& hash) noexcept;
  // Takes the hash of an item that is added off the list. Returns false if it is not there.
  bool TakeOff(const KeyHash& hash) noexcept;
  void CountAdded(uint64_t items) { added_.store(added() + items, std::memory_order_release); }
  // Takes the hash off the list for a reason other than an addition.
  void Forget(const KeyHash& hash) noexcept {
    if (TakeOff(hash)) CountChange();
  }
  // Copies the hashes in insertion order, except that the last one took the place of one that was taken off. `out` has
  // size() places.
  void CopyTo(std::span<KeyHash> out) const;

 private:
  struct Table;
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  FalsePositiveList(MemoryReservation own, MemoryBudget& budget);
  // Returns the table's slot that leads to the hash, or kNoSlot.
  static uint32_t Find(const Table* table, const KeyHash& hash);
  bool MakeRoom() noexcept;
  void CountChange() { changes_.store(changes() + 1, std::memory_order_release); }

  MemoryBudget& budget_;
  std::vector<std::unique_ptr<Table>> tables_;  // older ones stay, since other threads may be reading them
  MoveVersion version_;
  std::atomic<Table*> table_{nullptr};
  std::atomic<uint32_t> size_{0};
  std::atomic<uint64_t> added_{0};
  std::atomic<uint64_t> changes_{0};
  std::atomic<uint64_t> size_bytes_;  // relaxed: only ever reported
};

void LetGo(const FalsePositiveList* list);

// Holds the list of a filter, if it has one; slots share the ownership of a list. Thread-safe, except that one thread
// at a time calls Set.
class FalsePositiveSlot {
 public:
  FalsePositiveSlot() = default;
  FalsePositiveSlot(const FalsePositiveSlot&) = delete;
  FalsePositiveSlot& operator=(const FalsePositiveSlot&) = delete;
  ~FalsePositiveSlot() { IntrusivePtr<FalsePositiveList>::Adopt(get()); }

  // Returns null if there was never a list. The list lives as long as the slot.
  FalsePositiveList* get() const { return list_.load(std::memory_order_acquire); }
  // Fills an empty slot. The list is not null.
  void Set(FalsePositiveList* list) {
    list->AddOwner();
    list_.store(list, std::memory_order_release);
  }

 private:
  std::atomic<FalsePositiveList*> list_{nullptr};
};

}  // namespace bitsieve::core
