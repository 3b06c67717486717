#include "server/persistence/image_summary.h"

#include <utility>

#include "core/filters/cuckoo_header.h"
#include "core/filters/filter_header.h"
#include "core/filters/fingerprint_header.h"
#include "core/filters/redis_bloom_filter.h"
#include "core/filters/redis_cuckoo_header.h"
#include "core/filters/ribbon_header.h"
#include "core/filters/window_header.h"

namespace bitsieve::server {
namespace {

using core::FilterKind;
using core::Result;

// Links or tables: each with a shape that has a capacity, and with its items.
template <class Parts>
void AddParts(const Parts& parts, ImageSummary& summary) {
  for (const auto& part : parts) {
    summary.capacity += part.shape.capacity;
    summary.items += part.items;
  }
}

void Fill(const core::FilterHeader& header, ImageSummary& summary) { AddParts(header.links, summary); }
void Fill(const core::CuckooHeader& header, ImageSummary& summary) { AddParts(header.tables, summary); }
void Fill(const core::FingerprintHeader& header, ImageSummary& summary) { AddParts(header.tables, summary); }
void Fill(const core::WindowHeader& header, ImageSummary& summary) {
  summary.capacity = header.params.capacity;
  for (const core::GenerationRecord& generation : header.generations) summary.items += generation.items;
}
void Fill(const core::RibbonHeader& header, ImageSummary& summary) {
  summary.capacity = header.params.capacity;
  summary.items = header.items;
}
void Fill(const core::RedisCuckooHeader& header, ImageSummary& summary) {
  summary.capacity = header.BodyBytes();  // a slot is a byte
  summary.items = header.items;
}

template <class Header>
Result<ImageSummary> Summarized(const Result<Header>& header, FilterKind kind) {
  if (!header) return tl::unexpected(header.error());
  ImageSummary summary{kind, 0, 0};
  Fill(*header, summary);
  return summary;
}

}  // namespace

Result<ImageSummary> SummarizeImage(std::string_view header) {
  const Result<core::HeaderFrame> frame = core::OpenHeader(header);
  if (!frame) return tl::unexpected(frame.error());
  const std::string_view fields = frame->fields;
  switch (frame->kind) {
    case FilterKind::kWindow:
      return Summarized(core::DecodeWindowHeader(fields), frame->kind);
    case FilterKind::kFingerprint:
      return Summarized(core::DecodeFingerprintHeader(fields), frame->kind);
    case FilterKind::kCuckoo:
      return Summarized(core::DecodeCuckooHeader(fields), frame->kind);
    case FilterKind::kRibbon:
      return Summarized(core::DecodeRibbonHeader(fields), frame->kind);
    case FilterKind::kRedisBloom:
      return Summarized(core::DecodeRedisBloomHeader(fields), frame->kind);
    case FilterKind::kRedisCuckoo:
      return Summarized(core::DecodeRedisCuckooHeader(fields), frame->kind);
    case FilterKind::kClassic:
    case FilterKind::kBlocked:
    case FilterKind::kCounting:
      return Summarized(core::DecodeFilterHeader(header), frame->kind);
  }
  return core::Fail(core::ErrorCode::kUnsupported, "filter header: of a kind that is not known");
}

}  // namespace bitsieve::server
