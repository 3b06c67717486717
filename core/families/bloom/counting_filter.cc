#include "core/families/bloom/counting_filter.h"

#include "core/families/bloom/bloom_types.h"

namespace bitsieve::core {

const ChainType& CountingFilter::chain_type() const { return kCountingChain; }

CountingBloom* CountingFilter::OldestHolder(const KeyHash& hash, SubFilter* first) {
  CountingBloom* oldest = nullptr;
  for (SubFilter* sub_filter = first; sub_filter != nullptr; sub_filter = sub_filter->older()) {
    auto* const counters = static_cast<CountingBloom*>(sub_filter);
    if (counters->Contains(hash)) oldest = counters;
  }
  return oldest;
}

size_t CountingFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) {
  constexpr size_t kAhead = 4;  // items whose counters are loaded meanwhile
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (i + kAhead < hashes.size()) newest()->PrefetchAll(hashes[i + kAhead]);
    outcomes[i] = AddOne(hashes[i], refusal);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

// Whether the newest sub-filter holds the item is found out by adding it there, where there is room for it in any case.
AddOutcome CountingFilter::AddOne(const KeyHash& hash, AddOutcome& refusal) {
  CountingBloom* const holder = OldestHolder(hash, newest()->older());
  if (holder == nullptr && newest()->Room() == 0 && !newest()->Contains(hash)) {
    if (!IsRefusal(refusal))
      refusal = UnlessMemoryIsRefused([this]() BITSIEVE_REQUIRES(writers()) { return MakeRoom(); });
    if (IsRefusal(refusal)) return refusal;
  }
  CountingBloom& sub_filter = holder != nullptr ? *holder : *newest();
  const CounterChange change = sub_filter.Raise(hash);
  if (change.changed) {
    sub_filter.CountChange(1, change.bits_set);
    BumpChangeCount();
  }
  return change.there ? AddOutcome::kPresent : AddOutcome::kAdded;
}

bool CountingFilter::RemoveOne(const KeyHash& hash) {
  CountingBloom* const holder = OldestHolder(hash, newest());
  if (holder == nullptr) return false;
  const CounterChange change = holder->Lower(hash);
  if (!change.changed) return false;
  // Never below 0 items, whatever wrong removals took.
  holder->CountChange(holder->items() == 0 ? 0 : UINT64_MAX, change.bits_set);
  BumpChangeCount();
  return true;
}

void CountingFilter::DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  for (size_t i = 0; i < hashes.size(); ++i) removed[i] = RemoveOne(hashes[i]) ? 1 : 0;
}

void CountingFilter::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const CountingBloom* const holder = OldestHolder(hashes[i], newest());
    counts[i] = holder == nullptr ? 0 : holder->Count(hashes[i]);
  }
}

}  // namespace bitsieve::core
