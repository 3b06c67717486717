#include "cli/dedup/seen_set.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/dedup/hash_table.h"
#include "core/families/bloom/bloom_types.h"
#include "core/filter/forecast.h"

namespace bitsieve::cli {

uint64_t SeenSet::PartitionItems(uint64_t items) {
  const double mean = static_cast<double>(items) / kPartitions;
  return std::min(static_cast<uint64_t>(std::ceil(mean + 6 * std::sqrt(mean))), core::kMaxCapacity);
}

core::FilterParams PartitionParams(const SeenParams& params) {
  core::FilterParams filter{.type = core::kBlockedType,
                            .error_rate = params.error_rate,
                            .capacity = SeenSet::PartitionItems(params.items),
                            .seed = params.seed};
  core::ShareForStatedCapacity(filter);
  return core::Settled(filter);
}

uint64_t SeenSet::BytesFor(const SeenParams& params) {
  if (params.exact) return kPartitions * HashTable::BytesFor(PartitionItems(params.items));
  const auto forecast = core::ForecastOf(PartitionParams(params), PartitionItems(params.items));
  return forecast ? kPartitions * forecast->size_bytes : 0;
}

core::Result<SeenSet> SeenSet::Make(const SeenParams& params, core::MemoryBudget& budget) {
  std::vector<std::unique_ptr<SeenPartition>> partitions;
  for (size_t i = 0; i < kPartitions; ++i) {
    if (params.exact) {
      auto table = HashTable::Make(PartitionItems(params.items), budget);
      if (!table) return tl::unexpected(table.error());
      partitions.push_back(std::move(*table));
    } else {
      auto filter = MakeFilterPartition(PartitionParams(params), budget);
      if (!filter) return tl::unexpected(filter.error());
      partitions.push_back(std::move(*filter));
    }
  }
  return SeenSet(params, std::move(partitions));
}

uint64_t SeenSet::items() const {
  uint64_t items = 0;
  for (const auto& each : partitions_) items += each->items();
  return items;
}

uint64_t SeenSet::size_bytes() const {
  uint64_t bytes = 0;
  for (const auto& each : partitions_) bytes += each->size_bytes();
  return bytes;
}

bool SeenSet::has_grown() const {
  return std::ranges::any_of(partitions_, [](const auto& each) { return each->has_grown(); });
}

double SeenSet::ErrorRate() const {
  double sum = 0;
  for (const auto& each : partitions_) sum += each->ErrorRate().value_or(params_.error_rate);
  return sum / kPartitions;
}

}  // namespace bitsieve::cli
