#include "cli/dedup/seen_partition.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "core/memory/bit_memory.h"

namespace bitsieve::cli {
namespace {

using core::AddOutcome;

class FilterPartition final : public SeenPartition {
 public:
  explicit FilterPartition(std::unique_ptr<core::Filter> filter) : filter_(std::move(filter)) {}

  // Where most lines of the filter will be touched, loading all of them in order takes half of the time of loading
  // those of the items.
  void Prepare(uint64_t items) override {
    constexpr uint64_t kCachedBytes = 1 << 20;  // half of the cache that a core of today's servers has for itself
    const uint64_t bytes = filter_->size_bytes();
    is_in_cache_ = bytes <= kCachedBytes && items >= bytes / core::kLineBytes / 2;
    if (is_in_cache_) PrefetchAll(bytes / core::kLineBytes);
  }

  core::Outcome<void, AddOutcome> Add(std::span<const core::KeyHash> hashes, std::span<AddOutcome> outcomes) override {
    for (size_t done = 0; done < hashes.size(); done += kBatch) {
      const size_t count = std::min(kBatch, hashes.size() - done);
      const size_t next = done + count;
      if (!is_in_cache_) filter_->PrefetchCold(hashes.subspan(next, std::min(kBatch, hashes.size() - next)));
      filter_->Add(hashes.subspan(done, count), outcomes.subspan(done, count));
    }
    const auto refused = std::ranges::find_if(outcomes, core::IsRefused);
    if (refused != outcomes.end()) return tl::unexpected(*refused);
    return {};
  }
  uint64_t items() const override { return filter_->ItemCount(); }
  uint64_t size_bytes() const override { return filter_->size_bytes(); }
  std::optional<double> ErrorRate() const override { return filter_->EstimatedErrorRate(); }
  bool has_grown() const override { return filter_->SubFilters() > 1; }

  uint64_t encoded_bytes() const override { return core::DumpStream(filter_->Capture()).total_bytes(); }
  core::Status Encode(const Write& write) const override {
    core::DumpStream dump(filter_->Capture());
    std::string bytes;
    while (!dump.AtEnd()) {
      bytes.clear();
      if (auto read = dump.Read(kWriteBytes, bytes); !read) return read;
      if (auto written = write(bytes); !written) return written;
    }
    return {};
  }

 private:
  static constexpr size_t kBatch = 64;
  static constexpr size_t kWriteBytes = 1 << 20;

  // Prefetches the lines of hashes at equal distances: the low half of a hash places it (key_hash.h).
  void PrefetchAll(uint64_t lines) const {
    std::array<core::KeyHash, kBatch> hashes{};
    const uint64_t distance = UINT64_MAX / (lines + 1);
    uint64_t low = distance / 2;
    for (uint64_t done = 0; done < lines; done += kBatch) {
      for (core::KeyHash& hash : hashes) hash.low = std::exchange(low, low + distance);
      filter_->PrefetchCold(hashes);
    }
  }

  const std::unique_ptr<core::Filter> filter_;
  bool is_in_cache_ = false;
};

}  // namespace

core::Result<std::unique_ptr<SeenPartition>> MakeFilterPartition(const core::FilterParams& params,
                                                                 core::MemoryBudget& budget) {
  auto filter = core::MakeFilter(params, budget, core::SystemClock());
  if (!filter) return tl::unexpected(filter.error());
  return MakeFilterPartition(std::move(*filter));
}

std::unique_ptr<SeenPartition> MakeFilterPartition(std::unique_ptr<core::Filter> filter) {
  return std::make_unique<FilterPartition>(std::move(filter));
}

}  // namespace bitsieve::cli
