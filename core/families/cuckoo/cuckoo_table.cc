#include "core/families/cuckoo/cuckoo_table.h"

#include <utility>

#include "core/families/cuckoo/cuckoo_search.h"
#include "core/families/cuckoo/cuckoo_sizing.h"

namespace bitsieve::core {

Result<std::unique_ptr<CuckooTable>> CuckooTable::Make(const CuckooShape& shape, const CuckooTable* older,
                                                       MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(shape.SizeBytes(), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return Of(shape, older, std::move(*memory), 0);
}

std::unique_ptr<CuckooTable> CuckooTable::Of(const CuckooShape& shape, const CuckooTable* older, BitMemory memory,
                                             uint64_t items) {
  std::unique_ptr<CuckooTable> table(new CuckooTable(shape, older, std::move(memory)));
  table->items_.store(items, std::memory_order_relaxed);
  return table;
}

CuckooTable::CuckooTable(const CuckooShape& shape, const CuckooTable* older, BitMemory memory)
    : geometry_(shape, older == nullptr ? nullptr : &older->geometry_),
      memory_(std::move(memory)),
      slots_(memory_.data(), shape.fingerprint_bits, shape.bucket_size) {}

double CuckooTable::EstimatedRate() const {
  const double load = static_cast<double>(items()) / static_cast<double>(shape().Slots());
  return CuckooRate(shape().fingerprint_bits, shape().bucket_size, load);
}

uint32_t CuckooTable::Count(const CuckooPair& pair, uint64_t fingerprint) const {
  const uint32_t count = slots_.Count(pair.bucket, fingerprint);
  return pair.partner == pair.bucket ? count : count + slots_.Count(pair.partner, fingerprint);
}

// The first slot mostly shows that they are not.
bool CuckooTable::IsSaturated(const CuckooPair& pair, uint64_t fingerprint) const {
  for (uint32_t slot = 0; slot < shape().bucket_size; ++slot) {
    if (slots_.Get(pair.bucket, slot) != fingerprint || slots_.Get(pair.partner, slot) != fingerprint) return false;
  }
  return true;
}

void CuckooTable::Put(uint64_t bucket, uint32_t slot, uint64_t fingerprint) {
  const uint64_t word = slots_.ByteOf(bucket, slot);
  memory_.BeforeWrite(word);
  memory_.BeforeWrite(word + sizeof(uint64_t));  // a slot may lie across two
  slots_.Set(bucket, slot, fingerprint);
}

bool CuckooTable::Insert(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations, MoveVersion& version) {
  for (const uint64_t bucket : {pair.bucket, pair.partner}) {
    const uint32_t slot = FreeSlot(bucket);
    if (slot == PackedBuckets::kNone) continue;
    Put(bucket, slot, fingerprint);
    CountItems(1);
    return true;
  }
  if (!InsertByMoving(pair, fingerprint, max_iterations, version)) return false;
  CountItems(1);
  return true;
}

// From the free slot back to the start, so that each fingerprint is moved into a slot that is free.
bool CuckooTable::InsertByMoving(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations,
                                 MoveVersion& version) {
  return SearchWay(*this, pair, max_iterations, [&](const CuckooWay& way) {
    const MoveVersion::Move move(version);
    const CuckooWay::Place free = way.ForEachMove([this](const CuckooWay::Place& from, const CuckooWay::Place& to) {
      Put(to.bucket, to.slot, slots_.Get(from.bucket, from.slot));
    });
    Put(free.bucket, free.slot, fingerprint);
  });
}

// The removal counts as a move, since another item of the same fingerprint may have been there all the time, first in
// this slot, then in another one that was added later.
bool CuckooTable::Remove(const CuckooPair& pair, uint64_t fingerprint, MoveVersion& version) {
  for (const uint64_t bucket : {pair.bucket, pair.partner}) {
    const uint32_t slot = slots_.Find(bucket, fingerprint);
    if (slot == PackedBuckets::kNone) continue;
    const MoveVersion::Move move(version);
    Put(bucket, slot, 0);
    CountItems(-1);
    return true;
  }
  return false;
}

void CuckooTable::Recount() {
  uint64_t items = 0;
  for (uint64_t bucket = 0; bucket < shape().buckets; ++bucket) {
    items += shape().bucket_size - slots_.Count(bucket, 0);
  }
  items_.store(items, std::memory_order_relaxed);
}

}  // namespace bitsieve::core
