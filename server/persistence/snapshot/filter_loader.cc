#include "server/persistence/snapshot/filter_loader.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/out_of_memory.h"
#include "core/base/quote.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/disk/filter_file.h"
#include "server/persistence/disk/pack.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// The number of a file to be read: that of an entry or, with numbers above those, that of a pack.
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

// Filters that are being read by one thread each; threads with no file of their own left help with them.
class Helping {
 public:
  explicit Helping(size_t files) : unread_(files) {}

  // Lets other threads read the filter too, until Withdraw returns, which waits for them.
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

  // Records that a file was read, or will not be.
  void CountRead() {
    const core::LockGuard lock(mutex_);
    if (--unread_ == 0) changed_.NotifyAll();
  }

  // Reads offered filters, in a thread that has no file of its own left to read. Returns once all have been read.
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

// Returns how many threads could find something to do: one for each file, and one for each chunk of the large filters.
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
        options_(options),
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
        results_.filters[file] = core::OrOutOfMemory([&] { return Load(manifest_.filters[file], buffer); });
      } else {
        const size_t pack = file - entries;
        results_.packs[pack] = core::OrOutOfMemory(
            [&] { return LoadPack(manifest_.packs[pack], static_cast<uint32_t>(pack + 1), buffer); });
      }
      helping_.CountRead();
    }
    helping_.Help(buffer);
  }

  // Checks whether the file should be read at all; the error names it.
  core::Status CheckPresent(uint64_t file_id) const {
    const std::string path = directory_.FilterPath(file_id);
    if (!std::binary_search(present_.begin(), present_.end(), file_id)) {
      return core::Fail(core::ErrorCode::kCorrupt, path + ": is missing, but the manifest lists it");
    }
    if (out_of_memory_.load(std::memory_order_relaxed)) {
      return core::Fail(core::ErrorCode::kOutOfMemory, path + ": not read, since memory had already run out");
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

  core::Result<LoadedPack> LoadPack(const ManifestPack& listed, uint32_t number, ChunkBuffer& buffer) {
    core::Status status = CheckPresent(listed.file_id);
    if (!status) return ExplainPack(listed, std::move(status.error()));
    const std::string path = directory_.FilterPath(listed.file_id);
    core::Result<Pack> pack = Pack::Read(directory_.disk(), path, listed.seal, buffer);
    if (pack && pack->records() != listed.live.size()) {
      pack = core::Fail(core::ErrorCode::kCorrupt, path + ": has " + std::to_string(pack->records()) +
                                                       " records, but the manifest says " +
                                                       std::to_string(listed.live.size()));
    }
    if (!pack) return ExplainPack(listed, Noted(std::move(pack.error())));
    return LoadRecords(listed, number, *pack);
  }

  // The outcome of reading a pack, until it is in the table of names.
  struct Records {
    LoadedPack loaded;
    std::shared_ptr<PackRecords> saved = std::make_shared<PackRecords>();
    std::vector<EntryPtr> entries;
    std::vector<uint32_t> numbers;  // of the records of the entries
  };

  LoadedPack LoadRecords(const ManifestPack& listed, uint32_t number, const Pack& pack) {
    Records records;
    records.loaded.number = number;
    records.loaded.records.resize(pack.records());
    records.saved->Reserve(pack.records());
    records.entries.reserve(pack.records());
    records.numbers.reserve(pack.records());
    for (uint32_t i = 0; i < pack.records(); ++i) {
      if (!listed.live[i] || !LoadRecord(pack, i, records)) records.saved->AddUnknown(pack.record_bytes(i));
    }
    InsertNames(pack, records);
    records.loaded.saved = std::move(records.saved);
    return std::move(records.loaded);
  }

  // Returns false if the record is damaged or has expired.
  bool LoadRecord(const Pack& pack, uint32_t record, Records& records) {
    LoadedPack& loaded = records.loaded;
    const core::Result<PackedFilter> packed = pack.Record(record);
    if (!packed) {
      loaded.damaged.push_back({record, packed.error()});
      return false;
    }
    if (packed->expires_unix_ms != 0 && packed->expires_unix_ms <= options_.expired_unix_ms) {
      loaded.expired.push_back(record);
      return false;
    }
    core::Result<EntryPtr> entry = MakeEntry(*packed);
    if (!entry) {
      loaded.damaged.push_back({record, Noted(pack.Located(record, *packed, entry.error()))});
      return false;
    }
    const core::Filter& filter = *(*entry)->filter;
    if (packed->freezing) loaded.freezing.push_back(record);
    loaded.records[record] = {filter.id(), entry->get()};
    records.saved->Add(pack.record_bytes(record), ChangesOf(packed->sequence, filter.ChangeCount()));
    records.numbers.push_back(record);
    records.entries.push_back(std::move(*entry));
    return true;
  }

  core::Result<EntryPtr> MakeEntry(const PackedFilter& packed) {
    if (packed.filter_id >= manifest_.next_filter_id) {
      return core::Fail(core::ErrorCode::kCorrupt,
                        "filter " + std::to_string(packed.filter_id) + " has an id that the manifest never gave");
    }
    core::Result<std::unique_ptr<core::Filter>> filter =
        core::DecodeFilter(packed.header, core::AsBytes(packed.body), quotas_.MemoryOf(packed.name), clock_);
    if (!filter) return tl::unexpected(std::move(filter.error()));
    EntryPtr entry = options_.names.Make(packed.name);
    if (entry == nullptr) return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for its name");
    const uint64_t id =
        packed.filter_id != 0 ? packed.filter_id : options_.next_filter_id.fetch_add(1, std::memory_order_relaxed);
    (*filter)->Attach(options_.listener, id, packed.sequence);
    entry->filter = FilterPtr(std::move(*filter));
    entry->expires_ms = packed.expires_unix_ms;
    return entry;
  }

  void InsertNames(const Pack& pack, Records& records) {
    LoadedPack& loaded = records.loaded;
    const uint64_t stamp = options_.names.NewStamps(records.entries.size());
    for (size_t i = 0; i < records.entries.size(); ++i) {
      Entry& entry = *records.entries[i];
      entry.SetStamp(stamp + i);
      const SavedPlace place{loaded.number, records.numbers[i]};
      const bool is_noted = place.pack < SavedPlace::kMaxPacks && place.record < SavedPlace::kMaxRecords;
      if (is_noted) entry.SetSaved(place);
    }
    // Filters that may be freezing are written again by the next snapshot: whether they are may change without a trace.
    for (const uint32_t record : loaded.freezing) loaded.records[record].entry->SetSaved({});
    options_.names.Insert(records.entries);
    loaded.loaded = records.entries.size();
    for (size_t i = 0; i < records.entries.size(); ++i) {
      if (records.entries[i] == nullptr) continue;
      --loaded.loaded;
      loaded.records[records.numbers[i]] = {};
      const PackedFilter packed{.name = records.entries[i]->name(), .header = {}, .body = {}};
      const core::Error twice{core::ErrorCode::kCorrupt, "its name is in the snapshot twice"};
      loaded.damaged.push_back({records.numbers[i], pack.Located(records.numbers[i], packed, twice)});
    }
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
  const LoadOptions& options_;
  // The largest file comes first, so that a large filter is not read last, when other threads have nothing left.
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
