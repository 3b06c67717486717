// lookups.h: what a Filter and a FollowedFilter have in common: items in batches, lookups, and the description.
// Thread-safe: free functions.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "clients/cpp/filter.h"
#include "core/filter/filter.h"
#include "core/filter/filter_type.h"

namespace bitsieve::clients {

inline constexpr size_t kBatch = 64;  // items whose memory is loaded together

// Calls use(first, hashes) for the items, a batch at a time, once `prefetch` loads their memory.
template <class Use>
Status ForBatches(const core::Filter& filter, void (core::Filter::*prefetch)(std::span<const core::KeyHash>) const,
                  std::span<const std::string_view> items, const Use& use) {
  std::array<core::KeyHash, kBatch> hashes;
  for (size_t first = 0; first < items.size(); first += kBatch) {
    const size_t count = std::min(kBatch, items.size() - first);
    const std::span<core::KeyHash> batch = std::span(hashes).first(count);
    filter.HashItems(items.subspan(first, count), batch);
    (filter.*prefetch)(batch);
    if (Status status = use(first, batch); !status) return status;
  }
  return {};
}

inline bool MayContain(const core::Filter& filter, std::string_view item) {
  core::KeyHash hash;
  filter.HashInto(hash, item);
  uint8_t present = 0;
  filter.MayContain({&hash, 1}, {&present, 1});
  return present != 0;
}

inline void MayContain(const core::Filter& filter, std::span<const std::string_view> items,
                       std::span<uint8_t> present) {
  (void)ForBatches(filter, &core::Filter::Prefetch, items,
                   [&](size_t first, std::span<const core::KeyHash> hashes) -> Status {
                     filter.MayContain(hashes, present.subspan(first, hashes.size()));
                     return {};
                   });
}

// The filter is not mapped.
inline FilterDescription Describe(const core::Filter& filter) {
  const core::FilterInfo info = filter.Info();
  const core::FilterParams params = filter.params();
  return {.type = std::string(filter.type().name),
          .error_rate = params.error_rate,
          .capacity = info.capacity,
          .items = info.items,
          .size_bytes = info.size_bytes,
          .sub_filters = info.sub_filters,
          .false_positives = info.false_positives,
          .seed = params.seed};
}

}  // namespace bitsieve::clients
