// name_table.h: a hash table of names, each with its filter and its expiry, made for millions of small ones: an entry
// is one allocation, which ends with the name, and the table holds pointers to entries. Chains of entries hang from
// buckets, as many as there are entries or more. When buckets double, the entries move to the new ones a few at each
// insertion, so that none takes longer the more names there are; their hashes are worked out again.
// Memory is taken from the budget of the name's quota. Thread-compatible.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/keyspace.h"
#include "core/hash/key_hash.h"
#include "server/keyspace/quotas.h"

namespace bitsieve::server {

// Where the snapshots have a small filter with its name: a pack, by the number that the writer of snapshots gave it,
// and a record of it. It ends when the name gets another meaning; whether the filter's content changed since is not
// known here.
struct SavedPlace {
  static constexpr uint32_t kMaxPacks = (1U << 30) - 1;
  static constexpr uint32_t kMaxRecords = 1U << 16;  // of one pack

  uint32_t pack = 0;  // 0: nowhere
  uint32_t record = 0;

  bool operator==(const SavedPlace&) const = default;
};

struct Entry {
  commands::FilterPtr filter;
  int64_t expires_ms = 0;  // 0: never

  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_bytes_}; }
  // Returns the stamp of the last change of what the name means: see NameState.
  uint64_t stamp() const { return stamp_and_pack_ >> kPackHighBits; }
  SavedPlace saved() const {
    const uint64_t high = stamp_and_pack_ & ((uint64_t{1} << kPackHighBits) - 1);
    return {static_cast<uint32_t>(high << 16 | pack_and_record_ >> 16), pack_and_record_ & 0xFFFF};
  }
  // The name means something else now: it is saved nowhere.
  void SetStamp(uint64_t stamp) {
    stamp_and_pack_ = stamp << kPackHighBits;
    pack_and_record_ = 0;
  }
  // Pack and record are within SavedPlace's limits.
  void SetSaved(SavedPlace place) {
    stamp_and_pack_ = stamp() << kPackHighBits | place.pack >> 16;
    pack_and_record_ = place.pack << 16 | place.record;
  }
  Entry* next() const { return next_; }  // in its bucket
  Quotas::Number quota() const { return quota_; }

  // Gives the memory back.
  struct Deleter {
    Quotas* quotas = nullptr;
    void operator()(Entry* entry) const {
      const uint64_t bytes = BudgetBytes(entry->name_bytes_);
      core::MemoryBudget& memory = quotas->MemoryOf(entry->quota());
      entry->~Entry();
      ::operator delete(entry);
      memory.GiveBack(bytes);
    }
  };

  // Returns the bytes that an entry takes from the budget.
  static uint64_t BudgetBytes(size_t name_bytes) { return commands::kNameOverheadBytes + name_bytes; }

 private:
  friend class NameTable;
  Entry(size_t name_bytes, Quotas::Number quota)
      : name_bytes_(static_cast<uint32_t>(name_bytes)), quota_(quota & Quotas::kMax) {}

  // A server may hold millions: 50 bits of the stamp, of which a million a second take 35 years, 30 of the pack, 16 of
  // the record.
  static constexpr int kPackHighBits = 14;
  uint64_t stamp_and_pack_ = 0;
  uint32_t pack_and_record_ = 0;
  uint32_t name_bytes_ : 21;
  Quotas::Number quota_ : 11;
  static_assert(commands::kMaxNameBytes < 1 << 21 && Quotas::kMax == (1 << 11) - 1);
  Entry* next_ = nullptr;
};

static_assert(sizeof(Entry) == commands::kNameEntryBytes && commands::kNameEntryBytes == 40,
              "with a name of up to 16 bytes it takes 56, which malloc hands out without waste");

// An entry that is in no table.
using EntryPtr = std::unique_ptr<Entry, Entry::Deleter>;

class NameTable {
 public:
  NameTable() = default;
  NameTable(NameTable&& other) noexcept { swap(other); }
  NameTable& operator=(NameTable&& other) noexcept {
    swap(other);
    return *this;
  }
  ~NameTable() {
    for (const auto* buckets : {&before_, &buckets_}) {
      for (size_t i = 0; i < buckets->size(); ++i) {
        LoadAhead(*buckets, i);
        for (Entry* first = (*buckets)[i]; first != nullptr;) deleter_(std::exchange(first, first->next_));
      }
    }
  }
  // Called before the first entry, with the quotas that all entries take their memory from, and the seed of all hashes.
  void Init(Quotas& quotas, uint64_t seed) {
    deleter_.quotas = &quotas;
    seed_ = seed;
  }

  // Null if the budget refuses. May throw std::bad_alloc. A name has at most kMaxNameBytes.
  static EntryPtr Make(std::string_view name, Quotas& quotas) {
    const Quotas::Number quota = quotas.NumberOf(name);
    core::MemoryReservation bytes =
        core::MemoryReservation::TryTake(quotas.MemoryOf(quota), Entry::BudgetBytes(name.size()));
    if (!bytes.held()) return nullptr;
    void* const room = ::operator new(sizeof(Entry) + name.size());
    EntryPtr entry(new (room) Entry(name.size(), quota), Entry::Deleter{&quotas});
    bytes.Detach();
    std::memcpy(static_cast<char*>(room) + sizeof(Entry), name.data(), name.size());
    return entry;
  }

