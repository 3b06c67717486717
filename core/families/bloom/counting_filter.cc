#include "core/families/bloom/counting_filter.h"

#include "core/families/bloom/bloom_types.h"

namespace bitsieve::core {

const ChainType& CountingFilter::chain_type() const { return kCountingChain; }

CountingBloom* CountingFilter::OldestHolder(const KeyHash& hash) const {
  CountingBloom* oldest = nullptr;
  for (SubFilter* sub_filter = newest(); sub_filter != nullptr; sub_filter = sub_filter->older()) {
    auto* const counters = static_cast<CountingBloom*>(sub_filter);
    if (counters->Contains(hash)) oldest = counters;
  }
  return oldest;
}

size_t CountingFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) {
  for (size_t i = 0; i < hashes.size(); ++i) {
    outcomes[i] = AddOne(hashes[i], refusal);
    if (outcomes[i] == AddOutcome::kFull) return i + 1;
  }
  return hashes.size();
}

AddOutcome CountingFilter::AddOne(const KeyHash& hash, AddOutcome& refusal) {
  CountingBloom* const holder = OldestHolder(hash);
  if (holder == nullptr && newest()->Room() == 0) {
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
  return holder != nullptr ? AddOutcome::kPresent : AddOutcome::kAdded;
}

bool CountingFilter::RemoveOne(const KeyHash& hash) {
  CountingBloom* const holder = OldestHolder(hash);
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
    const CountingBloom* const holder = OldestHolder(hashes[i]);
    counts[i] = holder == nullptr ? 0 : holder->Count(hashes[i]);
  }
}

}  // namespace bitsieve::core
