#include "core/filters/link.h"

#include <algorithm>

#include "core/filters/blocked_bloom.h"
#include "core/filters/classic_bloom.h"

namespace bitsieve::core {

uint64_t Link::Reserve(uint64_t wanted) {
  uint64_t reserved = reserved_.load(std::memory_order_relaxed);
  uint64_t granted;
  do {
    granted = std::min(wanted, shape_.capacity - reserved);
    if (granted == 0) return 0;
  } while (!reserved_.compare_exchange_weak(reserved, reserved + granted, std::memory_order_relaxed));
  return granted;
}

void Link::Commit(uint64_t reserved, const LinkProgress& progress) {
  if (progress.bits_set != 0) set_bits_.fetch_add(progress.bits_set, std::memory_order_relaxed);
  if (progress.added != 0) items_.fetch_add(progress.added, std::memory_order_release);
  if (progress.added != reserved) reserved_.fetch_sub(reserved - progress.added, std::memory_order_relaxed);
}

void Link::Restore(uint64_t items, uint64_t set_bits) {
  reserved_.store(items, std::memory_order_relaxed);
  items_.store(items, std::memory_order_relaxed);
  set_bits_.store(set_bits, std::memory_order_relaxed);
}

LinkShape LinkShapeFor(FilterKind kind, uint64_t capacity, double error_rate) {
  switch (kind) {
    case FilterKind::kClassic:
      return ClassicBloom::ShapeFor(capacity, error_rate);
    case FilterKind::kBlocked:
      return BlockedBloom::ShapeFor(capacity, error_rate);
    case FilterKind::kWindow:
      break;  // made of generations, not of links
  }
  __builtin_unreachable();
}

bool IsValid(const LinkShape& shape) {
  if (shape.capacity == 0 || !(shape.error_rate > 0 && shape.error_rate < 1)) return false;
  switch (shape.kind) {
    case FilterKind::kClassic:
      return ClassicBloom::IsValidShape(shape);
    case FilterKind::kBlocked:
      return BlockedBloom::IsValidShape(shape);
    case FilterKind::kWindow:
      break;
  }
  return false;
}

Result<std::unique_ptr<Link>> MakeLink(const LinkShape& shape, MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(shape.SizeBytes(), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  if (shape.kind == FilterKind::kClassic) return std::make_unique<ClassicBloom>(shape, std::move(*memory));
  return std::make_unique<BlockedBloom>(shape, std::move(*memory));
}

}  // namespace bitsieve::core
