#include "core/filter/false_positive_list.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

namespace bitsieve::core {

// Words are released by the writer and acquired by readers, as MoveVersion requires.
struct FalsePositiveList::Table {
  struct Entry {
    std::atomic<uint64_t> low;
    std::atomic<uint64_t> high;

    bool Is(const KeyHash& hash) const {
      return low.load(std::memory_order_acquire) == hash.low && high.load(std::memory_order_acquire) == hash.high;
    }
    KeyHash Get() const { return {low.load(std::memory_order_relaxed), high.load(std::memory_order_relaxed)}; }
    void Set(const KeyHash& hash) {
      low.store(hash.low, std::memory_order_release);
      high.store(hash.high, std::memory_order_release);
    }
  };

  explicit Table(uint32_t hashes)
      : room(hashes),
        mask(2 * hashes - 1),
        entries(new Entry[hashes]()),
        places(new std::atomic<uint32_t>[2 * hashes]()) {}

  static uint64_t BytesFor(uint32_t hashes) {
    return sizeof(Table) + hashes * (sizeof(Entry) + 2 * sizeof(std::atomic<uint32_t>));
  }

  // The bits that the sub-filters of Bloom types use are alike in all false positives of a small filter: hence mixed.
  static uint64_t Mixed(const KeyHash& hash) { return (hash.low ^ hash.high) * 0x9E3779B97F4A7C15; }
  uint32_t Home(const KeyHash& hash) const { return static_cast<uint32_t>(Mixed(hash) >> 32) & mask; }
  uint32_t Next(uint32_t slot) const { return (slot + 1) & mask; }
  // Returns what a slot that leads to this entry holds: the entry's index, and some bits of the hash, so that few other
  // hashes are compared with the entry.
  static uint32_t Place(const KeyHash& hash, uint32_t index) { return TagOf(hash) | (index + 1); }
  static uint32_t TagOf(const KeyHash& hash) { return static_cast<uint32_t>(Mixed(hash) >> 32) & ~kIndexMask; }
  static uint32_t IndexOf(uint32_t place) { return (place & kIndexMask) - 1; }
  uint32_t PlaceIn(uint32_t slot) const { return places[slot].load(std::memory_order_acquire); }
  bool LeadsTo(uint32_t place, const KeyHash& hash) const {
    return ((place ^ TagOf(hash)) & ~kIndexMask) == 0 && entries[IndexOf(place)].Is(hash);
  }
  // Returns the slot that leads to an entry, or, for a hash that is not there, the free slot where it belongs.
  uint32_t SlotOf(const KeyHash& hash) const {
    uint32_t slot = Home(hash);
    while (PlaceIn(slot) != 0 && !LeadsTo(PlaceIn(slot), hash)) slot = Next(slot);
    return slot;
  }
  void Put(const KeyHash& hash, uint32_t index) {
    const uint32_t slot = SlotOf(hash);
    entries[index].Set(hash);
    places[slot].store(Place(hash, index), std::memory_order_release);
  }
  // Frees the slot and moves later ones up, so that no search ends before it finds (Knuth, "The Art of Computer
  // Programming" 3, 6.4, algorithm R).
  void FreeSlot(uint32_t slot) {
    for (uint32_t next = Next(slot); PlaceIn(next) != 0; next = Next(next)) {
      const uint32_t home = Home(entries[IndexOf(PlaceIn(next))].Get());
      if (((next - home) & mask) < ((next - slot) & mask)) continue;  // it does not begin its search that early
      places[slot].store(PlaceIn(next), std::memory_order_release);
      slot = next;
    }
    places[slot].store(0, std::memory_order_release);
  }

  // The bits of a place that hold its index: 0 where there is no entry; else one more than the index of the entry.
  static constexpr uint32_t kIndexMask = (1 << 17) - 1;
  static_assert(kMaxHashes <= kIndexMask);

