#include "core/families/window/generation.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/memory/memory_image.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kGroupBytes = Generation::kGroupLines * kLineBytes;

uint64_t GroupsOf(const SubFilterShape& shape) { return (shape.SizeBytes() + kGroupBytes - 1) / kGroupBytes; }

uint64_t TagBytes(const SubFilterShape& shape) {
  return (GroupsOf(shape) * sizeof(uint32_t) + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// Words, relaxed: lookups may be reading them. Who may rely on them being clear learns it from the group's tag.
void ClearWords(std::byte* from, uint64_t bytes) {
  auto* words = reinterpret_cast<uint64_t*>(from);
  for (uint64_t i = 0; i < bytes / sizeof(uint64_t); ++i) __atomic_store_n(words + i, 0, __ATOMIC_RELAXED);
}

}  // namespace

Generation::Generation(const SubFilterShape& shape, BitMemory bits, BitMemory tags, MemoryReservation overhead)
    : bits_(shape, std::move(bits)), tags_(std::move(tags)), overhead_(std::move(overhead)), groups_(GroupsOf(shape)) {}

uint64_t Generation::TotalBytes(const SubFilterShape& shape) {
  return shape.SizeBytes() + TagBytes(shape) + sizeof(Generation);
}

Result<std::unique_ptr<Generation>> Generation::Make(const SubFilterShape& shape, MemoryBudget& budget) {
  MemoryReservation overhead = MemoryReservation::TryTake(budget, sizeof(Generation));
  if (!overhead.held()) return Fail(ErrorCode::kOutOfMemory, "cannot allocate memory for a generation of a window");
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

AddProgress Generation::Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added) {
  const uint32_t round = dirty_round_.load(std::memory_order_relaxed);
  if (round != 0 && !Full()) {
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (skip[i] == 0) CleanLines(hashes[i], round);
    }
  }
  const AddProgress progress = bits_.Add(hashes, skip, added);
  if (round != 0) Sweep(progress.added * kSweptGroups, round);
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
  bits_.memory().BeforeWrite(offset);
  ClearWords(bits_.memory().data() + offset, bytes);
  tags_.BeforeWrite(group * sizeof(uint32_t));
  __atomic_store_n(tag(group), round, __ATOMIC_RELEASE);
}

void Generation::Sweep(uint64_t groups, uint32_t round) {
  const uint64_t end = swept_ + std::min(groups, groups_ - swept_);
  for (; swept_ < end; ++swept_) Clean(swept_, round);
  if (swept_ == groups_) dirty_round_.store(0, std::memory_order_release);
}

void Generation::BeginRound() {
  bits_.Restore(0, 0);
  swept_ = 0;
  dirty_round_.store(++last_round_, std::memory_order_release);
}

// The bits of one moment, seen through the tags of the same moment.
class Generation::Image final : public ImagePart {
 public:
  Image(Generation& generation, const ImagePool& pool)
      : round_(generation.dirty_round_.load(std::memory_order_relaxed)),
        tag_bytes_(round_ == 0 ? 0 : generation.tags_.size_bytes()),
        bits_(generation.bits_.memory(), generation.bits_.memory().size_bytes(), pool),
        tags_(generation.tags_, tag_bytes_, pool) {}

  Status Read(uint64_t offset, std::span<std::byte> out) override {
    if (Status status = bits_.Read(offset, out); !status || round_ == 0) return status;
    while (!out.empty()) {
      const size_t count = std::min<uint64_t>(out.size(), kGroupBytes - offset % kGroupBytes);
      const Result<uint32_t> tag = TagOf(offset / kGroupBytes);
      if (!tag) return tl::unexpected(tag.error());
      if (*tag != round_) std::memset(out.data(), 0, count);
      offset += count;
      out = out.subspan(count);
    }
    return {};
  }
  void GiveUp() override {
    bits_.GiveUp();
    tags_.GiveUp();
  }
  void Close() override {
    bits_.Close();
    tags_.Close();
  }

 private:
  static constexpr uint64_t kTags = 1024;  // read at a time, since a group may be requested more than once

  Result<uint32_t> TagOf(uint64_t group) {
    if (const uint64_t first = group / kTags * kTags; first != first_) {
      const uint64_t offset = first * sizeof(uint32_t);
      const auto block = std::as_writable_bytes(std::span(block_));
      const Status status = tags_.Read(offset, block.first(std::min(block.size(), tag_bytes_ - offset)));
      if (!status) return tl::unexpected(status.error());
      first_ = first;
    }
    return block_[group - first_];
  }

  const uint32_t round_;
  const uint64_t tag_bytes_;
  MemoryImage bits_;
  MemoryImage tags_;
  std::array<uint32_t, kTags> block_{};
  uint64_t first_ = UINT64_MAX;  // the group of the first tag in it
};

std::unique_ptr<ImagePart> Generation::Capture(const ImagePool& pool) { return std::make_unique<Image>(*this, pool); }

}  // namespace bitsieve::core
