#include "core/filters/window_header.h"

#include "core/base/bytes.h"
#include "core/filters/blocked_bloom.h"
#include "core/filters/filter_header.h"

namespace bitsieve::core {

namespace {

constexpr uint64_t kMaxGenerationBytes = uint64_t{1} << 46;
constexpr uint64_t kMaxMs = uint64_t{1} << 62;  // so that no sum of times overflows

tl::unexpected<Error> Corrupt(const std::string& what) { return Fail(ErrorCode::kCorrupt, "filter header: " + what); }

WindowShape GetShape(ByteReader& in) {
  WindowShape shape{};
  shape.generations = in.Get<uint32_t>();
  shape.max_generations = in.Get<uint32_t>();
  shape.link.kind = FilterKind::kBlocked;
  shape.link.capacity = in.Get<uint64_t>();
  shape.link.error_rate = in.GetDouble();
  shape.link.bits = in.Get<uint64_t>();
  shape.link.hash_functions = in.Get<uint32_t>();
  shape.link.lines_per_item = in.Get<uint32_t>();
  return shape;
}

Status CheckShape(const WindowShape& shape, const FilterParams& params) {
  if (shape.generations == 0 || shape.max_generations <= shape.generations || shape.max_generations > kMaxGenerations ||
      (!params.window.of_time() && shape.max_generations != shape.generations + 1)) {
    return Corrupt("the number of generations is out of range");
  }
  if (!IsValid(shape.link) || shape.link.bits > kMaxGenerationBytes * 8) {
    return Corrupt("the shape of the generations is impossible");
  }
  if (shape.link.capacity > kMaxCapacity || shape.link.capacity * shape.generations < params.capacity) {
    return Corrupt("the generations do not make up the window");
  }
  return {};
}

Result<WindowHeader> GetGenerations(ByteReader& in, WindowHeader header) {
  const auto count = in.Get<uint32_t>();
  if (!in.ok() || count == 0 || count > header.shape.max_generations) {
    return Corrupt("the number of generations that are there is out of range");
  }
  uint64_t last_ms = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string which = "generation " + std::to_string(i);
    const auto items = in.Get<uint64_t>();
    const auto first = in.Get<uint64_t>();
    const auto last = in.Get<uint64_t>();
    if (!in.ok()) return Corrupt("it ends within " + which);
    if (items > header.shape.link.capacity) return Corrupt(which + " holds more than it can");
    if (first > last || last < last_ms || last > kMaxMs) return Corrupt("the times of " + which + " are impossible");
    if (!header.params.window.of_time() && last != 0) return Corrupt(which + " has a time in a window of items");
    last_ms = last;
    header.generations.push_back({items, first, last});
  }
  if (!in.AtEnd()) return Corrupt("bytes follow the last generation");
  return header;
}

}  // namespace

WindowShape WindowShapeFor(const FilterParams& params) {
  const uint32_t most = params.window.of_time() ? 2 * kGenerations : kGenerations + 1;
  const uint64_t items = (params.capacity + kGenerations - 1) / kGenerations;
  return {kGenerations, most, BlockedBloom::ShapeFor(items, params.error_rate / most)};
}

std::string EncodeWindowHeader(const WindowHeader& header) {
  std::string bytes;
  BeginHeader(bytes, FilterKind::kWindow);
  ByteWriter out(bytes);
  out.Put(header.params.error_rate);
  out.Put(header.params.capacity);
  out.Put(header.params.seed);
  out.Put(header.params.window.items);
  out.Put(header.params.window.duration_ms);
  out.Put(header.shape.generations);
  out.Put(header.shape.max_generations);
  out.Put(header.shape.link.capacity);
  out.Put(header.shape.link.error_rate);
  out.Put(header.shape.link.bits);
  out.Put(header.shape.link.hash_functions);
  out.Put(header.shape.link.lines_per_item);
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
  header.params.kind = FilterKind::kWindow;
  header.params.expansion = 0;
  header.params.error_rate = in.GetDouble();
  header.params.capacity = in.Get<uint64_t>();
  header.params.seed = in.Get<uint64_t>();
  header.params.window.items = in.Get<uint64_t>();
  header.params.window.duration_ms = in.Get<uint64_t>();
  ShareForStatedCapacity(header.params);
  header.shape = GetShape(in);
  if (!in.ok()) return Corrupt("it is too short");
  if (Status status = Validate(header.params); !status) return Corrupt(status.error().message);
  if (Status status = CheckShape(header.shape, header.params); !status) return tl::unexpected(status.error());
  return GetGenerations(in, std::move(header));
}

}  // namespace bitsieve::core