  // Returns the hash by which a name finds its bucket.
  static uint64_t HashOf(std::string_view name, uint64_t seed) { return core::HashItem(name, seed).high; }

  size_t size() const { return size_; }
  // Null if there is none. The hash is the name's.
  Entry* Find(std::string_view name, uint64_t hash) const {
    if (buckets_.empty()) return nullptr;
    Entry* entry = Bucket(hash);
    while (entry != nullptr && entry->name() != name) entry = entry->next_;
    return entry;
  }
  // Starts loading what Find and Insert of this hash look at.
  void Prefetch(uint64_t hash) const {
    if (!buckets_.empty()) __builtin_prefetch(&Bucket(hash));
  }
  // Makes room for `entries` in all; called before the first one. May throw std::bad_alloc.
  void Reserve(size_t entries) {
    if (buckets_.empty() && entries > kFewest) buckets_.resize(std::bit_ceil(entries));
  }
  // Makes room for one more entry. May throw std::bad_alloc, and has done nothing then.
  void MakeRoom() {
    if (size_ < buckets_.size()) return;
    std::vector<Entry*> more(std::max(kFewest, 2 * buckets_.size()));  // a power of two
    Move(before_.size());  // nothing, but after entries went without others coming
    before_ = std::exchange(buckets_, std::move(more));
    moved_ = 0;
  }
  // There is room, and no entry of the name. It stays where it is for as long as it is in the table.
  void Insert(EntryPtr entry, uint64_t hash) noexcept {
    constexpr size_t kMovedAtATime = 2;  // all are, when half of the new buckets' entries have come
    Move(kMovedAtATime);
    Hang(*entry.release(), Bucket(hash));
    ++size_;
  }
  // Takes out an entry that is there.
  EntryPtr Extract(Entry* entry, uint64_t hash) noexcept {
    Entry** link = &Bucket(hash);
    while (*link != entry) link = &(*link)->next_;
    *link = std::exchange(entry->next_, nullptr);
    --size_;
    return EntryPtr(entry, deleter_);
  }

  // Calls visit(Entry&) for all, until it returns true; returns that entry, or null.
  template <class Visit>
  Entry* FindIf(const Visit& visit) const {
    for (const auto* buckets : {&before_, &buckets_}) {
      for (size_t i = 0; i < buckets->size(); ++i) {
        LoadAhead(*buckets, i);
        for (Entry* entry = (*buckets)[i]; entry != nullptr; entry = entry->next_) {
          if (visit(*entry)) return entry;
        }
      }
    }
    return nullptr;
  }
  template <class Visit>
  void ForEach(const Visit& visit) const {
    FindIf([&](Entry& entry) {
      visit(entry);
      return false;
    });
  }

  void swap(NameTable& other) noexcept {
    buckets_.swap(other.buckets_);
    before_.swap(other.before_);
    std::swap(moved_, other.moved_);
    std::swap(size_, other.size_);
    std::swap(deleter_, other.deleter_);
    std::swap(seed_, other.seed_);
  }

 private:
  static constexpr size_t kFewest = 8;

  // For a walk that is at this bucket: entries and filters lie anywhere in memory.
  static void LoadAhead(const std::vector<Entry*>& buckets, size_t at) {
    constexpr size_t kFilters = 8, kEntries = 16;
    if (at + kEntries < buckets.size()) __builtin_prefetch(buckets[at + kEntries]);
    const Entry* const ahead = at + kFilters < buckets.size() ? buckets[at + kFilters] : nullptr;
    if (ahead != nullptr) __builtin_prefetch(ahead->filter.get());
  }

  static size_t IndexIn(const std::vector<Entry*>& buckets, uint64_t hash) { return hash & (buckets.size() - 1); }
  Entry* const& Bucket(uint64_t hash) const {
    if (!before_.empty()) {
      const size_t index = IndexIn(before_, hash);
      if (index >= moved_) return before_[index];
    }
    return buckets_[IndexIn(buckets_, hash)];
  }
  Entry*& Bucket(uint64_t hash) { return const_cast<Entry*&>(std::as_const(*this).Bucket(hash)); }

  static void Hang(Entry& entry, Entry*& bucket) { entry.next_ = std::exchange(bucket, &entry); }
  // Moves the entries of the next `buckets` of the old buckets.
  void Move(size_t buckets) noexcept {
    if (before_.empty()) return;
    for (const size_t end = std::min(before_.size(), moved_ + buckets); moved_ < end; ++moved_) {
      for (Entry* entry = std::exchange(before_[moved_], nullptr); entry != nullptr;) {
        Entry& moving = *std::exchange(entry, entry->next_);
        Hang(moving, buckets_[IndexIn(buckets_, HashOf(moving.name(), seed_))]);
      }
    }
    if (moved_ == before_.size()) before_ = {};
  }

  std::vector<Entry*> buckets_;
  std::vector<Entry*> before_;  // the buckets that were, while entries are still moving
  size_t moved_ = 0;            // of those
  size_t size_ = 0;
  Entry::Deleter deleter_;
  uint64_t seed_ = 0;
};

}  // namespace bitsieve::server
