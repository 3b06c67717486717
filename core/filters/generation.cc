#include "core/filters/generation.h"

#include <algorithm>
#include <cstring>

#include "core/bits/stripe_locks.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kGroupBytes = Generation::kGroupLines * kLineBytes;

uint64_t GroupsOf(const LinkShape& shape) { return (shape.SizeBytes() + kGroupBytes - 1) / kGroupBytes; }

uint64_t TagBytes(const LinkShape& shape) {
  return (GroupsOf(shape) * sizeof(uint32_t) + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// Words, relaxed: lookups may be reading them. Who may rely on them being clear learns it from the group's tag.
void ClearWords(std::byte* from, uint64_t bytes) {
  auto* words = reinterpret_cast<uint64_t*>(from);
  for (uint64_t i = 0; i < bytes / sizeof(uint64_t); ++i) __atomic_store_n(words + i, 0, __ATOMIC_RELAXED);
}

}  // namespace

Generation::Generation(const LinkShape& shape, BitMemory bits, BitMemory tags, MemoryReservation overhead)
    : bits_(shape, std::move(bits)), tags_(std::move(tags)), overhead_(std::move(overhead)), groups_(GroupsOf(shape)) {}

uint64_t Generation::TotalBytes(const LinkShape& shape) {
  return shape.SizeBytes() + TagBytes(shape) + sizeof(Generation);
}

Result<std::unique_ptr<Generation>> Generation::Make(const LinkShape& shape, MemoryBudget& budget) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(Generation));
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot take memory for a generation of a window");
  Result<BitMemory> bits = BitMemory::Allocate(shape.SizeBytes(), budget);
  if (!bits) return tl::unexpected(std::move(bits).error());
  Result<BitMemory> tags = BitMemory::Allocate(TagBytes(shape), budget);
  if (!tags) return tl::unexpected(std::move(tags).error());
  return std::unique_ptr<Generation>(new Generation(shape, std::move(*bits), std::move(*tags), std::move(overhead)));
}

bool Generation::LinesAreClean(const KeyHash& hash, uint32_t round) const {
  const BlockArray& array = bits_.array();
  const uint64_t first = FirstLine(array, hash);
  if (!IsClean(first / kGroupLines, round)) return false;
  return array.lines_per_item == 1 || IsClean(SecondLine(array, hash, first) / kGroupLines, round);
}

void Generation::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const {
  const uint32_t round = dirty_round_.load(std::memory_order_acquire);
  if (round == 0) return bits_.MayContain(hashes, present);
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (LinesAreClean(hashes[i], round)) bits_.MayContain(hashes.subspan(i, 1), present.subspan(i, 1));
  }
}

LinkProgress Generation::Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added) {
  const auto wanted = static_cast<uint64_t>(std::count(skip.begin(), skip.end(), 0));
  const uint64_t room = wanted == 0 ? 0 : bits_.Reserve(wanted);
  const uint32_t round = dirty_round_.load(std::memory_order_acquire);
  if (round != 0 && room != 0) {
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (skip[i] == 0) CleanLines(hashes[i], round);
    }
  }
  const LinkProgress progress = bits_.Add(hashes, skip, added, room);
  if (room != 0) bits_.Commit(room, progress);
  if (round != 0 && progress.added != 0) Sweep(progress.added * kSweptGroups, round);
  return progress;
}

void Generation::CleanLines(const KeyHash& hash, uint32_t round) {
  const BlockArray& array = bits_.array();
  const uint64_t first = FirstLine(array, hash);
  Clean(first / kGroupLines, round);
  if (array.lines_per_item == 2) Clean(SecondLine(array, hash, first) / kGroupLines, round);
}

void Generation::Clean(uint64_t group, uint32_t round) {
  if (IsClean(group, round)) return;
  const uint64_t offset = group * kGroupBytes;
  const uint64_t bytes = std::min(kGroupBytes, bits_.memory().size_bytes() - offset);
  std::byte* const lines = bits_.memory().data() + offset;
  const StripeGuard guard(StripeLocks::Of(lines));
  if (IsClean(group, round)) return;
  ClearWords(lines, bytes);
  __atomic_store_n(tag(group), round, __ATOMIC_RELEASE);
  cleared_lines_.fetch_add(bytes / kLineBytes, std::memory_order_relaxed);
}

void Generation::Sweep(uint64_t groups, uint32_t round) {
  const uint64_t first = sweep_next_.fetch_add(groups, std::memory_order_relaxed);
  if (first >= groups_) return;
  const uint64_t count = std::min(groups, groups_ - first);
  for (uint64_t i = 0; i < count; ++i) Clean(first + i, round);
  if (swept_.fetch_add(count, std::memory_order_acq_rel) + count == groups_) {
    dirty_round_.store(0, std::memory_order_release);
  }
}

void Generation::BeginRound() {
  bits_.Restore(0, 0);
  sweep_next_.store(0, std::memory_order_relaxed);
  swept_.store(0, std::memory_order_relaxed);
  dirty_round_.store(++last_round_, std::memory_order_release);
}

void Generation::CopyOut(uint64_t offset, std::span<std::byte> out) const {
  const uint32_t round = dirty_round_.load(std::memory_order_acquire);
  if (round == 0) return bits_.memory().CopyOut(offset, out);
  while (!out.empty()) {
    const size_t count = std::min<uint64_t>(out.size(), kGroupBytes - offset % kGroupBytes);
    // Asked before it is copied: what is clean stays so for the round.
    if (IsClean(offset / kGroupBytes, round)) {
      bits_.memory().CopyOut(offset, out.first(count));
    } else {
      std::memset(out.data(), 0, count);
    }
    offset += count;
    out = out.subspan(count);
  }
}

}  // namespace bitsieve::core
