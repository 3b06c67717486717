#include "server/persistence/log/log_replay.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/filter/change_runs.h"
#include "core/filter/filter_factory.h"
#include "server/persistence/log/log_content.h"

namespace bitsieve::server {

using namespace commands;

namespace {

tl::unexpected<core::Error> Contradiction(std::string message) {
  return core::Fail(core::ErrorCode::kCorrupt, std::move(message));
}

// Maximum bytes of changes that are kept because an older state may yet replace their filter.
constexpr uint64_t kMaxKeptBytes = 256 << 20;

// Returns about how much memory the change takes, in bytes.
uint64_t BytesOf(const log::Changed& change) { return sizeof change + change.hashes.size() * sizeof(core::KeyHash); }

std::string FilterText(uint64_t id) { return "filter " + std::to_string(id); }

}  // namespace

LogReplay::LogReplay(LoadingNames& names, Quotas& quotas, core::FilterClock& clock, const Start& start,
                     LoadImage load_image)
    : names_(names), quotas_(quotas), clock_(clock), start_(start), load_image_(std::move(load_image)) {}

core::Status LogReplay::Apply(uint64_t position, const log::Record& record) {
  position_ = position;
  if (position < start_.snapshot_position && IsOver(record)) {
    // The image's file is removed when the record is.
    if (const auto* image = std::get_if<log::Image>(&record)) filter_files_.push_back({position, image->file_id});
    return {};
  }
  return std::visit([this](const auto& each) { return On(each); }, record);
}

// Returns whether a record before the snapshot has no effect: changes of names, of filters that are gone, and of the
// others up to their images.
bool LogReplay::IsOver(const log::Record& record) {
  return std::visit(
      [this](const auto& each) {
        if constexpr (requires { each.sequence; }) {
          const FilterPtr* const known = Locate(each.id);
          const bool awaited = awaited_.contains({each.id, each.sequence});
          return known == nullptr || (each.sequence <= (*known)->sequence() && !awaited);
        } else {
          return true;
        }
      },
      record);
}

void LogReplay::Finish() {
  clock_.Replay(0);
  for (const auto& [id, entry] : forgotten_) (void)names_.Take(*entry);
  forgotten_.clear();
  for (const auto& [id, memory] : budgets_) {
    if (const Entry* const entry = index_.Find(id)) quotas_.Assign(*memory, entry->name());
  }
  unnamed_.clear();
}

// ---- filters

FilterPtr* LogReplay::Locate(uint64_t id) {
  if (Entry* const entry = index_.Find(id)) return &entry->filter;
  const auto found = unnamed_.find(id);
  return found == unnamed_.end() ? nullptr : &found->second;
}

void LogReplay::SetFilter(uint64_t id, FilterPtr filter) {
  if (const auto forgotten = forgotten_.find(id); forgotten != forgotten_.end()) {
    index_.Put(id, forgotten->second);
    forgotten_.erase(forgotten);
  }
  Entry* const entry = index_.Find(id);
  if (entry == nullptr) {
    unnamed_[id] = std::move(filter);
    return;
  }
  entry->SetSaved({});
  entry->filter = std::move(filter);
}

void LogReplay::Forget(uint64_t id) {
  if (Entry* const entry = index_.Find(id)) {
    forgotten_[id] = entry;
    index_.Erase(id);
    entry->filter.reset();
  }
  unnamed_.erase(id);
}

core::MemoryBudget& LogReplay::MemoryOf(uint64_t id) {
  if (quotas_.empty()) return quotas_.whole();
  if (const auto known = budgets_.find(id); known != budgets_.end()) return *known->second;
  if (const Entry* const entry = index_.Find(id)) return quotas_.MemoryOf(entry->quota());
  return *(budgets_[id] = &quotas_.ForUnnamed());
}

// ---- content

core::Status LogReplay::On(const log::Made& made) {
  if (made.id == 0) return Contradiction("a filter was created without an id");
  auto filter = core::MakeFilter(made.params, MemoryOf(made.id), clock_);
  if (!filter && filter.error().code != core::ErrorCode::kOutOfMemory) {
    return Contradiction(FilterText(made.id) + " cannot be created: " + filter.error().message);
  }
  if (!filter) return tl::unexpected(std::move(filter.error()));
  start_.next_filter_id = std::max(start_.next_filter_id, made.id + 1);
  SetSequence(**filter, made.id, 0);
  SetFilter(made.id, FilterPtr(std::move(*filter)));
  return {};
}

// Keeps the file as long as the record, whether it is needed or not.
core::Status LogReplay::On(const log::Image& image) {
  const core::Status status =
      Replace(image.id, image.sequence, [&](core::MemoryBudget& memory) { return load_image_(image, memory); });
  if (status) filter_files_.push_back({position_, image.file_id});
  return status;
}

core::Status LogReplay::On(const log::Content& content) {
  return Replace(content.id, content.sequence, [&](core::MemoryBudget& memory) -> core::Result<FilterPtr> {
    auto filter = ReadContent(content, memory, clock_);
    if (filter) return FilterPtr(std::move(*filter));
    if (filter.error().code == core::ErrorCode::kOutOfMemory) return tl::unexpected(std::move(filter.error()));
    return Contradiction(FilterText(content.id) + " cannot be read: " + filter.error().message);
  });
}

core::Status LogReplay::Replace(uint64_t id, uint64_t sequence, const Load& load) {
  if (id == 0) return Contradiction("the content of a filter has no id");
  start_.next_filter_id = std::max(start_.next_filter_id, id + 1);
  const bool awaited = awaited_.erase({id, sequence}) != 0;
  const FilterPtr* const known = Locate(id);
  // The outcome of a rewrite is not needed if the filter lost its name before it came.
  if (known == nullptr) return awaited ? core::Status() : LoadInto(id, sequence, load);
  if (awaited) return LoadRewritten(id, sequence, load);
  // Nor is content of which the snapshot shows a later state.
  if ((*known)->sequence() > sequence) return {};
  freezing_.erase(id);
  return LoadInto(id, sequence, load);
}

core::Status LogReplay::LoadRewritten(uint64_t id, uint64_t sequence, const Load& load) {
  const std::vector<log::Changed> since = DropKept(id);
  const auto rewritten = std::ranges::find_if(since, [&](const log::Changed& change) {
    return change.kind == core::ChangeKind::kRewritten && change.sequence == sequence;
  });
  if (rewritten == since.end()) {
    return core::Fail(core::ErrorCode::kOutOfMemory,
                      "out of memory for the changes of " + FilterText(id) + " while a file of it was written");
  }
  for (auto older = awaited_.lower_bound({id, 0}); older != awaited_.end() && *older < std::pair(id, sequence);) {
    older = awaited_.erase(older);
  }
  const bool freezing = freezing_.contains(id);
  if (core::Status status = LoadInto(id, sequence, load); !status) return status;
  for (auto later = rewritten + 1; later != since.end(); ++later) {
    if (core::Status status = On(*later); !status) return status;
  }
  if (freezing && Locate(id) != nullptr) freezing_.insert(id);
  return {};
}

core::Status LogReplay::LoadInto(uint64_t id, uint64_t sequence, const Load& load) {
  core::MemoryBudget& memory = MemoryOf(id);
  core::Result<FilterPtr> filter = load(memory);
  if (!filter && filter.error().code == core::ErrorCode::kOutOfMemory && Locate(id) != nullptr) {
    Forget(id);
    filter = load(memory);  // there may be room for one of the two
  }
  if (!filter) return tl::unexpected(std::move(filter.error()));
  if (*filter == nullptr) {
    Forget(id);
  } else {
    SetSequence(**filter, id, sequence);
    SetFilter(id, std::move(*filter));
  }
  return {};
}

// Keeps the change if its filter awaits an outcome. An outcome that has not come after kMaxKeptBytes is of a command
// that a crash or the disk ended, and never comes.
void LogReplay::Keep(const log::Changed& change) {
  if (since_rewritten_.empty()) return;
  const auto kept = since_rewritten_.find(change.id);
  if (kept == since_rewritten_.end()) return;
  kept_bytes_ += BytesOf(change);
  kept->second.push_back(change);
  if (kept_bytes_ > kMaxKeptBytes) DropKept(change.id);
}

std::vector<log::Changed> LogReplay::DropKept(uint64_t id) {
  auto kept = since_rewritten_.extract(id);
  if (!kept) return {};
  for (const log::Changed& change : kept.mapped()) kept_bytes_ -= BytesOf(change);
  return std::move(kept.mapped());
}

core::Status LogReplay::CheckKnown(uint64_t id) const {
  if (id != 0 && id < start_.next_filter_id) return {};
  return Contradiction(FilterText(id) + " was never created");
}

core::Result<core::Filter*> LogReplay::FilterFor(uint64_t id, uint64_t sequence) {
  const FilterPtr* const found = Locate(id);
  if (found == nullptr) {
    // The filter lost its name while a client was still adding to it.
    if (core::Status status = CheckKnown(id); !status) return tl::unexpected(std::move(status.error()));
    return nullptr;
  }
  core::Filter& filter = **found;
  const uint64_t last = filter.sequence();
  if (sequence <= last) return nullptr;
  if (sequence == last + 1) {
    filter.Attach(nullptr, id, last);
    return &filter;
  }
  return Contradiction("change " + std::to_string(sequence) + " of " + FilterText(id) + " follows change " +
                       std::to_string(last) + ": the changes between them are missing");
}

core::Status LogReplay::On(const log::Changed& change) {
  const core::Result<core::Filter*> found = FilterFor(change.id, change.sequence);
  if (!found) return tl::unexpected(found.error());
  const bool is_rewrite = change.kind == core::ChangeKind::kRewritten;
  if (is_rewrite && (*found != nullptr || Locate(change.id) == nullptr)) awaited_.insert({change.id, change.sequence});
  if (*found == nullptr) return {};
  core::Filter& filter = **found;
  if (core::Status status = Repeat(filter, change); !status) return status;
  SetSequence(filter, change.id, change.sequence);
  if (is_rewrite) since_rewritten_.try_emplace(change.id);
  Keep(change);
  return {};
}

core::Status LogReplay::Repeat(core::Filter& filter, const log::Changed& change) {
  clock_.Replay(change.time_ms);
  const core::Change repeated{change.kind, change.id, change.sequence, change.time_ms, change.hashes, change.until_ms};
  if (const core::Status status = core::RepeatChange(filter, repeated); !status) {
    const std::string& problem = status.error().message;
    if (status.error().code == core::ErrorCode::kOutOfMemory) {
      return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for " + FilterText(change.id) + " " + problem);
    }
    return Contradiction(FilterText(change.id) + " " + problem + ", in change " + std::to_string(change.sequence));
  }
  // If items were added after the filter was closed, it was open again.
  if (change.kind == core::ChangeKind::kAdded && !freezing_.empty()) freezing_.erase(change.id);
  return {};
}

core::Status LogReplay::On(const log::Freezing& freezing) {
  if (Locate(freezing.id) != nullptr) freezing_.insert(freezing.id);
  return CheckKnown(freezing.id);
}

std::vector<const Entry*> LogReplay::Freezing() const {
  std::vector<const Entry*> entries;
  for (const uint64_t id : freezing_) {
    if (const Entry* const entry = index_.Find(id)) entries.push_back(entry);
  }
  return entries;
}

// ---- names. The filter a name had before can no longer be reached: its memory is freed.

// An entry without a filter was forgotten.
uint64_t LogReplay::IdOf(const Entry& entry) const {
  if (entry.filter != nullptr) return entry.filter->id();
  const auto found =
      std::ranges::find_if(forgotten_, [&](const auto& forgotten) { return forgotten.second == &entry; });
  return found == forgotten_.end() ? 0 : found->first;
}

void LogReplay::Release(Entry& entry) {
  const uint64_t id = IdOf(entry);
  index_.Erase(id);
  forgotten_.erase(id);
  if (!freezing_.empty()) freezing_.erase(id);
  DropKept(id);
  entry.filter.reset();
}

core::Status LogReplay::Bind(const std::string& name, uint64_t id, int64_t expires_ms) {
  if (index_.Find(id) != nullptr && names_.Find(name) != index_.Find(id)) {
    return Contradiction(FilterText(id) + " has a second name");
  }
  Entry* entry = names_.Find(name);
  if (entry == nullptr) {
    EntryPtr made = names_.Make(name);
    if (made == nullptr) return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for a name");
    entry = made.get();
    names_.Insert({&made, 1});
  } else if (IdOf(*entry) != id) {
    Release(*entry);
  }
  entry->SetStamp(names_.NewStamps(1));
  entry->expires_ms = expires_ms;
  if (expires_ms != 0) names_.IndexExpiry(*entry);
  if (auto filter = unnamed_.extract(id)) entry->filter = std::move(filter.mapped());
  if (entry->filter != nullptr) {
    index_.Put(id, entry);
  } else {
    forgotten_[id] = entry;
  }
  return {};
}

core::Status LogReplay::On(const log::Named& named) {
  if (core::Status status = CheckKnown(named.id); !status) return status;
  return Bind(named.name, named.id, named.expires_ms);
}

core::Status LogReplay::On(const log::Unnamed& unnamed) {
  if (Entry* const entry = names_.Find(unnamed.name)) {
    Release(*entry);
    (void)names_.Take(*entry);
  }
  return {};
}

// A name that is not there had expired before the log began.
core::Status LogReplay::On(const log::Renamed& renamed) {
  Entry* const from = names_.Find(renamed.from);
  if (from == nullptr || renamed.from == renamed.to) return {};
  const uint64_t id = IdOf(*from);
  const EntryPtr moved = names_.Take(*from);
  index_.Erase(id);
  forgotten_.erase(id);
  if (moved->filter != nullptr) unnamed_[id] = std::move(moved->filter);
  return Bind(renamed.to, id, moved->expires_ms);
}

core::Status LogReplay::On(const log::Expiry& expiry) {
  Entry* const entry = names_.Find(expiry.name);
  if (entry == nullptr) return {};
  entry->SetStamp(names_.NewStamps(1));
  entry->expires_ms = expiry.expires_ms;
  if (expiry.expires_ms != 0) names_.IndexExpiry(*entry);
  return {};
}

core::Status LogReplay::On(const log::Flushed&) {
  names_.Clear();
  index_.Clear();
  unnamed_.clear();
  forgotten_.clear();
  freezing_.clear();
  since_rewritten_.clear();
  kept_bytes_ = 0;
  return {};
}

}  // namespace bitsieve::server
