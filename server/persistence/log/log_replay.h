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
#include "server/keyspace/loading_names.h"
#include "server/keyspace/quotas.h"
#include "server/persistence/log/id_index.h"
#include "server/persistence/log/log_record.h"

namespace bitsieve::server {

class LogReplay {
 public:
  // Reads the filter file of an image; null: it is damaged, and was set aside, so that the filter is to be forgotten.
  using LoadImage =
      std::function<core::Result<commands::FilterPtr>(const log::Image& image, core::MemoryBudget& memory)>;

  // Where the replay begins.
  struct Start {
    uint64_t snapshot_position = 0;  // the snapshot has the names as of there
    uint64_t next_filter_id = 1;
    // The listener that filters have, or get; null: none. It is not notified of what is replayed.
    core::ChangeListener* listener = nullptr;
  };
  // `names` has what the snapshot has: filters with their ids and sequences. All outlive the replay; the clock outlives
  // the filters.
  LogReplay(LoadingNames& names, Quotas& quotas, core::FilterClock& clock, const Start& start, LoadImage load_image);

  // Reserves room for about `count` calls of Add: tables that grow later are filled twice.
  void ExpectFilters(size_t count) { index_.Reserve(count); }
  // Adds a name of the snapshot. All must be added before the first record; if no record comes, none need be.
  void Add(uint64_t id, Entry& entry) { index_.Put(id, &entry); }
  // Adds a filter that was closed when the snapshot was made. Needed even if no record comes.
  void AddFreezing(uint64_t id, Entry& entry) {
    Add(id, entry);
    freezing_.insert(id);
  }
  // Applies the record. If it lies before the snapshot's position, only what it changes in filters that the snapshot
  // still has is applied. kCorrupt: the record does not follow from the current state. kOutOfMemory: the budget refuses
  // what it needs. An error leaves the state unchanged.
  core::Status Apply(uint64_t position, const log::Record& record);
  // Call after the last record: the clock shows the system's time again, and names of filters that were forgotten are
  // removed.
  void Finish();

  // Returns the names of filters that are closed, to be frozen.
  std::vector<const Entry*> Freezing() const;
  const std::vector<log::FilterFile>& filter_files() const { return filter_files_; }
  uint64_t next_filter_id() const { return start_.next_filter_id; }

 private:
  bool IsOver(const log::Record& record);

  core::Status On(const log::Made& made);
  core::Status On(const log::Image& image);
  core::Status On(const log::Changed& change);
  core::Status On(const log::Freezing& freezing);
  core::Status On(const log::Named& named);
  core::Status On(const log::Unnamed& unnamed);
  core::Status On(const log::Renamed& renamed);
  core::Status On(const log::Expiry& expiry);
  core::Status On(const log::Flushed& flushed);
  core::Status On(const log::Content& content);

  // Replaces the filter of this id by what `load` brings, which has this sequence, unless that is older than what is
  // known.
  using Load = std::function<core::Result<commands::FilterPtr>(core::MemoryBudget& memory)>;
  core::Status Replace(uint64_t id, uint64_t sequence, const Load& load);
  core::Status LoadInto(uint64_t id, uint64_t sequence, const Load& load);
  // Does the same with a filter that has changed beyond this sequence: the later changes are applied again.
  core::Status LoadRewritten(uint64_t id, uint64_t sequence, const Load& load);
  void Keep(const log::Changed& change);
  // Returns what was kept of the filter.
  std::vector<log::Changed> DropKept(uint64_t id);

  // Makes the change again in the filter, which misses no change before it.
  core::Status Repeat(core::Filter& filter, const log::Changed& change);
  // Returns null, with kCorrupt if there never was a filter of this id, or if the change does not follow the last one;
  // null without an error if there is nothing to do. A filter that is returned has no listener until SetSequence.
  core::Result<core::Filter*> FilterFor(uint64_t id, uint64_t sequence);
  core::Status CheckKnown(uint64_t id) const;
  // Call after a change of the filter.
  void SetSequence(core::Filter& filter, uint64_t id, uint64_t sequence) const {
    filter.Attach(start_.listener, id, sequence);
  }

  // Returns where the filter of this id is; null if there is none.
  commands::FilterPtr* Locate(uint64_t id);
  // Sets the filter of this id.
  void SetFilter(uint64_t id, commands::FilterPtr filter);
  // Drops the filter; its name, if it has one, stays and may get a filter of this id again.
  void Forget(uint64_t id);
  // Returns the budget that the filter of this id was made with, or is to be made with.
  core::MemoryBudget& MemoryOf(uint64_t id);
  core::Status Bind(const std::string& name, uint64_t id, int64_t expires_ms);
  // Drops the entry's filter and what was kept of its changes.
  void Release(Entry& entry);
  uint64_t IdOf(const Entry& entry) const;

  LoadingNames& names_;
  Quotas& quotas_;
  core::FilterClock& clock_;
  Start start_;
  const LoadImage load_image_;
  uint64_t position_ = 0;
  // A filter with a name is in its entry. All others are few.
  IdIndex index_;
  std::unordered_map<uint64_t, commands::FilterPtr> unnamed_;  // made, and not named yet
  std::unordered_map<uint64_t, Entry*> forgotten_;             // names whose filters are gone, by their ids
  std::unordered_map<uint64_t, core::MemoryBudget*> budgets_;  // of filters that were made before they had names
  std::set<uint64_t> freezing_;
  // A rewrite whose outcome has not come yet, and the changes since: what comes may be older than they are.
  std::unordered_map<uint64_t, std::vector<log::Changed>> since_rewritten_;
  std::vector<log::FilterFile> filter_files_;
  std::set<std::pair<uint64_t, uint64_t>> awaited_;  // filter and sequence of each rewrite without its outcome
  uint64_t kept_bytes_ = 0;                          // of all `since_rewritten_`
};

}  // namespace bitsieve::server
