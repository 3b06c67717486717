#include "core/families/ribbon/hash_set.h"

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include "core/base/backoff.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kFirstPieceBytes = 4096;
constexpr uint64_t kLargestPieceBytes = 2 << 20;
constexpr uint64_t kMaxEntriesPerSegment = 64;  // of the directory

}  // namespace

uint32_t HashSet::Segment::Depth() const {
  return 63 - static_cast<uint32_t>(std::countr_zero(prefix.load(std::memory_order_acquire)));
}

bool HashSet::Segment::Owns(uint64_t hash) const {
  const uint64_t mine = prefix.load(std::memory_order_acquire);
  return (hash ^ mine) >> std::countr_zero(mine) >> 1 == 0;
}

// Acquire: the version is looked at after the slots. The segment is never full, so there is an end.
bool HashSet::Segment::Holds(uint64_t hash) const {
  for (uint32_t slot = Home(hash);; slot = slot + 1 == kSlots ? 0 : slot + 1) {
    const uint64_t there = slots[slot].load(std::memory_order_acquire);
    if (there == hash) return true;
    if (there == 0) return false;
  }
}

// Release: a reader that sees the hash sees a version that was made odd before.
void HashSet::Segment::Put(uint64_t hash) {
  uint32_t slot = Home(hash);
  while (slots[slot].load(std::memory_order_relaxed) != 0) slot = slot + 1 == kSlots ? 0 : slot + 1;
  slots[slot].store(hash, std::memory_order_release);
  ++count;
}

Result<std::unique_ptr<HashSet>> HashSet::Make(MemoryBudget& budget) {
  std::unique_ptr<HashSet> set(new HashSet(budget));
  Segment* segment = nullptr;
  if (!set->MakeRoomInLog() || (segment = set->MakeSegment()) == nullptr || !set->MakeDirectory(0)) {
    return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a filter's first items");
  }
  segment->prefix.store(uint64_t{1} << 63, std::memory_order_relaxed);
  Directory& directory = *set->directories_.back();
  directory.entries[0].store(segment, std::memory_order_relaxed);
  set->directory_.store(&directory, std::memory_order_release);
  return set;
}

bool HashSet::Contains(uint64_t hash) const {
  for (Backoff backoff;;) {
    const Segment& segment = *Find(hash);
    const uint32_t version = segment.version.load(std::memory_order_acquire);
    const bool right = version % 2 == 0 && segment.Owns(hash);
    if (segment.Holds(hash)) return true;
    if (right && segment.version.load(std::memory_order_acquire) == version) return false;
    if (version % 2 != 0) backoff.Pause();  // the inserter may have been put to sleep in the middle
  }
}

// The segments of random hashes fill evenly: just after most of them were divided they take 19 bytes per hash. The last
// pieces of log and segments may be nearly empty, and are as large as all before them up to a limit. Measured for up to
// 10^7 hashes: 33.5 bytes per hash near 50000, at most 1.1 MB above 28 per hash, 25.3 per hash beyond 4 million.
uint64_t HashSet::MostBytes(uint64_t hashes) {
  return 28 * hashes + std::min(8 * hashes, kLargestPieceBytes) + 2 * kFirstPieceBytes + kLineBytes;
}

HashSet::Outcome HashSet::Insert(uint64_t hash) {
  Segment* segment = Find(hash);
  if (segment->Holds(hash)) return Outcome::kPresent;
  if (!MakeRoomInLog()) return Outcome::kOutOfMemory;
  while (segment->count == kFull) {
    if (!Divide(*segment)) return Outcome::kOutOfMemory;
    segment = Find(hash);
  }
  ::new (Take(log_, sizeof hash)) uint64_t(hash);
  segment->Put(hash);
  size_.fetch_add(1, std::memory_order_release);
  return Outcome::kAdded;
}

void HashSet::Prefetch(uint64_t hash) const {
  const Segment* segment = Find(hash);
  __builtin_prefetch(segment);
  __builtin_prefetch(segment->slots + Segment::Home(hash));
}

