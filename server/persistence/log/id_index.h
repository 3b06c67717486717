// id_index.h: an index from filter ids to the entries of their names, which a replay of the log looks up for each
// record. Ids are given in sequence, and most changes come in the order of ids as well, so neighbouring ids are stored
// side by side. Thread-compatible.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bitsieve::server {

struct Entry;

class IdIndex {
 public:
  size_t size() const { return size_; }
  // Returns null if there is none.
  Entry* Find(uint64_t id) const {
    const Slot* const slot = Locate(id);
    return slot == nullptr ? nullptr : slot->entry;
  }
  // Replaces what is there. The id is not 0. May throw std::bad_alloc.
  void Put(uint64_t id, Entry* entry) {
    if (Slot* const slot = Locate(id)) {
      slot->entry = entry;
      return;
    }
    Reserve(size_ + 1);
    Place({id, entry});
    ++size_;
  }
  void Erase(uint64_t id) {
    Slot* const slot = Locate(id);
    if (slot == nullptr) return;
    --size_;
    CloseGap(static_cast<size_t>(slot - slots_.data()));
  }
  void Reserve(size_t ids) {
    if (2 * ids <= slots_.size()) return;
    std::vector<Slot> before(std::bit_ceil(2 * ids + kGroup));
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.id != 0) Place(slot);
    }
  }
  void Clear() {
    slots_ = {};
    size_ = 0;
  }

 private:
  struct Slot {
    uint64_t id = 0;  // 0: free
    Entry* entry = nullptr;
  };
  static constexpr uint64_t kGroup = 8;  // ids that lie side by side
  static constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;

  // Returns the slot at which the search for an id begins; it continues with the slots that follow.
  size_t HomeOf(uint64_t id) const {
    const uint64_t group = (id / kGroup * kSpread) >> 32;
    return (group * kGroup + id % kGroup) & (slots_.size() - 1);
  }
  size_t After(size_t index) const { return (index + 1) & (slots_.size() - 1); }
  const Slot* Locate(uint64_t id) const {
    if (slots_.empty()) return nullptr;
    for (size_t i = HomeOf(id); slots_[i].id != 0; i = After(i)) {
      if (slots_[i].id == id) return &slots_[i];
    }
    return nullptr;
  }
  Slot* Locate(uint64_t id) { return const_cast<Slot*>(std::as_const(*this).Locate(id)); }
  void Place(const Slot& slot) {
    size_t i = HomeOf(slot.id);
    while (slots_[i].id != 0) i = After(i);
    slots_[i] = slot;
  }
  // Moves the slots that follow into the gap, except for those whose search begins after it.
  void CloseGap(size_t gap) {
    for (size_t i = After(gap); slots_[i].id != 0; i = After(i)) {
      const size_t mask = slots_.size() - 1;
      const size_t from_home = (i - HomeOf(slots_[i].id)) & mask;
      if (from_home < ((i - gap) & mask)) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = {};
  }

  std::vector<Slot> slots_;  // a power of two, at least twice as many as are taken
  size_t size_ = 0;
};

}  // namespace bitsieve::server
