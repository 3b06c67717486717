// cuckoo_search.h: the search for the nearest free slot of a cuckoo table, breadth first, and the way to it: the moves
// that make room in one of an item's two buckets. The search changes nothing; the table makes the moves.
// Thread-compatible; the table's writer calls it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/families/cuckoo/cuckoo_geometry.h"
#include "core/memory/packed_buckets.h"

namespace bitsieve::core {

// The way from a free slot back to the bucket in which the search began.
class CuckooWay {
 public:
  // A bucket that the search came to, by moving the fingerprint that lies in `slot` of the bucket of step `from`.
  struct Step {
    static constexpr uint32_t kStart = UINT32_MAX;

    uint64_t bucket;
    uint32_t from;
    uint32_t slot;
  };
  struct Place {
    uint64_t bucket;
    uint32_t slot;
  };

  CuckooWay(const Step* steps, uint32_t last, uint32_t free_slot) : steps_(steps), last_(last), free_slot_(free_slot) {}

  // Calls visit(bucket) for each bucket that the moves change.
  template <class Visit>
  void ForEachBucket(const Visit& visit) const {
    for (uint32_t at = last_; at != Step::kStart; at = steps_[at].from) visit(steps_[at].bucket);
  }
  // Calls move(from, to) for each move, from the free slot on, so that each fingerprint is moved into a slot that is
  // free. Returns the place that is free in the end, in one of the buckets in which the search began.
  template <class Move>
  Place ForEachMove(const Move& move) const {
    Place free{steps_[last_].bucket, free_slot_};
    for (uint32_t at = last_; steps_[at].from != Step::kStart; at = steps_[at].from) {
      const Place source{steps_[steps_[at].from].bucket, steps_[at].slot};
      move(source, free);
      free = source;
    }
    return free;
  }

 private:
  const Step* steps_;
  uint32_t last_;
  uint32_t free_slot_;
};

// The steps of a search. A few are enough nearly always; a long search allocates.
class CuckooSteps {
 public:
  CuckooSteps() = default;
  CuckooSteps(const CuckooSteps&) = delete;
  CuckooSteps& operator=(const CuckooSteps&) = delete;

  size_t size() const { return size_; }
  const CuckooWay::Step* data() const { return data_; }
  const CuckooWay::Step& operator[](size_t i) const { return data_[i]; }
  void push_back(const CuckooWay::Step& step) {
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
  std::array<CuckooWay::Step, 128> few_;
  std::vector<CuckooWay::Step> many_;          // all of them, if there are more
  const CuckooWay::Step* data_ = few_.data();  // where they are
  size_t size_ = 0;
};

// Looks for the free slot that is nearest to the pair, in at most `max_iterations` buckets besides. Calls use(way) and
// returns true if there is one. Passes std::bad_alloc through: to a caller that grew instead, a replay of the same
// additions, for which there is memory, would give other content. `Table` has geometry() and shape(), and for a bucket
// FreeSlot(bucket), kNone if none is free, FingerprintAt(bucket, slot) and AddressOf(bucket).
template <class Table, class Use>
bool SearchWay(const Table& table, const CuckooPair& pair, uint32_t max_iterations, const Use& use) {
  using Step = CuckooWay::Step;
  CuckooSteps steps;
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
    if (const uint32_t free = table.FreeSlot(bucket); free != PackedBuckets::kNone) {
      use(CuckooWay(steps.data(), at, free));
      return true;
    }
    for (uint32_t slot = 0; slot < table.shape().bucket_size && steps.size() < most; ++slot) {
      const uint64_t next = table.geometry().PartnerOf(bucket, table.FingerprintAt(bucket, slot));
      if (leads_through(at, next)) continue;
      __builtin_prefetch(table.AddressOf(next));
      steps.push_back({next, at, slot});
    }
  }
  return false;
}

}  // namespace bitsieve::core
