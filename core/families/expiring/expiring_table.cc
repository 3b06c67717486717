#include "core/families/expiring/expiring_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/families/cuckoo/cuckoo_search.h"
#include "core/families/cuckoo/cuckoo_sizing.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

uint64_t ExpiringTable::SizeBytes(const CuckooShape& shape, const Epochs& epochs) {
  const uint64_t bytes = TagsOffset(shape, epochs) + Segments(shape) * sizeof(uint64_t);
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

Result<std::unique_ptr<ExpiringTable>> ExpiringTable::Make(const CuckooShape& shape, const Epochs& epochs,
                                                           const ExpiringTable* older, MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(SizeBytes(shape, epochs), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return std::unique_ptr<ExpiringTable>(new ExpiringTable(shape, epochs, older, std::move(*memory)));
}

ExpiringTable::ExpiringTable(const CuckooShape& shape, const Epochs& epochs, const ExpiringTable* older,
                             BitMemory memory)
    : geometry_(shape, older == nullptr ? nullptr : &older->geometry_),
      epochs_(epochs),
      max_live_(epochs.SlotsFor(shape.capacity)),
      fingerprint_mask_((uint64_t{1} << shape.fingerprint_bits) - 1),
      tags_offset_(TagsOffset(shape, epochs)),
      memory_(std::move(memory)),
      slots_(memory_.data(), shape.fingerprint_bits + epochs.number_bits(), kBucketSize, fingerprint_mask_),
      numbers_(memory_.data(), shape.fingerprint_bits + epochs.number_bits(), kBucketSize,
               uint64_t{epochs.numbers() - 1} << shape.fingerprint_bits),
      counts_(std::make_unique<uint64_t[]>(epochs.numbers())) {
  assert(shape.bucket_size == kBucketSize);
}

double ExpiringTable::RateWith(uint64_t live) const {
  const double load = static_cast<double>(live) / static_cast<double>(shape().Slots());
  return CuckooRate(shape().fingerprint_bits, kBucketSize, load);
}

ExpiringTable::Place ExpiringTable::FindLiveIn(const CuckooPair& pair, uint64_t fingerprint, uint64_t now) const {
  const PackedBuckets::Place first = slots_.FindInEither(pair.bucket, pair.partner, fingerprint);
  if (first.slot == PackedBuckets::kNone) return {};
  if (const Place place = LiveAt(first.bucket, first.slot, fingerprint, now); place.found()) return place;
  for (const uint64_t bucket : {pair.bucket, pair.partner}) {
    for (uint32_t slot = 0; slot < kBucketSize; ++slot) {
      const Place place = LiveAt(bucket, slot, fingerprint, now);
      if (place.found()) return place;
    }
  }
  return {};
}

void ExpiringTable::Advance(uint64_t now) {
  assert(now >= now_);
  sweeps_left_ = kSweepsPerChange;
  if (now == now_) return;
  now_ = now;
  live_ = LiveFrom(now);
}

uint64_t ExpiringTable::LiveFrom(uint64_t epoch) const {
  uint64_t live = 0;
  for (epoch = std::max(epoch, changed_); epoch <= changed_ + epochs_.per_ttl(); ++epoch) live += LiveIn(epoch);
  return live;
}

void ExpiringTable::Count(uint64_t epoch, int64_t more) {
  const uint64_t over = std::min<uint64_t>(now_ - changed_, epochs_.numbers());
  for (uint64_t i = 0; i < over; ++i) counts_[epochs_.NumberOf(changed_ + i)] = 0;
  changed_ = now_;
  counts_[epochs_.NumberOf(epoch)] += static_cast<uint64_t>(more);
  live_ += static_cast<uint64_t>(more);
}

uint32_t ExpiringTable::FreeSlot(uint64_t bucket) const {
  const uint32_t empty = slots_.Find(bucket, 0);
  if (empty != PackedBuckets::kNone) return empty;
  const uint64_t tag = TagOf(bucket);
  if (tag == now_) return PackedBuckets::kNone;
  for (uint32_t slot = 0; slot < kBucketSize; ++slot) {
    if (epochs_.Since(tag, NumberIn(slots_.Get(bucket, slot))) < now_) return slot;
  }
  return PackedBuckets::kNone;
}

void ExpiringTable::PrepareSegment(uint64_t bucket) {
  const uint64_t age = now_ - TagOf(bucket);
  if (age < epochs_.due_tag_age()) return;
  const bool must = age > epochs_.max_tag_age();
  if (!must && sweeps_left_ == 0) return;
  if (!must) --sweeps_left_;
  Sweep(bucket / kSegmentBuckets);
}

// Slots are looked at together for a few epochs, one by one for more.
bool ExpiringTable::MayHoldOver(uint64_t bucket, uint64_t first) const {
  constexpr uint64_t kFew = 2;
  if (now_ - first > kFew) return true;
  for (uint64_t epoch = first; epoch < now_; ++epoch) {
    if (numbers_.Find(bucket, SlotWith(0, epoch)) != PackedBuckets::kNone) return true;
  }
  return false;
}

void ExpiringTable::Sweep(uint64_t segment) {
  const uint64_t first = segment * kSegmentBuckets;
  const uint64_t end = std::min(first + kSegmentBuckets, shape().buckets);
  const uint64_t tag = TagOf(first);
  for (uint64_t bucket = first; bucket < end; ++bucket) {
    if (!MayHoldOver(bucket, tag)) continue;
    for (uint32_t slot = 0; slot < kBucketSize; ++slot) {
      const uint64_t value = slots_.Get(bucket, slot);
      if (value != 0 && epochs_.Since(tag, NumberIn(value)) < now_) Put(bucket, slot, 0);
    }
  }
  memory_.BeforeWrite(tags_offset_ + segment * sizeof(uint64_t));
  __atomic_store_n(this->tag(first), now_, __ATOMIC_RELEASE);
}

void ExpiringTable::Put(uint64_t bucket, uint32_t slot, uint64_t value) {
  const uint64_t word = slots_.ByteOf(bucket, slot);
  memory_.BeforeWrite(word);
  memory_.BeforeWrite(word + sizeof(uint64_t));  // a slot may lie across two
  slots_.Set(bucket, slot, value);
}

// A free slot may hold a fingerprint whose epoch is over. Lookups that see it half overwritten may take it for another
// one that is there; they cannot miss one for it.
bool ExpiringTable::Insert(const CuckooPair& pair, uint64_t fingerprint, uint64_t epoch, MoveVersion& version) {
  assert(epoch >= now_ && epoch <= now_ + epochs_.per_ttl());
  for (const uint64_t bucket : {pair.bucket, pair.partner}) {
    const uint32_t slot = FreeSlot(bucket);
    if (slot == PackedBuckets::kNone) continue;
    PrepareSegment(bucket);
    Put(bucket, slot, SlotWith(fingerprint, epoch));
    Count(epoch, 1);
    return true;
  }
  const bool found = SearchWay(*this, pair, kMaxIterations, [&](const CuckooWay& way) {
    way.ForEachBucket([this](uint64_t bucket) { PrepareSegment(bucket); });
    const MoveVersion::Move move(version);
    const CuckooWay::Place free = way.ForEachMove([this](const CuckooWay::Place& from, const CuckooWay::Place& to) {
      Put(to.bucket, to.slot, slots_.Get(from.bucket, from.slot));
    });
    Put(free.bucket, free.slot, SlotWith(fingerprint, epoch));
  });
  if (found) Count(epoch, 1);
  return found;
}

// Counts as a move, since a slot across two words can be seen half changed.
void ExpiringTable::Renew(const Place& place, uint64_t epoch, MoveVersion& version) {
  assert(epoch > place.epoch && epoch <= now_ + epochs_.per_ttl());
  PrepareSegment(place.bucket);
  const MoveVersion::Move move(version);
  Put(place.bucket, place.slot, SlotWith(FingerprintAt(place.bucket, place.slot), epoch));
  Count(place.epoch, -1);
  Count(epoch, 1);
}

// Counts as a move, as in CuckooTable::Remove.
void ExpiringTable::Remove(const Place& place, MoveVersion& version) {
  const MoveVersion::Move move(version);
  Put(place.bucket, place.slot, 0);
  Count(place.epoch, -1);
}

Status ExpiringTable::Restore(uint64_t now) {
  now_ = changed_ = now;
  for (uint64_t bucket = 0; bucket < shape().buckets; ++bucket) {
    const uint64_t tag = TagOf(bucket);
    if (tag > now) return CorruptBody("a segment of a table is of an epoch that has not begun");
    for (uint32_t slot = 0; slot < kBucketSize; ++slot) {
      const uint64_t value = slots_.Get(bucket, slot);
      if (value == 0) continue;
      if ((value & fingerprint_mask_) == 0) return CorruptBody("an empty slot of a table has an epoch");
      const uint64_t epoch = epochs_.Since(tag, NumberIn(value));
      if (epoch > now + epochs_.per_ttl()) return CorruptBody("an item of a table has a time beyond the time to live");
      if (epoch >= now) Count(epoch, 1);
    }
  }
  return {};
}

}  // namespace bitsieve::core
