#include "core/families/cuckoo/cuckoo_table.h"

#include <array>
#include <cassert>
#include <new>
#include <vector>

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
    : shape_(shape),
      multiple_(older == nullptr ? shape.buckets : shape.buckets / older->shape_.buckets),
      first_bits_(older == nullptr ? shape.fingerprint_bits : older->first_bits_),
      memory_(std::move(memory)),
      slots_(memory_.data(), shape.fingerprint_bits, shape.bucket_size) {
  assert(older == nullptr || shape.buckets % older->shape_.buckets == 0);
  assert(older == nullptr || shape.fingerprint_bits >= older->shape_.fingerprint_bits);
}

double CuckooTable::EstimatedRate() const {
  const double load = static_cast<double>(items()) / static_cast<double>(shape_.Slots());
  return CuckooRate(shape_.fingerprint_bits, shape_.bucket_size, load);
}

// Computes the partner as Refine does, but from the last digit to the first.
uint64_t CuckooTable::PartnerOf(uint64_t bucket, uint64_t fingerprint) const {
  const uint64_t first = std::max<uint64_t>(1, fingerprint >> (shape_.fingerprint_bits - first_bits_));
  uint64_t sum = MultiplyHigh(SumOf(first), shape_.buckets);
  uint64_t partner = 0;
  uint64_t scale = 1;
  const CuckooTable* table = this;
  for (; table->older() != nullptr; table = table->older()) {
    const uint64_t m = table->multiple_;
    partner += scale * Subtract(sum % m, bucket % m, m);
    scale *= m;
    sum /= m;
    bucket /= m;
  }
  return partner + scale * Subtract(sum, bucket, table->multiple_);
}

uint32_t CuckooTable::Count(const CuckooPair& pair, uint64_t fingerprint) const {
  const uint32_t count = slots_.Count(pair.bucket, fingerprint);
  return pair.partner == pair.bucket ? count : count + slots_.Count(pair.partner, fingerprint);
}

// The first slot mostly shows that they are not.
bool CuckooTable::IsSaturated(const CuckooPair& pair, uint64_t fingerprint) const {
  for (uint32_t slot = 0; slot < shape_.bucket_size; ++slot) {
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
    const uint32_t slot = slots_.Find(bucket, 0);
    if (slot == PackedBuckets::kNone) continue;
    Put(bucket, slot, fingerprint);
    CountItems(1);
    return true;
  }
  if (!InsertByMoving(pair, fingerprint, max_iterations, version)) return false;
  CountItems(1);
  return true;
}

// A bucket that the search may come to, by moving the fingerprint that lies in `slot` of the bucket of step `from`.
struct CuckooTable::Step {
  static constexpr uint32_t kStart = UINT32_MAX;

  uint64_t bucket;
  uint32_t from;
  uint32_t slot;
};

// The steps of a search. A few are enough nearly always; a long search allocates.
class CuckooTable::Steps {
 public:
  Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  size_t size() const { return size_; }
  const Step* data() const { return data_; }
  const Step& operator[](size_t i) const { return data_[i]; }
  void push_back(const Step& step) {
    if (size_ < few_.size()) {
      few_[size_++] = step;
      return;
    }
    if (many_.empty()) many_.assign(few_.begin(), few_.end());
    many_.push_back(step);
    data_ = many_.data();
    ++size_;
  }

 private:
  std::array<Step, 128> few_;
  std::vector<Step> many_;          // all of them, if there are more
  const Step* data_ = few_.data();  // where they are
  size_t size_ = 0;
};

// A search for which there is no memory has found nothing.
bool CuckooTable::InsertByMoving(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations,
                                 MoveVersion& version) {
  try {
    return SearchAndMove(pair, fingerprint, max_iterations, version);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool CuckooTable::SearchAndMove(const CuckooPair& pair, uint64_t fingerprint, uint32_t max_iterations,
                                MoveVersion& version) {
  Steps steps;
  steps.push_back({pair.bucket, Step::kStart, 0});
  if (pair.partner != pair.bucket) steps.push_back({pair.partner, Step::kStart, 0});
  const size_t most = steps.size() + max_iterations;
  // No way leads through a bucket twice: its moves would then not be those that were looked at.
  const auto leads_through = [&](uint32_t step, uint64_t bucket) {
    while (step != Step::kStart && steps[step].bucket != bucket) step = steps[step].from;
    return step != Step::kStart;
  };
  for (uint32_t at = 0; at < steps.size(); ++at) {
    const uint64_t bucket = steps[at].bucket;
    if (const uint32_t free = slots_.Find(bucket, 0); free != PackedBuckets::kNone) {
      const MoveVersion::Move move(version);
      MoveAlong(steps.data(), at, free, fingerprint);
      return true;
    }
    for (uint32_t slot = 0; slot < shape_.bucket_size && steps.size() < most; ++slot) {
      const uint64_t next = PartnerOf(bucket, slots_.Get(bucket, slot));
      if (leads_through(at, next)) continue;
      __builtin_prefetch(slots_.AddressOf(next));
      steps.push_back({next, at, slot});
    }
  }
  return false;
}

// From the free slot back to the start, so that each fingerprint is moved into a slot that is free.
void CuckooTable::MoveAlong(const Step* steps, uint32_t last, uint32_t free_slot, uint64_t fingerprint) {
  uint32_t at = last;
  while (steps[at].from != Step::kStart) {
    const Step& step = steps[at];
    Put(step.bucket, free_slot, slots_.Get(steps[step.from].bucket, step.slot));
    free_slot = step.slot;
    at = step.from;
  }
  Put(steps[at].bucket, free_slot, fingerprint);
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
  for (uint64_t bucket = 0; bucket < shape_.buckets; ++bucket) {
    items += shape_.bucket_size - slots_.Count(bucket, 0);
  }
  items_.store(items, std::memory_order_relaxed);
}

}  // namespace bitsieve::core
