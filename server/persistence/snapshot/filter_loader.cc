#include "server/persistence/snapshot/filter_loader.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/quote.h"
#include "server/persistence/disk/filter_file.h"

namespace bitsieve::server {
namespace {

std::vector<size_t> LargestFirst(const std::vector<ManifestEntry>& entries) {
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return entries[a].seal.bytes > entries[b].seal.bytes; });
  return order;
}

// Filters that their own threads are reading, for those to help with that have none of their own left.
class Helping {
 public:
  explicit Helping(size_t filters) : unread_(filters) {}

  // Until Withdraw returns, which waits for helpers, others may read it too.
  void Offer(FilterFileReader& reader) {
    const core::LockGuard lock(mutex_);
    offered_.push_back({&reader, 0});
    changed_.NotifyAll();
  }
  void Withdraw(const FilterFileReader& reader) {
    const core::LockGuard lock(mutex_);
    const auto offer =
        std::find_if(offered_.begin(), offered_.end(), [&](const Offered& each) { return each.reader == &reader; });
    while (offer->helpers != 0) changed_.Wait(mutex_);
    offered_.erase(offer);
  }

  // A filter was read, or will not be.
  void NoteRead() {
    const core::LockGuard lock(mutex_);
    if (--unread_ == 0) changed_.NotifyAll();
  }

  // For a thread that has no filter of its own left to read. Returns once all have been read.
  void Help(ChunkBuffer& buffer) {
    const core::LockGuard lock(mutex_);
    while (unread_ != 0) {
      const auto offer =
          std::find_if(offered_.begin(), offered_.end(), [](const Offered& each) { return each.reader->has_more(); });
      if (offer == offered_.end()) {
        changed_.Wait(mutex_);
        continue;
      }
      ++offer->helpers;
      FilterFileReader& reader = *offer->reader;
      {
        const core::UnlockGuard unlocked(mutex_);
        reader.Read(buffer);
      }
      --offer->helpers;
      changed_.NotifyAll();
    }
  }

 private:
  struct Offered {
    FilterFileReader* reader;
    int helpers;
  };

  core::Mutex mutex_;
  core::ConditionVariable changed_;
  std::list<Offered> offered_ BITSIEVE_GUARDED_BY(mutex_);
  size_t unread_ BITSIEVE_GUARDED_BY(mutex_);
};

// How many threads could find something to do: one for each filter, and one for each chunk of the large ones.
uint64_t WorkOf(const std::vector<ManifestEntry>& entries) {
  uint64_t pieces = 0;
  for (const ManifestEntry& entry : entries) pieces += 1 + entry.seal.bytes / kDefaultChunkBytes;
  return pieces;
}

class Loader {
 public:
  Loader(const DataDirectory& directory, const std::vector<ManifestEntry>& entries,
         const std::vector<uint64_t>& present, core::MemoryBudget& budget, const core::Clock& clock, unsigned threads)
      : directory_(directory),
        entries_(entries),
        present_(present),
        budget_(budget),
        clock_(clock),
        order_(LargestFirst(entries)),
        threads_(std::min<uint64_t>(threads, WorkOf(entries))),
        helping_(entries.size()),
        results_(entries.size(), core::Result<FilterPtr>(FilterPtr())) {}

  std::vector<core::Result<FilterPtr>> Run() {
    {
      std::vector<std::jthread> others;
      for (size_t i = 1; i < threads_; ++i) others.emplace_back([this] { Work(); });
      Work();
    }
    return std::move(results_);
  }

 private:
  void Work() {
    ChunkBuffer buffer;
    // Relaxed: it hands out numbers; joining the threads makes the results visible.
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < order_.size();) {
      results_[order_[i]] = Load(entries_[order_[i]], buffer);
      helping_.NoteRead();
    }
    helping_.Help(buffer);
  }

  core::Result<FilterPtr> Load(const ManifestEntry& entry, ChunkBuffer& buffer) {
    const std::string path = directory_.FilterPath(entry.file_id);
    if (!std::binary_search(present_.begin(), present_.end(), entry.file_id)) {
      return Explain(entry, {core::ErrorCode::kCorrupt, path + ": is missing, but the manifest lists it"});
    }
    if (out_of_memory_.load(std::memory_order_relaxed)) {
      return Explain(entry, {core::ErrorCode::kOutOfMemory, path + ": not read, memory had run out before"});
    }
    auto filter = Read(path, entry.seal, buffer);
    if (filter) return FilterPtr(std::move(*filter));
    if (filter.error().code == core::ErrorCode::kOutOfMemory) out_of_memory_.store(true, std::memory_order_relaxed);
    return Explain(entry, std::move(filter.error()));
  }

  core::Result<std::unique_ptr<core::Filter>> Read(const std::string& path, const FileSeal& seal, ChunkBuffer& buffer) {
    auto reader = FilterFileReader::Open(directory_.disk(), path, seal, budget_, clock_, buffer);
    if (!reader) return tl::unexpected(std::move(reader.error()));
    if ((*reader)->has_more()) {
      helping_.Offer(**reader);
      (*reader)->Read(buffer);
      helping_.Withdraw(**reader);
    }
    return (*reader)->Finish();
  }

  static core::Result<FilterPtr> Explain(const ManifestEntry& entry, core::Error error) {
    return core::Fail(error.code, error.message + " (filter " + core::PrintableName(entry.name) + ")");
  }

  const DataDirectory& directory_;
  const std::vector<ManifestEntry>& entries_;
  const std::vector<uint64_t>& present_;
  core::MemoryBudget& budget_;
  const core::Clock& clock_;
  const std::vector<size_t> order_;  // so that a large filter does not come last, when other threads have nothing left
  const size_t threads_;
  Helping helping_;
  std::vector<core::Result<FilterPtr>> results_;  // each element is written by one thread
  std::atomic<size_t> next_{0};
  std::atomic<bool> out_of_memory_{false};  // relaxed: seen late, one filter more is tried
};

}  // namespace

std::vector<core::Result<FilterPtr>> LoadFilters(const DataDirectory& directory,
                                                 const std::vector<ManifestEntry>& entries,
                                                 const std::vector<uint64_t>& present, core::MemoryBudget& budget,
                                                 const core::Clock& clock, unsigned threads) {
  return Loader(directory, entries, present, budget, clock, threads).Run();
}

}  // namespace bitsieve::server
