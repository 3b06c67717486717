#include "cli/dedup/hash_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace bitsieve::cli {
namespace {

constexpr core::KeyHash kEmpty{0, 0};
constexpr core::KeyHash kInsteadOfEmpty{0, 1};  // stands for an item whose hash is zeros
constexpr uint64_t kMaxUsedOf5 = 4;
constexpr size_t kPrefetchAhead = 16;

}  // namespace

uint64_t HashTable::BytesFor(uint64_t items) {
  const uint64_t slots = items * 5 / kMaxUsedOf5 + 1;
  return (slots * sizeof(core::KeyHash) + core::kLineBytes - 1) / core::kLineBytes * core::kLineBytes;
}

core::Result<std::unique_ptr<HashTable>> HashTable::Make(uint64_t items, core::MemoryBudget& budget) {
  auto memory = core::BitMemory::Allocate(BytesFor(items), budget);
  if (!memory) return tl::unexpected(memory.error());
  return std::unique_ptr<HashTable>(new HashTable(std::move(*memory), budget));
}

HashTable::HashTable(core::BitMemory memory, core::MemoryBudget& budget)
    : budget_(budget), memory_(std::move(memory)), room_(slots().size() * kMaxUsedOf5 / 5) {}

std::span<core::KeyHash> HashTable::slots() const {
  return {reinterpret_cast<core::KeyHash*>(memory_.data()), memory_.size_bytes() / sizeof(core::KeyHash)};
}

bool HashTable::AddOne(core::KeyHash hash) {
  if (hash == kEmpty) hash = kInsteadOfEmpty;
  const std::span<core::KeyHash> all = slots();
  for (uint64_t at = core::MultiplyHigh(hash.low, all.size());; at = at + 1 == all.size() ? 0 : at + 1) {
    if (all[at] == hash) return false;
    if (all[at] != kEmpty) continue;
    all[at] = hash;
    ++items_;
    return true;
  }
}

core::Outcome<void, core::AddOutcome> HashTable::Add(std::span<const core::KeyHash> hashes,
                                                     std::span<core::AddOutcome> outcomes) {
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kPrefetchAhead < hashes.size()) {
      const std::span<core::KeyHash> all = slots();
      __builtin_prefetch(&all[core::MultiplyHigh(hashes[i + kPrefetchAhead].low, all.size())], 1);
    }
    if (items_ == room_ && !Grow()) return tl::unexpected(core::AddOutcome::kOutOfMemory);
    outcomes[i] = AddOne(hashes[i]) ? core::AddOutcome::kAdded : core::AddOutcome::kPresent;
  }
  return {};
}

bool HashTable::Grow() {
  auto larger = core::BitMemory::Allocate(BytesFor(items_ + items_ / 2 + 1), budget_);
  if (!larger) return false;
  const core::BitMemory before = std::exchange(memory_, std::move(*larger));
  room_ = slots().size() * kMaxUsedOf5 / 5;
  has_grown_ = true;
  const std::span old(reinterpret_cast<const core::KeyHash*>(before.data()),
                      before.size_bytes() / sizeof(core::KeyHash));
  items_ = 0;
  for (const core::KeyHash& hash : old) {
    if (hash != kEmpty) AddOne(hash);
  }
  return true;
}

core::Status HashTable::Encode(const Write& write) const {
  static_assert(sizeof(core::KeyHash) == 2 * sizeof(uint64_t));  // without gaps, and little-endian as bytes.h requires
  const std::span<const core::KeyHash> all = slots();
  for (size_t at = 0; at < all.size();) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(at);
    const auto first = std::find_if(begin, all.end(), [](const core::KeyHash& hash) { return hash != kEmpty; });
    const auto end = std::find(first, all.end(), kEmpty);
    const std::span run(first, end);
    at = static_cast<size_t>(end - all.begin());
    if (auto written = write({reinterpret_cast<const char*>(run.data()), run.size_bytes()}); !written) return written;
  }
  return {};
}

}  // namespace bitsieve::cli
