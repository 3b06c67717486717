#include "core/filters/window_decoder.h"

#include <vector>

#include "core/filters/parts_decoder.h"
#include "core/filters/window_filter.h"

namespace bitsieve::core {

namespace {

class WindowDecoder final : public PartsDecoder {
 public:
  WindowDecoder(WindowHeader header, std::vector<std::unique_ptr<Generation>> generations, MemoryBudget& budget,
                const Clock& clock)
      : header_(std::move(header)), generations_(std::move(generations)), budget_(budget), clock_(clock) {
    for (const auto& generation : generations_) AddPart(generation->bits().memory().bytes());
  }

 private:
  uint64_t Count(size_t part, std::span<const std::byte> bytes) const override {
    return generations_[part]->bits().CountSet(bytes);
  }

  Status FinishPart(size_t part, uint64_t set_bits) override {
    generations_[part]->bits().Restore(header_.generations[part].items, set_bits);
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