// The directory and a segment together take part in a change that is never half seen: the new segment is complete
// before the directory leads to it; and a reader that was led to the old one finds its version odd, or another, or the
// hash outside of its prefix.
bool HashSet::Divide(Segment& segment) {
  const uint32_t depth = segment.Depth();
  if (depth == directories_.back()->depth && !DoubleDirectory()) return false;
  Segment* const upper = MakeSegment();
  if (upper == nullptr) return false;
  const uint64_t half = uint64_t{1} << (63 - depth);  // the bit that distinguishes the halves
  const uint64_t prefix = segment.prefix.load(std::memory_order_relaxed);

  std::array<uint64_t, kSlots> kept;
  uint32_t kept_count = 0;
  upper->prefix.store(prefix | half >> 1, std::memory_order_relaxed);
  for (const std::atomic<uint64_t>& slot : segment.slots) {
    const uint64_t hash = slot.load(std::memory_order_relaxed);
    if ((hash & half) != 0) {
      upper->Put(hash);
    } else if (hash != 0) {
      kept[kept_count++] = hash;
    }
  }

  segment.version.fetch_add(1, std::memory_order_acq_rel);
  const Directory& directory = *directories_.back();
  const uint64_t first = directory.IndexOf(prefix | half);
  const uint64_t count = uint64_t{1} << (directory.depth - depth - 1);
  for (uint64_t i = first; i < first + count; ++i) directory.entries[i].store(upper, std::memory_order_release);
  segment.prefix.store((prefix ^ half) | half >> 1, std::memory_order_release);
  for (std::atomic<uint64_t>& slot : segment.slots) slot.store(0, std::memory_order_release);
  segment.count = 0;
  for (uint32_t i = 0; i < kept_count; ++i) segment.Put(kept[i]);
  segment.version.fetch_add(1, std::memory_order_release);
  return true;
}

bool HashSet::MakeDirectory(uint32_t depth) {
  const uint64_t bytes = std::max<uint64_t>(kLineBytes, sizeof(std::atomic<Segment*>) << depth);
  auto directory = std::make_unique<Directory>();
  directories_.reserve(directories_.size() + 1);
  Result<BitMemory> memory = Allocate(bytes);
  if (!memory) return false;
  auto* entries = reinterpret_cast<std::atomic<Segment*>*>(memory->data());
  for (uint64_t i = 0; i < uint64_t{1} << depth; ++i) ::new (entries + i) std::atomic<Segment*>(nullptr);
  *directory = Directory{std::move(*memory), depth, entries};
  directories_.push_back(std::move(directory));
  return true;
}

bool HashSet::DoubleDirectory() {
  // Hashes chosen to share their top bits could make it grow without end; random ones stay far below this.
  if (uint64_t{1} << directories_.back()->depth > kMaxEntriesPerSegment * segment_count_) return false;
  if (!MakeDirectory(directories_.back()->depth + 1)) return false;
  const Directory& old = *directories_[directories_.size() - 2];
  Directory& doubled = *directories_.back();
  for (uint64_t i = 0; i < uint64_t{1} << doubled.depth; ++i) {
    doubled.entries[i].store(old.entries[i / 2].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  directory_.store(&doubled, std::memory_order_release);
  return true;
}

HashSet::Segment* HashSet::MakeSegment() {
  std::byte* const place = Take(segments_, kSegmentBytes);
  if (place == nullptr) return nullptr;
  ++segment_count_;
  return ::new (place) Segment{};
}

bool HashSet::MakeRoomInLog() {
  if (!log_.empty() && log_.back().used_bytes < log_.back().memory.size_bytes()) return true;
  std::byte* const place = Take(log_, sizeof(uint64_t));
  if (place == nullptr) return false;
  log_.back().used_bytes -= sizeof(uint64_t);
  return true;
}

std::byte* HashSet::Take(std::vector<Piece>& pieces, uint64_t bytes) {
  if (pieces.empty() || pieces.back().used_bytes == pieces.back().memory.size_bytes()) {
    const uint64_t last = pieces.empty() ? 0 : pieces.back().memory.size_bytes();
    const uint64_t wanted = std::clamp(pieces.size() < 2 ? last : 2 * last, kFirstPieceBytes, kLargestPieceBytes);
    if (pieces.size() == pieces.capacity()) pieces.reserve(2 * pieces.size() + 1);
    Result<BitMemory> memory = Allocate(wanted);
    if (!memory) return nullptr;
    pieces.push_back({std::move(*memory), 0});
  }
  Piece& piece = pieces.back();
  piece.used_bytes += bytes;
  return piece.memory.data() + piece.used_bytes - bytes;
}

Result<BitMemory> HashSet::Allocate(uint64_t bytes) {
  Result<BitMemory> memory = BitMemory::Allocate(bytes, budget_);
  if (memory) size_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return memory;
}

std::vector<std::span<const uint64_t>> HashSet::Log() const {
  std::vector<std::span<const uint64_t>> log;
  for (const Piece& piece : log_) {
    log.emplace_back(reinterpret_cast<const uint64_t*>(piece.memory.data()), piece.used_bytes / sizeof(uint64_t));
  }
  return log;
}

}  // namespace bitsieve::core
