#include "server/persistence/log/log_replay.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/filter/filter_factory.h"
#include "server/persistence/log/log_content.h"

namespace bitsieve::server {
namespace {

tl::unexpected<core::Error> Contradiction(std::string message) {
  return core::Fail(core::ErrorCode::kCorrupt, std::move(message));
}

// Kept of changes whose filter may yet be replaced by an older one.
constexpr uint64_t kMaxKeptBytes = 256 << 20;

// Of memory, about.
uint64_t BytesOf(const log::Record& record) {
  uint64_t hashes = 0;
  if (const auto* added = std::get_if<log::Added>(&record)) hashes = added->hashes.size();
  if (const auto* removed = std::get_if<log::Removed>(&record)) hashes = removed->hashes.size();
  if (const auto* noted = std::get_if<log::FalsePositives>(&record)) hashes = noted->hashes.size();
  return sizeof record + hashes * sizeof(core::KeyHash);
}

std::string FilterText(uint64_t id) { return "filter " + std::to_string(id); }

}  // namespace

LogReplay::LogReplay(Quotas& quotas, core::FilterClock& clock, uint64_t snapshot_position, uint64_t next_filter_id,
                     LoadImage load_image)
    : quotas_(quotas),
      clock_(clock),
      load_image_(std::move(load_image)),
      snapshot_position_(snapshot_position),
      next_filter_id_(next_filter_id) {}

void LogReplay::ExpectFilters(size_t count) {
  filters_.reserve(count);
  names_.reserve(count);
}

core::Status LogReplay::Add(const std::string& name, uint64_t id, ReplayedFilter filter, int64_t expires_ms) {
  if (id == 0) id = next_filter_id_++;
  if (id >= next_filter_id_) return Contradiction(FilterText(id) + " has an id that the manifest never gave");
  const auto [known, is_new] = filters_.try_emplace(id, std::move(filter));
  if (!is_new) return Contradiction(FilterText(id) + " is in the snapshot twice");
  if (names_.try_emplace(name, ReplayedName{id, expires_ms}).second) return {};
  filters_.erase(known);
  return Contradiction("the name of " + FilterText(id) + " is in the snapshot twice");
}

core::Status LogReplay::Apply(uint64_t position, const log::Record& record) {
  position_ = position;
  if (position < snapshot_position_ && IsOver(record)) {
    // Its file goes with the record.
    if (const auto* image = std::get_if<log::Image>(&record)) image_files_.push_back({position, image->file_id});
    return {};
  }
  return std::visit([this](const auto& each) { return On(each); }, record);
}

// Before the snapshot: what happened to names, to filters that are gone, and to the others up to their images.
bool LogReplay::IsOver(const log::Record& record) const {
  return std::visit(
      [this](const auto& each) {
        if constexpr (requires { each.sequence; }) {
          const auto known = filters_.find(each.id);
          const bool awaited = awaited_.contains({each.id, each.sequence});
          return known == filters_.end() || (each.sequence <= known->second.sequence && !awaited);
        } else {
          return true;
        }
      },
      record);
}

void LogReplay::Finish() {
  clock_.Replay(0);
  std::erase_if(names_, [this](const auto& name) { return !filters_.contains(name.second.id); });
}

// ---- content

core::Status LogReplay::On(const log::Made& made) {
  core::MemoryBudget& memory = quotas_.ForUnnamed();
  auto filter = core::MakeFilter(made.params, memory, clock_);
  if (!filter && filter.error().code != core::ErrorCode::kOutOfMemory) {
    return Contradiction(FilterText(made.id) + " cannot be made: " + filter.error().message);
  }
  if (!filter) return tl::unexpected(std::move(filter.error()));
  next_filter_id_ = std::max(next_filter_id_, made.id + 1);
  filters_[made.id] = {FilterPtr(std::move(*filter)), &memory, 0, false};
  return {};
}

// The file stays until the record goes, whether it is needed or not.
core::Status LogReplay::On(const log::Image& image) {
  const core::Status status =
      Replace(image.id, image.sequence, [&](core::MemoryBudget& memory) { return load_image_(image, memory); });
  if (status) image_files_.push_back({position_, image.file_id});
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
  next_filter_id_ = std::max(next_filter_id_, id + 1);
  const bool awaited = awaited_.erase({id, sequence}) != 0;
  const auto known = filters_.find(id);
  // Whose outcome comes after it lost its name is not needed.
  if (known == filters_.end()) return awaited ? core::Status() : LoadInto(id, sequence, load);
  if (awaited) return LoadRewritten(known->second, id, sequence, load);
  // Nor is one that the snapshot shows a later state of.
  return known->second.sequence <= sequence ? LoadInto(id, sequence, load) : core::Status();
}

core::Status LogReplay::LoadRewritten(ReplayedFilter& filter, uint64_t id, uint64_t sequence, const Load& load) {
  std::vector<log::Record> since = std::move(filter.since_rewritten);
  const auto rewritten = std::find_if(since.begin(), since.end(), [&](const log::Record& record) {
    const auto* each = std::get_if<log::Rewritten>(&record);
    return each != nullptr && each->sequence == sequence;
  });
  if (rewritten == since.end()) {
    return core::Fail(core::ErrorCode::kOutOfMemory,
                      "no memory is left for what changed in " + FilterText(id) + " while a file of it was written");
  }
  for (auto older = awaited_.lower_bound({id, 0}); older != awaited_.end() && *older < std::pair(id, sequence);) {
    older = awaited_.erase(older);
  }
  for (const log::Record& record : since) kept_bytes_ -= BytesOf(record);
  const bool freezing = filter.freezing;
  if (core::Status status = LoadInto(id, sequence, load); !status) return status;
  for (auto later = rewritten + 1; later != since.end(); ++later) {
    const core::Status status = std::visit([this](const auto& each) { return On(each); }, *later);
    if (!status) return status;
  }
  if (const auto now = filters_.find(id); now != filters_.end()) now->second.freezing = freezing;
  return {};
}

core::Status LogReplay::LoadInto(uint64_t id, uint64_t sequence, const Load& load) {
  const auto known = filters_.find(id);
  core::MemoryBudget& memory = known == filters_.end() ? quotas_.ForUnnamed() : *known->second.memory;
  core::Result<FilterPtr> filter = load(memory);
  if (!filter && filter.error().code == core::ErrorCode::kOutOfMemory && filters_.erase(id) != 0) {
    filter = load(memory);  // there may be room for one of the two
  }
  if (!filter) return tl::unexpected(std::move(filter.error()));
  if (*filter == nullptr) {
    filters_.erase(id);
  } else {
    filters_[id] = {std::move(*filter), &memory, sequence, false};
  }
  return {};
}

// Nothing happens to it until its outcome comes, if ever.
core::Status LogReplay::On(const log::Rewritten& rewritten) {
  const core::Result<ReplayedFilter*> found = FilterFor(rewritten.id, rewritten.sequence);
  if (!found) return tl::unexpected(found.error());
  ReplayedFilter* const filter = *found;
  if (filter != nullptr || !filters_.contains(rewritten.id)) awaited_.insert({rewritten.id, rewritten.sequence});
  if (filter == nullptr) return {};
  filter->sequence = rewritten.sequence;
  Keep(*filter, rewritten);
  return {};
}

// An outcome that has not come after so much is one of a command that a crash or the disk ended, and never comes.
void LogReplay::Keep(ReplayedFilter& filter, const log::Record& record) {
  kept_bytes_ += BytesOf(record);
  filter.since_rewritten.push_back(record);
  if (kept_bytes_ <= kMaxKeptBytes) return;
  for (const log::Record& kept : filter.since_rewritten) kept_bytes_ -= BytesOf(kept);
  filter.since_rewritten = {};
}

core::Status LogReplay::CheckKnown(uint64_t id) const {
  if (id != 0 && id < next_filter_id_) return {};
  return Contradiction(FilterText(id) + " was never made");
}

core::Result<ReplayedFilter*> LogReplay::FilterFor(uint64_t id, uint64_t sequence) {
  const auto found = filters_.find(id);
  if (found == filters_.end()) {
    // It lost its name while a client was still adding to it.
    if (core::Status status = CheckKnown(id); !status) return tl::unexpected(std::move(status.error()));
    return nullptr;
  }
  ReplayedFilter& filter = found->second;
  if (sequence <= filter.sequence) return nullptr;
  if (sequence == filter.sequence + 1) return &filter;
  return Contradiction("change " + std::to_string(sequence) + " of " + FilterText(id) + " follows change " +
                       std::to_string(filter.sequence) + ": what lies between is missing");
}

core::Status LogReplay::On(const log::Added& added) {
  const core::Result<ReplayedFilter*> found = FilterFor(added.id, added.sequence);
  if (!found) return tl::unexpected(found.error());
  if (*found == nullptr) return {};
  ReplayedFilter& filter = **found;
  clock_.Replay(added.time_ms);
  outcomes_.resize(added.hashes.size());
  const size_t done = filter.filter->Add(added.hashes, outcomes_);
  for (size_t i = 0; i < added.hashes.size(); ++i) {
    if (i < done && outcomes_[i] <= core::AddOutcome::kAdded) continue;
    if (i < done && outcomes_[i] == core::AddOutcome::kOutOfMemory) {
      return core::Fail(core::ErrorCode::kOutOfMemory, "no memory is left for " + FilterText(added.id) + " to grow");
    }
    return Contradiction(FilterText(added.id) + " refuses an item of change " + std::to_string(added.sequence) +
                         " that it took before");
  }
  filter.sequence = added.sequence;
  if (!filter.since_rewritten.empty()) Keep(filter, added);
  filter.freezing = false;  // if it was taken after it was closed, it was open again
  return {};
}

core::Status LogReplay::On(const log::Removed& removed) {
  const core::Result<ReplayedFilter*> found = FilterFor(removed.id, removed.sequence);
  if (!found) return tl::unexpected(found.error());
  if (*found == nullptr) return {};
  ReplayedFilter& filter = **found;
  if (!filter.filter->capabilities().remove) return Contradiction(FilterText(removed.id) + " cannot remove items");
  removed_.resize(removed.hashes.size());
  if (filter.filter->Remove(removed.hashes, removed_) < removed.hashes.size()) {
    return core::Fail(core::ErrorCode::kOutOfMemory, "no memory is left to remove from " + FilterText(removed.id));
  }
  filter.sequence = removed.sequence;
  if (!filter.since_rewritten.empty()) Keep(filter, removed);
  return {};
}

core::Status LogReplay::On(const log::FalsePositives& noted) {
  const core::Result<ReplayedFilter*> found = FilterFor(noted.id, noted.sequence);
  if (!found) return tl::unexpected(found.error());
  if (*found == nullptr) return {};
  ReplayedFilter& filter = **found;
  if (!filter.filter->capabilities().deny) {
    return Contradiction(FilterText(noted.id) + " cannot note false positives");
  }
  std::vector<core::NoteOutcome> outcomes(noted.hashes.size());
  filter.filter->NoteFalsePositives(noted.hashes, outcomes);
  if (std::ranges::count(outcomes, core::NoteOutcome::kOutOfMemory) != 0) {
    return core::Fail(core::ErrorCode::kOutOfMemory,
                      "no memory is left for the false positives of " + FilterText(noted.id));
  }
  filter.sequence = noted.sequence;
  if (!filter.since_rewritten.empty()) Keep(filter, noted);
  return {};
}

core::Status LogReplay::On(const log::Freezing& freezing) {
  if (const auto found = filters_.find(freezing.id); found != filters_.end()) found->second.freezing = true;
  return CheckKnown(freezing.id);
}

// ---- names. The filter a name had before can no longer be reached: its memory is freed.

void LogReplay::Bind(const std::string& name, ReplayedName to) {
  const auto [at, is_new] = names_.try_emplace(name, to);
  if (is_new) return;
  if (at->second.id != to.id) filters_.erase(at->second.id);
  at->second = to;
}

void LogReplay::Unbind(const std::string& name) {
  const auto found = names_.find(name);
  if (found == names_.end()) return;
  filters_.erase(found->second.id);
  names_.erase(found);
}

core::Status LogReplay::On(const log::Named& named) {
  if (core::Status status = CheckKnown(named.id); !status) return status;
  Bind(named.name, {named.id, named.expires_ms});
  return {};
}

core::Status LogReplay::On(const log::Unnamed& unnamed) {
  Unbind(unnamed.name);
  return {};
}

// A name that is not there had expired before the log began.
core::Status LogReplay::On(const log::Renamed& renamed) {
  const auto found = names_.find(renamed.from);
  if (found == names_.end() || renamed.from == renamed.to) return {};
  const ReplayedName moved = found->second;
  names_.erase(found);
  Bind(renamed.to, moved);
  return {};
}

core::Status LogReplay::On(const log::Expiry& expiry) {
  if (const auto found = names_.find(expiry.name); found != names_.end()) found->second.expires_ms = expiry.expires_ms;
  return {};
}

core::Status LogReplay::On(const log::Flushed&) {
  names_.clear();
  filters_.clear();
  return {};
}

}  // namespace bitsieve::server
