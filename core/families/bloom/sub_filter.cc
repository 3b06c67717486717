#include "core/families/bloom/sub_filter.h"

namespace bitsieve::core {

AddProgress BitSubFilter::Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip,
                              std::span<uint8_t> added) {
  const AddProgress progress = DoAdd(hashes, skip, added, Room());
  if (progress.added != 0) CountChange(progress.added, progress.bits_set);
  return progress;
}

void SubFilter::CountChange(uint64_t items, uint64_t bits_set) {
  set_bits_.store(set_bits() + bits_set, std::memory_order_relaxed);
  items_.store(this->items() + items, std::memory_order_release);
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
