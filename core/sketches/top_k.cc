#include "core/sketches/top_k.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/hash/murmur_hash2.h"

namespace bitsieve::core {

namespace {

constexpr uint32_t kFingerprintSeed = 1919;

uint32_t FingerprintOf(std::string_view item) { return MurmurHash2(item, kFingerprintSeed); }

uint64_t BucketsOf(const TopKShape& shape) { return uint64_t{shape.width} * shape.depth; }

}  // namespace

Status TopK::Check(const TopKShape& shape) {
  if (shape.k == 0 || shape.width == 0 || shape.depth == 0) {
    return Fail(ErrorCode::kInvalidArgument, "k, width and depth are 1 or more");
  }
  if (!(shape.decay > 0 && shape.decay <= 1)) return Fail(ErrorCode::kInvalidArgument, "the decay is in (0, 1]");
  if (BucketsOf(shape) > kMaxBytes / sizeof(Bucket) || shape.k > kMaxBytes / sizeof(Entry)) {
    return Fail(ErrorCode::kInvalidArgument, "k, or width and depth together, are too large");
  }
  return {};
}

uint64_t TopK::BytesOf(const TopKShape& shape) {
  if (!Check(shape)) return UINT64_MAX;
  return BucketsOf(shape) * sizeof(Bucket) + shape.k * sizeof(Entry);
}

Result<TopK> TopK::Make(const TopKShape& shape) {
  if (Status status = Check(shape); !status) return tl::unexpected(std::move(status).error());
  return OrOutOfMemory([&]() -> Result<TopK> {
    State state{.shape = shape};
    state.buckets.resize(BucketsOf(shape));
    state.heap.resize(shape.k);
    return TopK(std::move(state));
  });
}

Result<TopK> TopK::FromState(State state) {
  if (Status status = Check(state.shape); !status) return tl::unexpected(std::move(status).error());
  if (state.buckets.size() != BucketsOf(state.shape) || state.heap.size() != state.shape.k) {
    return Fail(ErrorCode::kCorrupt, "the buckets or entries of a Top-K do not fit its numbers");
  }
  return TopK(std::move(state));
}

TopK::TopK(State state) : state_(std::move(state)) {
  for (uint32_t i = 0; i < kDecays; ++i) decays_[i] = std::pow(shape().decay, i);
}

// Beyond the table by as many of its last power, which loses some digits as RedisBloom does.
double TopK::DecayAt(uint32_t count) const {
  constexpr uint32_t kLast = kDecays - 1;
  if (count < kDecays) return decays_[count];
  return std::pow(decays_[kLast], count / kLast) * decays_[count % kLast];
}

double TopK::Draw() {
  uint64_t z = ++state_.draws * 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  constexpr double kUnit = 1.0 / 9007199254740992;  // 2^-53
  return static_cast<double>((z ^ z >> 31) >> 11) * kUnit;
}

const TopK::Bucket& TopK::BucketOf(std::string_view item, uint32_t row) const {
  return state_.buckets[uint64_t{row} * shape().width + MurmurHash2(item, row) % shape().width];
}

uint32_t TopK::AddToRow(Bucket& bucket, uint32_t fingerprint, uint32_t increment) {
  if (bucket.count == 0) {
    bucket = {fingerprint, increment};
    return increment;
  }
  if (bucket.fingerprint == fingerprint) return bucket.count += increment;
  for (uint32_t left = increment; left > 0; --left) {
    if (Draw() >= DecayAt(bucket.count)) continue;
    if (--bucket.count != 0) continue;
    bucket = {fingerprint, left};
    return left;
  }
  return 0;
}

std::optional<std::string> TopK::Add(std::string_view item, uint32_t increment) {
  const uint32_t least = state_.heap.front().count;
  const uint32_t fingerprint = FingerprintOf(item);
  uint32_t best = 0;
  for (uint32_t row = 0; row < shape().depth; ++row) {
    best = std::max(best, AddToRow(BucketOf(item, row), fingerprint, increment));
  }
  if (best < least) return std::nullopt;
  const uint32_t there = Find(item, fingerprint);
  if (there < shape().k) {
    state_.heap[there].count = best;
    SiftDown(there);
    return std::nullopt;
  }
  Entry expelled = std::exchange(state_.heap.front(), Entry{fingerprint, best, std::string(item)});
  SiftDown(0);
  if (expelled == Entry{}) return std::nullopt;
  return std::move(expelled.item);
}

uint32_t TopK::Find(std::string_view item, uint32_t fingerprint) const {
  for (uint32_t i = shape().k; i-- > 0;) {
    const Entry& entry = state_.heap[i];
    if (entry.fingerprint == fingerprint && entry.item == item) return i;
  }
  return shape().k;
}

// The first swap is also made on equal counts. Nothing is sifted up: the order is RedisBloom's, and may be broken.
void TopK::SiftDown(uint32_t index) {
  std::vector<Entry>& heap = state_.heap;
  bool swaps_equals = true;
  while (uint64_t{index} * 2 + 1 < heap.size()) {
    uint32_t child = index * 2 + 1;
    if (child + 1 < heap.size() && heap[child + 1].count < heap[child].count) ++child;
    if (heap[child].count > heap[index].count || (!swaps_equals && heap[child].count == heap[index].count)) return;
    std::swap(heap[index], heap[child]);
    index = child;
    swaps_equals = false;
  }
}

bool TopK::Contains(std::string_view item) const { return Find(item, FingerprintOf(item)) < shape().k; }

uint32_t TopK::Count(std::string_view item) const {
  const uint32_t fingerprint = FingerprintOf(item);
  const uint32_t least = Find(item, fingerprint) < shape().k ? state_.heap.front().count : 0;
  uint32_t count = 0;
  for (uint32_t row = 0; row < shape().depth; ++row) {
    const Bucket& bucket = BucketOf(item, row);
    if (bucket.fingerprint == fingerprint && bucket.count >= least) count = std::max(count, bucket.count);
  }
  return count;
}

std::vector<const TopK::Entry*> TopK::List() const {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : state_.heap) {
    if (entry.count != 0) sorted.push_back(&entry);
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Entry::count);
  return sorted;
}

}  // namespace bitsieve::core
