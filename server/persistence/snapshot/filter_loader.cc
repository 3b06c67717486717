#include "server/persistence/snapshot/filter_loader.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/quote.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/pack.h"

namespace bitsieve::server {
namespace {

// A file to be read: that of an entry or, with numbers above those, of a pack.
using FileNumber = size_t;

const FileSeal& SealOf(const Manifest& manifest, FileNumber file) {
  const size_t entries = manifest.filters.size();
  return file < entries ? manifest.filters[file].seal : manifest.packs[file - entries].seal;
}

std::vector<FileNumber> LargestFirst(const Manifest& manifest) {
  std::vector<FileNumber> order(manifest.filters.size() + manifest.packs.size());
  std::iota(order.begin(), order.end(), FileNumber{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](FileNumber a, FileNumber b) { return SealOf(manifest, a).bytes > SealOf(manifest, b).bytes; });
  return order;
}

// Filters that their own threads are reading, for those to help with that have none of their own left.
class Helping {
 public:
  explicit Helping(size_t files) : unread_(files) {}

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

  // A file was read, or will not be.
  void NoteRead() {
    const core::LockGuard lock(mutex_);
    if (--unread_ == 0) changed_.NotifyAll();
  }

  // For a thread that has no file of its own left to read. Returns once all have been read.
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

// How many threads could find something to do: one for each file, and one for each chunk of the large filters.
uint64_t WorkOf(const Manifest& manifest) {
  uint64_t pieces = manifest.packs.size();
  for (const ManifestEntry& entry : manifest.filters) pieces += 1 + entry.seal.bytes / kDefaultChunkBytes;
  return pieces;
}

class Loader {
 public:
  Loader(const DataDirectory& directory, const Manifest& manifest, const std::vector<uint64_t>& present, Quotas& quotas,
         const core::Clock& clock, const LoadOptions& options)
      : directory_(directory),
        manifest_(manifest),
        present_(present),
        quotas_(quotas),
        clock_(clock),
        expired_unix_ms_(options.expired_unix_ms),
        order_(LargestFirst(manifest)),
        threads_(std::min<uint64_t>(options.threads, WorkOf(manifest))),
        helping_(order_.size()),
        results_{{manifest.filters.size(), core::Result<FilterPtr>(FilterPtr())},
                 {manifest.packs.size(), core::Result<LoadedPack>(LoadedPack())}} {}

  LoadedFilters Run() {
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
    const size_t entries = manifest_.filters.size();
    // Relaxed: it hands out numbers; joining the threads makes the results visible.
    for (size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < order_.size();) {
      const FileNumber file = order_[i];
      if (file < entries) {
        results_.filters[file] = Load(manifest_.filters[file], buffer);
      } else {
        results_.packs[file - entries] = LoadPack(manifest_.packs[file - entries], buffer);
      }
      helping_.NoteRead();
    }
    helping_.Help(buffer);
  }

  // Whether the file should be read at all; the error names it.
  core::Status CheckPresent(uint64_t file_id) const {
    const std::string path = directory_.FilterPath(file_id);
    if (!std::binary_search(present_.begin(), present_.end(), file_id)) {
      return core::Fail(core::ErrorCode::kCorrupt, path + ": is missing, but the manifest lists it");
    }
    if (out_of_memory_.load(std::memory_order_relaxed)) {
      return core::Fail(core::ErrorCode::kOutOfMemory, path + ": not read, memory had run out before");
    }
    return {};
  }

  core::Error Noted(core::Error error) {
    if (error.code == core::ErrorCode::kOutOfMemory) out_of_memory_.store(true, std::memory_order_relaxed);
    return error;
  }

  core::Result<FilterPtr> Load(const ManifestEntry& entry, ChunkBuffer& buffer) {
    if (core::Status status = CheckPresent(entry.file_id); !status) return Explain(entry, std::move(status.error()));
    auto filter = Read(directory_.FilterPath(entry.file_id), entry, buffer);
    if (filter) return FilterPtr(std::move(*filter));
    return Explain(entry, Noted(std::move(filter.error())));
  }

  core::Result<std::unique_ptr<core::Filter>> Read(const std::string& path, const ManifestEntry& entry,
                                                   ChunkBuffer& buffer) {
    core::MemoryBudget& memory = quotas_.MemoryOf(entry.name);
    auto reader = FilterFileReader::Open(directory_.disk(), path, entry.seal, memory, clock_, buffer);
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

  core::Result<LoadedPack> LoadPack(const ManifestPack& listed, ChunkBuffer& buffer) {
    core::Status status = CheckPresent(listed.file_id);
    if (!status) return ExplainPack(listed, std::move(status.error()));
    const std::string path = directory_.FilterPath(listed.file_id);
    core::Result<Pack> pack = Pack::Read(directory_.disk(), path, listed.seal, buffer);
    if (pack && pack->records() != listed.live.size()) {
      pack = core::Fail(core::ErrorCode::kCorrupt, path + ": has " + std::to_string(pack->records()) +
                                                       " records, the manifest says " +
                                                       std::to_string(listed.live.size()));
    }
    if (!pack) return ExplainPack(listed, Noted(std::move(pack.error())));
    LoadedPack loaded;
    loaded.bytes.resize(pack->records());
    for (uint32_t i = 0; i < pack->records(); ++i) {
      loaded.bytes[i] = pack->record_bytes(i);
      if (listed.live[i]) LoadRecord(*pack, i, loaded);
    }
    return loaded;
  }

  void LoadRecord(const Pack& pack, uint32_t record, LoadedPack& loaded) {
    const core::Result<PackedFilter> packed = pack.Record(record);
    if (!packed) return loaded.damaged.push_back({record, packed.error()});
    if (packed->expires_unix_ms != 0 && packed->expires_unix_ms <= expired_unix_ms_) {
      return loaded.expired.push_back(record);
    }
    core::Result<std::unique_ptr<core::Filter>> filter =
        core::DecodeFilter(packed->header, core::AsBytes(packed->body), quotas_.MemoryOf(packed->name), clock_);
    if (!filter) {
      return loaded.damaged.push_back({record, Noted(pack.Located(record, *packed, filter.error()))});
    }
    const uint64_t change_count = (*filter)->ChangeCount();
    loaded.records.push_back({std::string(packed->name), FilterPtr(std::move(*filter)), packed->expires_unix_ms,
                              packed->filter_id, packed->sequence, change_count, record, packed->freezing});
  }

  static core::Result<LoadedPack> ExplainPack(const ManifestPack& pack, core::Error error) {
    const auto filters = std::count(pack.live.begin(), pack.live.end(), true);
    return core::Fail(error.code, error.message + " (" + std::to_string(filters) + " filters)");
  }

  const DataDirectory& directory_;
  const Manifest& manifest_;
  const std::vector<uint64_t>& present_;
  Quotas& quotas_;
  const core::Clock& clock_;
  const int64_t expired_unix_ms_;
  // So that a large filter does not come last, when other threads have nothing left.
  const std::vector<FileNumber> order_;
  const size_t threads_;
  Helping helping_;
  LoadedFilters results_;  // each element is written by one thread
  std::atomic<size_t> next_{0};
  std::atomic<bool> out_of_memory_{false};  // relaxed: seen late, one file more is tried
};

}  // namespace

LoadedFilters LoadFilters(const DataDirectory& directory, const Manifest& manifest,
                          const std::vector<uint64_t>& present, Quotas& quotas, const core::Clock& clock,
                          const LoadOptions& options) {
  return Loader(directory, manifest, present, quotas, clock, options).Run();
}

}  // namespace bitsieve::server
