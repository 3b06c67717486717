#include "core/filters/filter_factory.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/filters/chain_decoder.h"
#include "core/filters/cuckoo_decoder.h"
#include "core/filters/cuckoo_filter.h"
#include "core/filters/filter_header.h"
#include "core/filters/fingerprint_decoder.h"
#include "core/filters/fingerprint_filter.h"
#include "core/filters/redis_bloom_filter.h"
#include "core/filters/redis_cuckoo.h"
#include "core/filters/redis_cuckoo_decoder.h"
#include "core/filters/ribbon_decoder.h"
#include "core/filters/ribbon_staging.h"
#include "core/filters/scalable_filter.h"
#include "core/filters/window_decoder.h"
#include "core/filters/window_filter.h"

namespace bitsieve::core {

namespace {

Result<std::unique_ptr<Filter>> MakeKind(const FilterParams& params, MemoryBudget& budget, const Clock& clock) {
  if (params.kind == FilterKind::kWindow) return WindowFilter::Make(params, budget, clock);
  if (params.kind == FilterKind::kFingerprint) return FingerprintFilter::Make(params, budget);
  if (params.kind == FilterKind::kCuckoo) return CuckooFilter::Make(params, budget);
  if (params.kind == FilterKind::kRibbon) return RibbonStaging::Make(params, budget);
  if (params.kind == FilterKind::kRedisCuckoo) return RedisCuckoo::Make(params, budget);
  return ScalableFilter::Make(params, budget);
}

}  // namespace

Result<std::unique_ptr<Filter>> MakeFilter(const FilterParams& params, MemoryBudget& budget, const Clock& clock) {
  Result<std::unique_ptr<Filter>> filter = MakeKind(Settled(params), budget, clock);
  if (filter) (*filter)->pristine_ = true;
  return filter;
}

Result<std::unique_ptr<FilterDecoder>> FilterDecoder::Open(std::string_view header_bytes, MemoryBudget& budget,
                                                           const Clock& clock) {
  const Result<HeaderFrame> frame = OpenHeader(header_bytes);
  if (!frame) return tl::unexpected(frame.error());
  if (frame->kind == FilterKind::kWindow) return OpenWindow(frame->fields, budget, clock);
  if (frame->kind == FilterKind::kFingerprint) return OpenFingerprint(frame->fields, budget);
  if (frame->kind == FilterKind::kCuckoo) return OpenCuckoo(frame->fields, budget);
  if (frame->kind == FilterKind::kRibbon) return OpenRibbon(frame->fields, budget);
  if (frame->kind == FilterKind::kRedisBloom) return OpenRedisBloom(frame->fields, budget);
  if (frame->kind == FilterKind::kRedisCuckoo) return OpenRedisCuckoo(frame->fields, budget);
  Result<FilterHeader> header = DecodeFilterHeader(header_bytes);
  if (!header) return tl::unexpected(std::move(header).error());
  return OpenChain(std::move(*header), budget);
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

Result<std::unique_ptr<Filter>> CloneFilter(const Filter& filter, MemoryBudget& budget) {
  constexpr uint64_t kChunkBytes = 256 * 1024;
  const std::unique_ptr<FilterImage> image = filter.Capture();
  Result<std::unique_ptr<FilterDecoder>> decoder = FilterDecoder::Open(image->header(), budget);
  if (!decoder) return tl::unexpected(std::move(decoder).error());
  std::vector<std::byte> chunk(std::min(kChunkBytes, image->body_bytes()));
  for (uint64_t done = 0; done < image->body_bytes(); done += chunk.size()) {
    chunk.resize(std::min<uint64_t>(chunk.size(), image->body_bytes() - done));
    if (Status status = image->Read(done, chunk); !status) return tl::unexpected(std::move(status).error());
    if (Status status = (*decoder)->Append(chunk); !status) return tl::unexpected(std::move(status).error());
  }
  return (*decoder)->Finish();
}

}  // namespace bitsieve::core
