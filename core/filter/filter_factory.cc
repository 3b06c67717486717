#include "core/filter/filter_factory.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "core/filter/false_positive_codec.h"
#include "core/filter/image_header.h"

namespace bitsieve::core {

Result<std::unique_ptr<Filter>> MakeFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock) {
  const FilterParams settled = Settled(params);
  if (Status status = Validate(settled); !status) return tl::unexpected(std::move(status).error());
  Result<std::unique_ptr<Filter>> filter = FindFilterType(settled.type)->make(settled, budget, clock);
  if (!filter) return filter;
  Filter& made = **filter;
  const LockGuard lock(made.writers_);
  made.pristine_ = true;
  return filter;
}

Result<std::unique_ptr<FilterDecoder>> FilterDecoder::Open(std::string_view header_bytes, MemoryBudget& budget,
                                                           const Clock& clock) {
  const Result<HeaderFrame> frame = OpenHeader(header_bytes);
  if (!frame) return tl::unexpected(frame.error());
  Result<std::unique_ptr<FilterDecoder>> decoder = frame->type.open(frame->fields, budget, clock);
  if (!decoder || !frame->false_positives) return decoder;
  return FalsePositiveDecoder::Open(*frame->false_positives, std::move(*decoder), budget);
}

Result<std::unique_ptr<Filter>> DecodeFilter(std::string_view header, std::span<const std::byte> body,
                                             MemoryBudget& budget, const Clock& clock) {
  Result<std::unique_ptr<FilterDecoder>> decoder = FilterDecoder::Open(header, budget, clock);
  if (!decoder) return tl::unexpected(std::move(decoder).error());
  if ((*decoder)->body_bytes() != body.size()) {
    return Fail(ErrorCode::kCorrupt, "the body has " + std::to_string(body.size()) + " bytes, but its header needs " +
                                         std::to_string((*decoder)->body_bytes()));
  }
  if (Status status = (*decoder)->Append(body); !status) return tl::unexpected(std::move(status).error());
  return (*decoder)->Finish();
}

void FilterDecoder::Put(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> room = Room(offset);
    const size_t count = std::min(bytes.size(), room.size());
    std::memcpy(room.data(), bytes.data(), count);
    Commit(offset, count);
    bytes = bytes.subspan(count);
    offset += count;
  }
}

Result<std::unique_ptr<Filter>> CloneFilter(const Filter& filter, MemoryBudget& budget, const Clock& clock) {
  return CloneFilter(*filter.Capture(), budget, clock);
}

Result<std::unique_ptr<Filter>> CloneFilter(FilterImage& image, MemoryBudget& budget, const Clock& clock) {
  constexpr uint64_t kChunkBytes = 256 * 1024;
  Result<std::unique_ptr<FilterDecoder>> decoder = FilterDecoder::Open(image.header(), budget, clock);
  if (!decoder) return tl::unexpected(std::move(decoder).error());
  std::vector<std::byte> chunk(std::min(kChunkBytes, image.body_bytes()));
  for (uint64_t done = 0; done < image.body_bytes(); done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), image.body_bytes() - done));
    if (Status status = image.Read(done, chunk); !status) return tl::unexpected(std::move(status).error());
    if (Status status = (*decoder)->Append(chunk); !status) return tl::unexpected(std::move(status).error());
  }
  return (*decoder)->Finish();
}

}  // namespace bitsieve::core
