#include "protocol/rdb/valkey_value.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/families/valkeybloom/valkey_bloom_codec.h"
#include "core/filter/image_header.h"

namespace bitsieve::rdb {
namespace {

tl::unexpected<core::Error> TooShort() {
  return core::Corrupt("filter value", "it ends too early, or its fields are not in the order of valkey-bloom 1.0");
}

}  // namespace

core::Result<core::FilterPtr> ReadValkeyBloom(ValueReader& in, int version, core::MemoryBudget& budget) {
  if (version != kValkeyBloomVersion) {
    return core::Fail(core::ErrorCode::kUnsupported,
                      "filter value: valkey-bloom's encoding " + std::to_string(version) + " is unknown");
  }
  core::ValkeyBloomFields fields;
  fields.sub_filters = in.Unsigned();
  fields.expansion = in.Unsigned();
  fields.error_rate = in.Double();
  fields.tightening_ratio = in.Double();
  fields.is_seed_random = in.Unsigned() == 1;
  if (in.failed()) return TooShort();
  core::ValkeyBloomBuilder builder(budget);
  if (core::Status status = builder.Begin(fields); !status) return tl::unexpected(std::move(status).error());
  for (uint64_t i = 0; i < fields.sub_filters; ++i) {
    const bool slice_first = in.NextIsBytes();
    ValueBytes slice;
    if (slice_first) slice = in.Bytes();
    const uint64_t capacity = in.Unsigned();
    std::optional<uint64_t> items;  // all but the last are full
    if (i + 1 == fields.sub_filters) items = in.Unsigned();
    if (!slice_first) slice = in.Bytes();
    if (in.failed()) return TooShort();
    if (core::Status status = builder.Add(capacity, items, slice.bytes); !status) {
      return tl::unexpected(std::move(status).error());
    }
  }
  auto filter = builder.Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  return core::FilterPtr(std::move(*filter));
}

void WriteValkeyBloom(const core::Filter& filter, ValueWriter& out) {
  const core::ValkeyBloomFields fields = core::ValkeyFieldsOf(filter);
  const core::FilterParams params = filter.params();
  const std::vector<const core::SubFilter*> sub_filters = core::ValkeySubFiltersOf(filter);
  out.Unsigned(sub_filters.size());
  out.Unsigned(fields.expansion);
  out.Double(fields.error_rate);
  out.Double(fields.tightening_ratio);
  out.Unsigned(fields.is_seed_random ? 1 : 0);
  for (const core::SubFilter* each : sub_filters) {
    out.Unsigned(each->capacity());
    if (each == sub_filters.back()) out.Unsigned(each->items());
    out.Bytes(core::ValkeySliceOf(*each, params));
  }
}

}  // namespace bitsieve::rdb
