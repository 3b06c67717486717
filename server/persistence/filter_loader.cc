#include "server/persistence/filter_loader.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>
#include <utility>

#include "server/keyspace/printable_name.h"
#include "server/persistence/filter_file.h"

namespace bitsieve::server {
namespace {

std::vector<size_t> LargestFirst(const std::vector<ManifestEntry>& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return entries[a].seal.bytes > entries[b].seal.bytes; });
  return order;
}

class Loader {
 public:
  Loader(const DataDirectory& directory, const std::vector<ManifestEntry>& entries,
         const std::vector<uint64_t>& present, core::MemoryBudget& budget, const core::Clock& clock)
      : directory_(directory),
        entries_(entries),
        present_(present),
        budget_(budget),
        clock_(clock),
        order_(LargestFirst(entries)),
        results_(entries.size(), core::Result<FilterPtr>(FilterPtr())) {}

  std::vector<core::Result<FilterPtr>> Run(unsigned threads) {
    {
      std::vector<std::jthread> others;
      const size_t count = std::min<size_t>(threads, entries_.size());
      for (size_t i = 1; i < count; ++i) others.emplace_back([this] { Work(); });
      Work();
    }
    return std::move(results_);
  }

 private:
  void Work() {
    ChunkBuffer buffer;
    // Relaxed: it hands out numbers; results are seen by who joins the threads.
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < order_.size();) {
      results_[order_[i]] = Load(entries_[order_[i]], buffer);
    }
  }

  core::Result<FilterPtr> Load(const ManifestEntry& entry, ChunkBuffer& buffer) {
    const std::string path = directory_.FilterPath(entry.file_id);
    if (!std::binary_search(present_.begin(), present_.end(), entry.file_id)) {
      return Explain(entry, {core::ErrorCode::kCorrupt, path + ": is missing, but the manifest lists it"});
    }
    if (out_of_memory_.load(std::memory_order_relaxed)) {
      return Explain(entry, {core::ErrorCode::kOutOfMemory, path + ": not read, memory had run out before"});
    }
    auto filter = ReadFilterFile(directory_.disk(), path, entry.seal, budget_, clock_, buffer);
    if (filter) return FilterPtr(std::move(*filter));
    if (filter.error().code == core::ErrorCode::kOutOfMemory) out_of_memory_.store(true, std::memory_order_relaxed);
    return Explain(entry, std::move(filter.error()));
  }

  static core::Result<FilterPtr> Explain(const ManifestEntry& entry, core::Error error) {
    return core::Fail(error.code, error.message + " (filter " + PrintableName(entry.name) + ")");
  }

  const DataDirectory& directory_;
  const std::vector<ManifestEntry>& entries_;
  const std::vector<uint64_t>& present_;
  core::MemoryBudget& budget_;
  const core::Clock& clock_;
  const std::vector<size_t> order_;  // so that a large filter does not come last, when other threads have nothing left
  std::vector<core::Result<FilterPtr>> results_;  // each element is written by one thread
  std::atomic<size_t> next_{0};
  std::atomic<bool> out_of_memory_{false};  // relaxed: seen late, one filter more is tried
};

}  // namespace

std::vector<core::Result<FilterPtr>> LoadFilters(const DataDirectory& directory,
                                                 const std::vector<ManifestEntry>& entries,
                                                 const std::vector<uint64_t>& present, core::MemoryBudget& budget,
                                                 const core::Clock& clock, unsigned threads) {
  return Loader(directory, entries, present, budget, clock).Run(threads);
}

}  // namespace bitsieve::server
