#include "core/filters/link.h"

#include <cassert>

#include "core/filters/blocked_bloom.h"
#include "core/filters/classic_bloom.h"
#include "core/filters/counting_bloom.h"
#include "core/filters/redis_bloom.h"

namespace bitsieve::core {

LinkProgress Link::Add(std::span<const KeyHash> hashes, std::span<const uint8_t> skip, std::span<uint8_t> added) {
  const LinkProgress progress = DoAdd(hashes, skip, added, Room());
  if (progress.added != 0) CountChange(progress.added, progress.bits_set);
  return progress;
}

LinkProgress Link::DoAdd(std::span<const KeyHash>, std::span<const uint8_t>, std::span<uint8_t>, uint64_t) {
  assert(false && "links of this kind are added to one item at a time");
  __builtin_unreachable();
}

void Link::CountChange(uint64_t items, uint64_t bits_set) {
  set_bits_.store(set_bits() + bits_set, std::memory_order_relaxed);
  items_.store(this->items() + items, std::memory_order_release);
}

void Link::Restore(uint64_t items, uint64_t set_bits) {
  items_.store(items, std::memory_order_relaxed);
  set_bits_.store(set_bits, std::memory_order_relaxed);
}

LinkShape LinkShapeFor(FilterKind kind, uint64_t capacity, double error_rate, uint32_t counter_bits) {
  switch (kind) {
    case FilterKind::kClassic:
      return ClassicBloom::ShapeFor(capacity, error_rate);
    case FilterKind::kBlocked:
      return BlockedBloom::ShapeFor(capacity, error_rate);
    case FilterKind::kCounting:
      return CountingBloom::ShapeFor(capacity, error_rate, counter_bits);
    case FilterKind::kRedisBloom:
      return RedisBloom::ShapeFor(capacity, error_rate, RedisBloom::Rounding::kToWords);
    case FilterKind::kCuckoo:
    case FilterKind::kRedisCuckoo:
    case FilterKind::kWindow:
    case FilterKind::kFingerprint:
    case FilterKind::kRibbon:
      break;  // made of other parts than links
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
    case FilterKind::kCounting:
      return CountingBloom::IsValidShape(shape);
    case FilterKind::kRedisBloom:
      return RedisBloom::IsValidShape(shape);
    case FilterKind::kCuckoo:
    case FilterKind::kRedisCuckoo:
    case FilterKind::kWindow:
    case FilterKind::kFingerprint:
    case FilterKind::kRibbon:
      break;
  }
  return false;
}

Result<std::unique_ptr<Link>> MakeLink(const LinkShape& shape, MemoryBudget& budget) {
  Result<BitMemory> memory = BitMemory::Allocate(shape.SizeBytes(), budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  switch (shape.kind) {
    case FilterKind::kClassic:
      return std::make_unique<ClassicBloom>(shape, std::move(*memory));
    case FilterKind::kBlocked:
      return std::make_unique<BlockedBloom>(shape, std::move(*memory));
    case FilterKind::kCounting:
      return std::make_unique<CountingBloom>(shape, std::move(*memory));
    case FilterKind::kRedisBloom:
      return std::make_unique<RedisBloom>(shape, std::move(*memory));
    case FilterKind::kCuckoo:
    case FilterKind::kRedisCuckoo:
    case FilterKind::kWindow:
    case FilterKind::kFingerprint:
    case FilterKind::kRibbon:
      break;
  }
  __builtin_unreachable();
}

}  // namespace bitsieve::core