  const uint32_t room;  // hashes
  const uint32_t mask;
  const std::unique_ptr<Entry[]> entries;
  const std::unique_ptr<std::atomic<uint32_t>[]> places;
};

FalsePositiveList::FalsePositiveList(MemoryReservation own, MemoryBudget& budget)
    : budget_(budget), size_bytes_(own.bytes()) {
  own.Detach();
}

std::unique_ptr<FalsePositiveList> FalsePositiveList::Make(MemoryBudget& budget) noexcept {
  MemoryReservation own = MemoryReservation::TryTake(budget, sizeof(FalsePositiveList));
  if (!own.held()) return nullptr;
  return std::unique_ptr<FalsePositiveList>(new (std::nothrow) FalsePositiveList(std::move(own), budget));
}

FalsePositiveList::~FalsePositiveList() { budget_.GiveBack(size_bytes()); }

void LetGo(const FalsePositiveList* list) {
  if (list->RemoveOwner()) delete list;
}

uint32_t FalsePositiveList::Find(const Table* table, const KeyHash& hash) {
  if (table == nullptr) return kNoSlot;
  uint32_t slot = table->Home(hash);
  // A reader that runs during a write may see a table without an end; it then looks again.
  for (uint32_t looked = 0; looked <= table->mask; ++looked, slot = table->Next(slot)) {
    const uint32_t place = table->PlaceIn(slot);
    if (place == 0) break;
    if (table->LeadsTo(place, hash)) return slot;
  }
  return kNoSlot;
}

bool FalsePositiveList::Contains(const KeyHash& hash) const {
  return version_.AtRest([&] { return Find(table_.load(std::memory_order_acquire), hash) != kNoSlot; });
}

void FalsePositiveList::TakeOut(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  if (size() == 0) return;
  constexpr size_t kChunk = 64;
  for (size_t done = 0; done < hashes.size(); done += kChunk) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    const uint64_t listed = version_.AtRest([&] {
      const Table* const table = table_.load(std::memory_order_acquire);
      uint64_t found = 0;
      for (size_t i = 0; i < count; ++i) {
        if (present[done + i] != 0 && Find(table, hashes[done + i]) != kNoSlot) found |= uint64_t{1} << i;
      }
      return found;
    });
    for (uint64_t left = listed; left != 0; left &= left - 1) {
      present[done + static_cast<size_t>(std::countr_zero(left))] = 0;
    }
  }
}

RecordOutcome FalsePositiveList::Add(const KeyHash& hash) noexcept {
  const uint32_t count = size();
  if (count == kMaxHashes) return RecordOutcome::kTooMany;
  if (!MakeRoom()) return RecordOutcome::kOutOfMemory;
  const MoveVersion::Move move(version_);
  table_.load(std::memory_order_relaxed)->Put(hash, count);
  size_.store(count + 1, std::memory_order_release);
  CountChange();
  return RecordOutcome::kRecorded;
}

// The new table is filled before readers look there.
bool FalsePositiveList::MakeRoom() noexcept {
  constexpr uint32_t kFirstRoom = 8;
  Table* const full = table_.load(std::memory_order_relaxed);
  if (full != nullptr && size() < full->room) return true;
  const uint32_t room = full == nullptr ? kFirstRoom : 2 * full->room;
  MemoryReservation taken = MemoryReservation::TryTake(budget_, Table::BytesFor(room));
  if (!taken.held()) return false;
  try {
    auto table = std::make_unique<Table>(room);
    for (uint32_t i = 0; i < size(); ++i) table->Put(full->entries[i].Get(), i);
    tables_.push_back(std::move(table));
  } catch (const std::bad_alloc&) {
    return false;
  }
  const MoveVersion::Move move(version_);
  table_.store(tables_.back().get(), std::memory_order_release);
  size_bytes_.fetch_add(taken.bytes(), std::memory_order_relaxed);
  taken.Detach();
  return true;
}

bool FalsePositiveList::TakeOff(const KeyHash& hash) noexcept {
  Table* const table = table_.load(std::memory_order_relaxed);
  const uint32_t slot = Find(table, hash);
  if (slot == kNoSlot) return false;
  const MoveVersion::Move move(version_);
  const uint32_t index = Table::IndexOf(table->PlaceIn(slot));
  const uint32_t last = size() - 1;
  table->FreeSlot(slot);
  if (index != last) {
    const KeyHash moved = table->entries[last].Get();
    const uint32_t slot_of_moved = table->SlotOf(moved);
    table->entries[index].Set(moved);
    table->places[slot_of_moved].store(Table::Place(moved, index), std::memory_order_release);
  }
  size_.store(last, std::memory_order_release);
  return true;
}

void FalsePositiveList::CopyTo(std::span<KeyHash> out) const {
  assert(out.size() == size());
  const Table* const table = table_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < out.size(); ++i) out[i] = table->entries[i].Get();
}

}  // namespace bitsieve::core
