// log_replay.h: what the records of the log make of a snapshot: which names mean which filters, and what those hold.
// Confined to the thread that recovers.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "server/keyspace/keyspace.h"
#include "server/keyspace/quotas.h"
#include "server/persistence/log/log_record.h"
#include "server/persistence/log/log_writer.h"

namespace bitsieve::server {

struct ReplayedFilter {
  FilterPtr filter;
  core::MemoryBudget* memory = nullptr;  // that it was made with
  uint64_t sequence = 0;                 // of the last change that it has
  bool freezing = false;
  uint64_t mark = 0;  // the caller's, of the filter that it gave to Add; 0: another one took its place
  // A log::Rewritten whose outcome has not come yet, and the changes since: what comes may be older than they are.
  std::vector<log::Record> since_rewritten = {};
};

struct ReplayedName {
  uint64_t id = 0;
  int64_t expires_ms = 0;  // 0: never
};

class LogReplay {
 public:
  // Reads the filter file of an image; null: it is damaged, and was set aside, so that the filter is to be forgotten.
  using LoadImage = std::function<core::Result<FilterPtr>(const log::Image& image, core::MemoryBudget& memory)>;

  // The snapshot has the names of `snapshot_position`, and the next number of a filter. All outlive the replay; the
  // clock outlives the filters.
  LogReplay(Quotas& quotas, core::FilterClock& clock, uint64_t snapshot_position, uint64_t next_filter_id,
            LoadImage load_image);

  // About so many calls of Add follow: tables that grow on the way are filled twice.
  void ExpectFilters(size_t count);
  // A filter of the snapshot. One without an id gets one. kCorrupt: name or id are another filter's.
  core::Status Add(const std::string& name, uint64_t id, ReplayedFilter filter, int64_t expires_ms);
  // Of records before the snapshot's position, what they change in filters that the snapshot still has. kCorrupt: the
  // record does not follow from the current state. kOutOfMemory: the budget refuses what it needs. An
  // error leaves the state unchanged.
  core::Status Apply(uint64_t position, const log::Record& record);
  // After the last record; the clock shows the system's time again.
  void Finish();

  // Names of filters that were forgotten are not among them.
  const std::unordered_map<std::string, ReplayedName>& names() const { return names_; }
  const ReplayedFilter& filter(uint64_t id) const { return filters_.at(id); }
  const std::vector<LogImageFile>& image_files() const { return image_files_; }
  uint64_t next_filter_id() const { return next_filter_id_; }

 private:
  bool IsOver(const log::Record& record) const;

  core::Status On(const log::Made& made);
  core::Status On(const log::Image& image);
  core::Status On(const log::Added& added);
  core::Status On(const log::Removed& removed);
  core::Status On(const log::FalsePositives& noted);
  core::Status On(const log::Freezing& freezing);
  core::Status On(const log::Named& named);
  core::Status On(const log::Unnamed& unnamed);
  core::Status On(const log::Renamed& renamed);
  core::Status On(const log::Expiry& expiry);
  core::Status On(const log::Flushed& flushed);
  core::Status On(const log::Rewritten& rewritten);
  core::Status On(const log::Content& content);

  // The filter of this id is what `load` brings, of this sequence, if that is not older than what is known.
  using Load = std::function<core::Result<FilterPtr>(core::MemoryBudget& memory)>;
  core::Status Replace(uint64_t id, uint64_t sequence, const Load& load);
  core::Status LoadInto(uint64_t id, uint64_t sequence, const Load& load);
  // The same of one that has gone on beyond this sequence: what it did since is done again.
  core::Status LoadRewritten(ReplayedFilter& filter, uint64_t id, uint64_t sequence, const Load& load);
  void Keep(ReplayedFilter& filter, const log::Record& record);

  // Null, with kCorrupt if there never was one of this id, or if the change does not follow the last one; null without
  // an error if there is nothing to do.
  core::Result<ReplayedFilter*> FilterFor(uint64_t id, uint64_t sequence);
  core::Status CheckKnown(uint64_t id) const;
  void Bind(const std::string& name, ReplayedName to);
  void Unbind(const std::string& name);

  Quotas& quotas_;
  core::FilterClock& clock_;
  const LoadImage load_image_;
  const uint64_t snapshot_position_;
  uint64_t next_filter_id_;
  uint64_t position_ = 0;
  std::unordered_map<uint64_t, ReplayedFilter> filters_;
  std::unordered_map<std::string, ReplayedName> names_;
  std::vector<LogImageFile> image_files_;
  std::set<std::pair<uint64_t, uint64_t>> awaited_;  // filter and sequence of each log::Rewritten without its outcome
  uint64_t kept_bytes_ = 0;                          // of all `since_rewritten`
  // Reused.
  std::vector<core::AddOutcome> outcomes_;
  std::vector<uint8_t> removed_;
};

}  // namespace bitsieve::server
