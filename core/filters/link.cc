#include "core/filters/link.h"

#include <algorithm>
#include <cassert>

#include "core/filters/blocked_bloom.h"
#include "core/filters/classic_bloom.h"
#include "core/filters/counting_bloom.h"
#include "core/filters/redis_bloom.h"

namespace bitsieve::core {

uint64_t Link::Reserve(uint64_t wanted) {
  uint64_t reserved = reserved_.load(std::memory_order_relaxed);
  uint64_t granted;
  do {
    // Repeated additions of one item may have taken more places than there are.
    granted = std::min(wanted, shape_.capacity - std::min(reserved, shape_.capacity));
    if (granted == 0) return 0;
  } while (!reserved_.compare_exchange_weak(reserved, reserved + granted, std::memory_order_relaxed));
  return granted;
}

void Link::Commit(uint64_t reserved, const LinkProgress& progress) {
  if (progress.bits_set != 0) set_bits_.fetch_add(progress.bits_set, std::memory_order_relaxed);
  if (progress.added != 0) items_.fetch_add(progress.added, std::memory_order_release);
  if (progress.added != reserved) reserved_.fetch_sub(reserved - progress.added, std::memory_order_relaxed);
}

void Link::CountAgain() {
  reserved_.fetch_add(1, std::memory_order_relaxed);
  items_.fetch_add(1, std::memory_order_release);
}

void Link::CountRemoved() {
  uint64_t items = items_.load(std::memory_order_relaxed);
  do {
    if (items == 0) return;
  } while (!items_.compare_exchange_weak(items, items - 1, std::memory_order_acq_rel, std::memory_order_relaxed));
  // A place is counted as reserved before as an item, so this one still is.
  reserved_.fetch_sub(1, std::memory_order_relaxed);
}

void Link::CountUnited(uint64_t items, uint64_t bits_set) {
  CountFill(bits_set);
  reserved_.fetch_add(items, std::memory_order_relaxed);
  items_.fetch_add(items, std::memory_order_release);
}

LinkProgress Link::Add(std::span<const KeyHash>, std::span<const uint8_t>, std::span<uint8_t>, uint64_t) {
  assert(false && "links of this kind are added to one item at a time");
  __builtin_unreachable();
}

void Link::Restore(uint64_t items, uint64_t set_bits) {
  reserved_.store(items, std::memory_order_relaxed);
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
