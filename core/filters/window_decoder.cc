#include "core/filters/window_decoder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/filters/parts_decoder.h"
#include "core/filters/sizing.h"
#include "core/filters/window_filter.h"

namespace bitsieve::core {

namespace {

// While an image is read, others may have put items into its current generation, which its header does not count. If
// the bits say that they are clearly more, they are counted, with a margin: counted too high, the window would be
// shorter.
uint64_t CountFromBits(uint64_t counted, uint64_t set_bits, const LinkShape& shape) {
  constexpr double kMargin = 0.95;
  constexpr double kFew = 64;
  const double estimate =
      std::min(EstimatedItems(set_bits, shape.bits, shape.hash_functions), static_cast<double>(shape.capacity));
  const auto surely = static_cast<uint64_t>(std::max(0.0, estimate * kMargin - kFew));
  return std::max(counted, surely);
}

class WindowDecoder final : public PartsDecoder {
 public:
  WindowDecoder(WindowHeader header, std::vector<std::unique_ptr<Generation>> generations, MemoryBudget& budget,
                const Clock& clock)
      : header_(std::move(header)), generations_(std::move(generations)), budget_(budget), clock_(clock) {
    for (const auto& generation : generations_) AddPart(generation->bits().memory().bytes());
  }

 private:
  Status FinishPart(size_t part) override {
    Link& bits = generations_[part]->bits();
    const uint64_t set_bits = bits.memory().CountSetBits();
    uint64_t items = header_.generations[part].items;
    if (part + 1 == generations_.size()) items = CountFromBits(items, set_bits, bits.shape());
    bits.Restore(items, set_bits);
    return {};
  }

  Result<std::unique_ptr<Filter>> FinishFilter() override {
    return WindowFilter::FromGenerations(header_, std::move(generations_), budget_, clock_);
  }

  const WindowHeader header_;
  std::vector<std::unique_ptr<Generation>> generations_;
  MemoryBudget& budget_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<FilterDecoder>> OpenWindow(std::string_view fields, MemoryBudget& budget, const Clock& clock) {
  Result<WindowHeader> header = DecodeWindowHeader(fields);
  if (!header) return tl::unexpected(std::move(header).error());
  std::vector<std::unique_ptr<Generation>> generations;
  for (size_t i = 0; i < header->generations.size(); ++i) {
    Result<std::unique_ptr<Generation>> generation = Generation::Make(header->shape.link, budget);
    if (!generation) return tl::unexpected(std::move(generation).error());
    generations.push_back(std::move(*generation));
  }
  return std::make_unique<WindowDecoder>(std::move(*header), std::move(generations), budget, clock);
}

}  // namespace bitsieve::core
