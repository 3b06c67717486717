#include "core/sketches/count_min.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/hash/murmur_hash2.h"

namespace bitsieve::core {

namespace {

// Adds a product to a sum. Returns false if one of the two is beyond 64 bits with a sign.
bool AddProduct(uint64_t number, int64_t weight, int64_t& sum) {
  int64_t product = 0;
  return !__builtin_mul_overflow(number, weight, &product) && !__builtin_add_overflow(sum, product, &sum);
}

constexpr size_t kRowsAtOnce = 16;  // whose counters are loaded together

}  // namespace

std::optional<CountMinShape> ShapeForError(double error, double probability) {
  const double width = std::ceil(2 / error);
  constexpr double kTwoToThe64 = 18446744073709551616.0;
  if (!(width < kTwoToThe64)) return std::nullopt;
  const float rows = std::log10(static_cast<float>(probability)) / std::log10(0.5F);
  return CountMinShape{static_cast<uint64_t>(width), static_cast<uint64_t>(std::ceil(rows))};
}

Result<CountMin> CountMin::Make(const CountMinShape& shape, MemoryBudget& budget) {
  if (shape.width == 0 || shape.depth == 0) return Fail(ErrorCode::kInvalidArgument, "width and depth are 1 or more");
  if (shape.width > kMaxCellsBytes / sizeof(uint32_t) / shape.depth) {
    return Fail(ErrorCode::kInvalidArgument, "width and depth together are too large");
  }
  const uint64_t bytes = (CellsBytes(shape) + kLineBytes - 1) / kLineBytes * kLineBytes;
  Result<BitMemory> memory = BitMemory::Allocate(bytes, budget);
  if (!memory) return tl::unexpected(std::move(memory).error());
  return CountMin(shape, std::move(*memory));
}

Result<CountMin> CountMin::FromBytes(const CountMinShape& shape, uint64_t total, std::span<const std::byte> cells,
                                     MemoryBudget& budget) {
  const uint64_t count = cells.size() / sizeof(uint32_t);
  const bool fits = shape.depth != 0 && cells.size() % sizeof(uint32_t) == 0 && count % shape.depth == 0 &&
                    count / shape.depth == shape.width;
  if (!fits) return Fail(ErrorCode::kCorrupt, "the counters of a Count-Min Sketch do not fit its width and depth");
  Result<CountMin> sketch = Make(shape, budget);
  if (!sketch) return sketch;
  std::memcpy(sketch->memory_.data(), cells.data(), cells.size());
  sketch->total_ = total;
  return sketch;
}

uint32_t* CountMin::CellOf(std::string_view item, uint64_t row) const {
  return words() + row * shape_.width + MurmurHash2(item, static_cast<uint32_t>(row)) % shape_.width;
}

// Calls use(cell) for the item's counter in each row, once a few of them are being loaded.
template <class Use>
void CountMin::ForCells(std::string_view item, const Use& use) const {
  std::array<uint32_t*, kRowsAtOnce> cells;
  for (uint64_t row = 0; row < shape_.depth; row += kRowsAtOnce) {
    const uint64_t count = std::min<uint64_t>(kRowsAtOnce, shape_.depth - row);
    for (uint64_t i = 0; i < count; ++i) {
      cells[i] = CellOf(item, row + i);
      __builtin_prefetch(cells[i]);
    }
    for (uint64_t i = 0; i < count; ++i) use(*cells[i]);
  }
}

uint32_t CountMin::Increase(std::string_view item, uint64_t occurrences) {
  uint32_t least = kFull;
  ForCells(item, [&](uint32_t& cell) {
    cell = occurrences > kFull - cell ? kFull : static_cast<uint32_t>(cell + occurrences);
    least = std::min(least, cell);
  });
  total_ += occurrences;
  return least;
}

uint32_t CountMin::Count(std::string_view item) const {
  uint32_t least = kFull;
  ForCells(item, [&least](const uint32_t& cell) { least = std::min(least, cell); });
  return least;
}

bool CountMin::Merge(std::span<const Weighted> sources) {
  int64_t total = 0;
  for (const Weighted& source : sources) {
    if (!AddProduct(source.sketch->total_, source.weight, total)) return false;
  }
  if (total < 0) return false;
  const auto sum_at = [sources](uint64_t cell, int64_t& sum) {
    for (const Weighted& source : sources) {
      if (!AddProduct(source.sketch->words()[cell], source.weight, sum)) return false;
    }
    return sum >= 0 && sum <= int64_t{kFull};
  };
  const uint64_t cells = shape_.width * shape_.depth;
  for (uint64_t cell = 0; cell < cells; ++cell) {
    int64_t sum = 0;
    if (!sum_at(cell, sum)) return false;
  }
  for (uint64_t cell = 0; cell < cells; ++cell) {
    int64_t sum = 0;
    (void)sum_at(cell, sum);
    words()[cell] = static_cast<uint32_t>(sum);
  }
  total_ = static_cast<uint64_t>(total);
  return true;
}

}  // namespace bitsieve::core
