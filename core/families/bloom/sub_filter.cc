#include "core/families/bloom/sub_filter.h"

namespace bitsieve::core {

uint64_t BitSubFilter::UniteWith(const SubFilter& other, WordRange range) {
  const auto* const from = reinterpret_cast<const uint64_t*>(other.memory().data());
  return OrWords(range, [from](uint64_t i) { return __atomic_load_n(from + i, __ATOMIC_RELAXED); });
}

uint64_t BitSubFilter::Or(uint64_t first, std::span<const uint64_t> words) {
  return OrWords({first, first + words.size()}, [&](uint64_t i) { return words[i - first]; });
}

// Set bits are counted many words at a time, which some processors have instructions for.
template <class WordAt>
uint64_t BitSubFilter::OrWords(WordRange range, const WordAt& word_at) {
  auto* const words = reinterpret_cast<uint64_t*>(memory().data());
  const std::span changed(words + range.first, range.end - range.first);
  const uint64_t before = CountSetBits(std::as_bytes(changed));
  for (uint64_t i = range.first; i < range.end; ++i) {
    const uint64_t united = words[i] | word_at(i);
    if (united == words[i]) continue;
    memory().BeforeWrite(i * sizeof(uint64_t));
    __atomic_store_n(words + i, united, __ATOMIC_RELAXED);
  }
  return CountSetBits(std::as_bytes(changed)) - before;
}

void SubFilter::Restore(uint64_t items, uint64_t set_bits) {
  items_.store(items, std::memory_order_relaxed);
  set_bits_.store(set_bits, std::memory_order_relaxed);
}

bool IsValid(const SubFilterShape& shape) {
  return shape.capacity != 0 && shape.error_rate > 0 && shape.error_rate < 1 && shape.layout->is_valid(shape);
}

Result<std::unique_ptr<SubFilter>> MakeSubFilter(const SubFilterShape& shape, MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(shape.SizeBytes(), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return shape.layout->make(shape, std::move(*memory));
}

}  // namespace bitsieve::core
