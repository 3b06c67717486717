#include "core/families/window/window_codec.h"

#include <vector>

#include "core/base/bytes.h"
#include "core/families/bloom/blocked_bloom.h"
#include "core/families/window/window_filter.h"
#include "core/families/window/window_type.h"
#include "core/filter/image_header.h"
#include "core/filter/parts_decoder.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxGenerationBytes = uint64_t{1} << 46;
constexpr uint64_t kMaxMs = uint64_t{1} << 62;  // so that no sum of times overflows

WindowShape GetShape(ByteReader& in) {
  WindowShape shape{};
  shape.generations = in.Get<uint32_t>();
  shape.max_generations = in.Get<uint32_t>();
  shape.sub_filter.layout = &kBlockedLayout;
  shape.sub_filter.capacity = in.Get<uint64_t>();
  shape.sub_filter.error_rate = in.GetDouble();
  shape.sub_filter.bits = in.Get<uint64_t>();
  shape.sub_filter.hash_functions = in.Get<uint32_t>();
  shape.sub_filter.lines_per_item = in.Get<uint32_t>();
  return shape;
}

Status CheckShape(const WindowShape& shape, const FilterParams& params) {
  if (shape.generations == 0 || shape.max_generations <= shape.generations || shape.max_generations > kMaxGenerations ||
      (!WindowOf(params).of_time() && shape.max_generations != shape.generations + 1)) {
    return CorruptHeader("the number of generations is out of range");
  }
  if (!IsValid(shape.sub_filter) || shape.sub_filter.bits > kMaxGenerationBytes * 8) {
    return CorruptHeader("the shape of the generations is impossible");
  }
  if (shape.sub_filter.capacity > kMaxCapacity || shape.sub_filter.capacity * shape.generations < params.capacity) {
    return CorruptHeader("the generations do not make up the window");
  }
  return {};
}

Result<WindowHeader> GetGenerations(ByteReader& in, WindowHeader header) {
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > header.shape.max_generations) {
    return CorruptHeader("the number of present generations is out of range");
  }
  uint64_t last_ms = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string which = "generation " + std::to_string(i);
    const auto items = in.Get<uint64_t>();
    const auto first = in.Get<uint64_t>();
    const auto last = in.Get<uint64_t>();
    if (!in.ok()) return CorruptHeader("it ends within " + which);
    if (items > header.shape.sub_filter.capacity) return CorruptHeader(which + " holds more items than it can");
    if (first > last || last < last_ms || last > kMaxMs)
      return CorruptHeader("the times of " + which + " are impossible");
    if (!WindowOf(header.params).of_time() && last != 0)
      return CorruptHeader(which + " has a time in a window of items");
    last_ms = last;
    header.generations.push_back({items, first, last});
  }
  if (!in.AtEnd()) return CorruptHeader("bytes follow the last generation");
  return header;
}

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

WindowShape WindowShapeFor(const FilterParams& params) {
  const uint32_t most = WindowOf(params).of_time() ? 2 * kGenerations : kGenerations + 1;
  const uint64_t items = (params.capacity + kGenerations - 1) / kGenerations;
  return {kGenerations, most, BlockedBloom::ShapeFor(items, params.error_rate / most)};
}

ImageSummary WindowHeader::Summary() const {
  ImageSummary summary{.capacity = params.capacity};
  for (const GenerationRecord& generation : generations) summary.items += generation.items;
  return summary;
}

std::string EncodeWindowHeader(const WindowHeader& header) {
  std::string bytes;
  BeginHeader(bytes, kWindowType);
  ByteWriter out(bytes);
  PutParams(out, header.params);
  out.Put(header.shape.generations);
  out.Put(header.shape.max_generations);
  out.Put(header.shape.sub_filter.capacity);
  out.Put(header.shape.sub_filter.error_rate);
  out.Put(header.shape.sub_filter.bits);
  out.Put(header.shape.sub_filter.hash_functions);
  out.Put(header.shape.sub_filter.lines_per_item);
  out.Put(static_cast<uint32_t>(header.generations.size()));
  for (const GenerationRecord& each : header.generations) {
    out.Put(each.items);
    out.Put(each.first_ms);
    out.Put(each.last_ms);
  }
  SealHeader(bytes);
  return bytes;
}

Result<WindowHeader> DecodeWindowHeader(std::string_view fields) {
  ByteReader in(fields);
  WindowHeader header{};
  header.params = GetParams(in, kWindowType);
  header.shape = GetShape(in);
  if (!in.ok()) return CorruptHeader("it is too short");
  if (Status status = Validate(header.params); !status) return CorruptHeader(status.error().message);
  if (Status status = CheckShape(header.shape, header.params); !status) return tl::unexpected(status.error());
  return GetGenerations(in, std::move(header));
}

Result<std::unique_ptr<FilterDecoder>> OpenWindow(std::string_view fields, MemoryBudget& budget, const Clock& clock) {
  Result<WindowHeader> header = DecodeWindowHeader(fields);
  if (!header) return tl::unexpected(std::move(header).error());
  std::vector<std::unique_ptr<Generation>> generations;
  for (size_t i = 0; i < header->generations.size(); ++i) {
    Result<std::unique_ptr<Generation>> generation = Generation::Make(header->shape.sub_filter, budget);
    if (!generation) return tl::unexpected(std::move(generation).error());
    generations.push_back(std::move(*generation));
  }
  return std::make_unique<WindowDecoder>(std::move(*header), std::move(generations), budget, clock);
}

}  // namespace bitsieve::core
