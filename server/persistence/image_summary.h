// image_summary.h: what the header of a filter's image tells without its body: for listing filters that nobody loads.
// Thread-safe: a free function.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/result.h"
#include "core/filters/filter_kind.h"

namespace bitsieve::server {

struct ImageSummary {
  core::FilterKind kind = core::FilterKind::kBlocked;
  uint64_t capacity = 0;  // items, over all links; as Filter::Info() tells it
  uint64_t items = 0;     // of a window, also those that time has taken since
};

// kCorrupt or kUnsupported, as FilterDecoder::Open.
core::Result<ImageSummary> SummarizeImage(std::string_view header);

}  // namespace bitsieve::server
