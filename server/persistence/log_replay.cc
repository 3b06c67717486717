#include "server/persistence/log_replay.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/filters/filter_factory.h"

namespace bitsieve::server {
namespace {

tl::unexpected<core::Error> Contradiction(std::string message) {
  return core::Fail(core::ErrorCode::kCorrupt, std::move(message));
}

std::string FilterText(uint64_t id) { return "filter " + std::to_string(id); }

}  // namespace

LogReplay::LogReplay(core::MemoryBudget& budget, ReplayClock& clock, uint64_t next_filter_id, LoadImage load_image)
    : budget_(budget), clock_(clock), load_image_(std::move(load_image)), next_filter_id_(next_filter_id) {}

void LogReplay::Add(const std::string& name, uint64_t id, ReplayedFilter filter, int64_t expires_ms) {
  if (id == 0) id = next_filter_id_++;
  filters_.emplace(id, std::move(filter));
  names_[name] = {id, expires_ms};
}

core::Status LogReplay::Apply(uint64_t position, const log::Record& record) {
  position_ = position;
  return std::visit([this](const auto& each) { return On(each); }, record);
}

void LogReplay::Finish() {
  clock_.Set(0);
  std::erase_if(names_, [this](const auto& name) { return !filters_.contains(name.second.id); });
}

// ---- content

core::Status LogReplay::On(const log::Made& made) {
  auto filter = core::MakeFilter(made.params, budget_, clock_);
  if (!filter && filter.error().code != core::ErrorCode::kOutOfMemory) {
    return Contradiction(FilterText(made.id) + " cannot be made: " + filter.error().message);
  }
  if (!filter) return tl::unexpected(std::move(filter.error()));
  next_filter_id_ = std::max(next_filter_id_, made.id + 1);
  filters_[made.id] = {FilterPtr(std::move(*filter)), 0, false};
  return {};
}

// One that the snapshot shows a later state of is not needed; its file stays until the record goes.
core::Status LogReplay::On(const log::Image& image) {
  next_filter_id_ = std::max(next_filter_id_, image.id + 1);
  const auto known = filters_.find(image.id);
  if (known == filters_.end() || known->second.sequence <= image.sequence) {
    core::Result<FilterPtr> filter = load_image_(image);
    if (!filter && filter.error().code == core::ErrorCode::kOutOfMemory && filters_.erase(image.id) != 0) {
      filter = load_image_(image);  // there may be room for one of the two
    }
    if (!filter) return tl::unexpected(std::move(filter.error()));
    if (*filter == nullptr) {
      filters_.erase(image.id);
    } else {
      filters_[image.id] = {std::move(*filter), image.sequence, false};
    }
  }
  image_files_.push_back({position_, image.file_id});
  return {};
}

core::Status LogReplay::CheckKnown(uint64_t id) const {
  if (id != 0 && id < next_filter_id_) return {};
  return Contradiction(FilterText(id) + " was never made");
}

core::Result<ReplayedFilter*> LogReplay::FilterFor(uint64_t id, uint64_t sequence) {
  const auto found = filters_.find(id);
  if (found == filters_.end()) {
    // It lost its name while somebody still added to it.
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
  clock_.Set(added.time_ms);
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
  filter.freezing = false;  // whoever took it after it was closed was open again
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
  return {};
}

core::Status LogReplay::On(const log::Freezing& freezing) {
  if (const auto found = filters_.find(freezing.id); found != filters_.end()) found->second.freezing = true;
  return CheckKnown(freezing.id);
}

// ---- names. What a name meant before, nobody can ask for any more: its memory is freed.

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
