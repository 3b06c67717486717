#include "cli/dedup/seen_partition.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::cli {
namespace {

using core::AddOutcome;

class FilterPartition final : public SeenPartition {
 public:
  explicit FilterPartition(std::unique_ptr<core::Filter> filter) : filter_(std::move(filter)) {}

  core::Outcome<void, AddOutcome> Add(std::span<const core::KeyHash> hashes, std::span<AddOutcome> outcomes) override {
    for (size_t done = 0; done < hashes.size(); done += kBatch) {
      const size_t count = std::min(kBatch, hashes.size() - done);
      const size_t next = done + count;
      filter_->PrefetchCold(hashes.subspan(next, std::min(kBatch, hashes.size() - next)));
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

  const std::unique_ptr<core::Filter> filter_;
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
