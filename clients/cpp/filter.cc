#include "clients/cpp/filter.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "clients/cpp/filter_options.h"
#include "clients/cpp/lookups.h"
#include "clients/cpp/mapped_file.h"
#include "clients/cpp/whole_file.h"
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/filter/dump_check.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "core/filter/filter_fold.h"
#include "core/filter/filter_union.h"
#include "core/filter/staging.h"

namespace bitsieve {

// The filter may read from `file` and takes memory from `budget`: both outlive it.
struct Filter::State {
  core::MemoryBudget budget;
  clients::MappedFile file;
  std::unique_ptr<const core::Filter> mapped;  // one of the two is null
  core::FilterPtr changeable;
  const core::Filter* filter = nullptr;  // the other one

  void Take(core::FilterPtr made) {
    changeable = std::move(made);
    filter = changeable.get();
  }
};

namespace {

using clients::ForBatches;
using clients::kBatch;

// Never destroyed: filters may outlive static objects.
const core::Clock& LibraryClock() {
  static const auto& clock = *new core::FilterClock;
  return clock;
}

Error RefusalOf(const core::Filter& filter, core::AddOutcome outcome) {
  switch (outcome) {
    case core::AddOutcome::kPresent:
    case core::AddOutcome::kAdded:
    case core::AddOutcome::kRenewed:
      break;
    case core::AddOutcome::kFull:
      return {ErrorCode::kFull, "the filter is full: it has a capacity of " + std::to_string(filter.Info().capacity) +
                                    " items, and its expansion is 0"};
    case core::AddOutcome::kOutOfMemory:
      return {ErrorCode::kOutOfMemory, "out of memory for another item"};
    case core::AddOutcome::kCannotGrow:
      return {ErrorCode::kFull, "the filter is full, and the error rate of another sub-filter would be too small"};
    case core::AddOutcome::kFrozen:
      return {ErrorCode::kUnsupported, "the filter is frozen: it accepts no further items"};
    case core::AddOutcome::kWindowFull:
      return {ErrorCode::kFull, "the window is full: more items than its capacity arrived within it"};
  }
  assert(false && "no refusal");
  return {ErrorCode::kFull, ""};
}

// Not inlined, nor is CannotAdd: the registers that they need would be saved for each item.
[[gnu::noinline]] Result<bool> Refused(const core::Filter& filter, core::AddOutcome outcome) {
  return tl::unexpected(RefusalOf(filter, outcome));
}

tl::unexpected<Error> Mapped() {
  return core::Fail(ErrorCode::kUnsupported,
                    "the filter is mapped from a file and cannot change; load the file instead");
}

[[gnu::noinline]] Result<bool> CannotAdd() { return Mapped(); }

tl::unexpected<Error> Unable(const core::Filter& filter, std::string_view what,
                             bool (*able)(const core::FilterTypeRow& row)) {
  return core::Fail(ErrorCode::kUnsupported, core::CannotText(filter.type(), what, able));
}

tl::unexpected<Error> CannotExpire(const core::Filter& filter) {
  return Unable(filter, "expire items", [](const core::FilterTypeRow& row) { return row.can.expire; });
}

// Sets added[i] to whether outcome i is that of a new item. Returns the first refusal.
Status ReadOutcomes(const core::Filter& filter, std::span<const core::AddOutcome> outcomes, uint8_t* added) {
  uint8_t is_any_refused = 0;  // bytes only, which the compiler handles many at a time
  for (size_t i = 0; i < outcomes.size(); ++i) {
    added[i] = outcomes[i] == core::AddOutcome::kAdded ? 1 : 0;
    is_any_refused |= core::IsRefused(outcomes[i]) ? 1 : 0;
  }
  if (is_any_refused == 0) [[likely]]
    return {};
  return tl::unexpected(RefusalOf(filter, *std::ranges::find_if(outcomes, core::IsRefused)));
}

Status AddTo(core::Filter& filter, std::span<const std::string_view> items, std::span<uint8_t> added,
             const core::ItemTime& time) {
  assert(items.size() == added.size());
  std::ranges::fill(added, uint8_t{0});
  constexpr auto kPrefetch = &core::Filter::PrefetchToAdd;
  return ForBatches(filter, kPrefetch, items, [&](size_t first, std::span<const core::KeyHash> hashes) -> Status {
    std::array<core::AddOutcome, kBatch> outcomes;
    const size_t done = filter.Add(hashes, std::span(outcomes).first(hashes.size()), time);
    return ReadOutcomes(filter, std::span(outcomes).first(done), added.data() + first);
  });
}

// Nothing is allocated on the word of a dump: no type takes more than a few times its bytes.
Result<std::unique_ptr<core::Filter>> Read(std::span<const std::byte> dump, core::MemoryBudget& budget) {
  constexpr uint64_t kMaxPerByte = 8, kOwnBytes = 64 << 20;
  constexpr size_t kPieceBytes = 1 << 20;  // read while they are in the processor's cache
  budget.set_limit_bytes(dump.size() * kMaxPerByte + kOwnBytes);
  const Result<core::OpenedDump> opened = core::OpenFilterDump(core::AsText(dump), budget, LibraryClock());
  if (!opened) return tl::unexpected(opened.error());
  for (auto rest = dump.subspan(opened->head_bytes); !rest.empty();) {
    const std::span<const std::byte> piece = rest.first(std::min(kPieceBytes, rest.size()));
    if (Status status = opened->decoder->Append(piece); !status) return tl::unexpected(status.error());
    rest = rest.subspan(piece.size());
  }
  Result<std::unique_ptr<core::Filter>> filter = opened->decoder->Finish();
  budget.set_limit_bytes(0);
  return filter;
}

tl::unexpected<Error> WithPath(const std::string& path, const Error& error) {
  return core::Fail(error.code, path + ": " + error.message);
}

}  // namespace

Filter::Filter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Filter::Filter(Filter&& other) noexcept = default;
Filter& Filter::operator=(Filter&& other) noexcept = default;
Filter::~Filter() = default;

Result<Filter> Filter::Make(const FilterOptions& options) {
  const Result<core::FilterParams> params = clients::ParamsOf(options);
  if (!params) return tl::unexpected(params.error());
  auto state = std::make_unique<State>();
  state->budget.set_limit_bytes(options.memory_limit_bytes);
  Result<std::unique_ptr<core::Filter>> filter = core::MakeFilter(*params, state->budget, LibraryClock());
  if (!filter) return tl::unexpected(std::move(filter).error());
  state->Take(std::move(*filter));
  return Filter(std::move(state));
}

Result<Filter> Filter::Load(const std::string& path) {
  Result<clients::MappedFile> file = clients::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  file->ExpectWholeReads();
  Result<Filter> filter = FromBytes(core::AsText(file->bytes()));
  return filter ? std::move(filter) : WithPath(path, filter.error());
}

Result<Filter> Filter::FromBytes(std::string_view dump) {
  auto state = std::make_unique<State>();
  Result<std::unique_ptr<core::Filter>> filter = Read(core::AsBytes(dump), state->budget);
  if (!filter) return tl::unexpected(std::move(filter).error());
  state->Take(std::move(*filter));
  return Filter(std::move(state));
}

Result<Filter> Filter::Map(const std::string& path) {
  Result<clients::MappedFile> file = clients::MappedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  auto state = std::make_unique<State>();
  state->file = std::move(*file);
  // Measured on a disk that reads 8 MB ahead: without, the first thousand lookups take ten times as long.
  state->file.ExpectScatteredReads();
  Result<std::unique_ptr<const core::Filter>> filter = core::MapFilterDump(state->file.bytes(), state->budget);
  if (!filter) return WithPath(path, filter.error());
  state->mapped = std::move(*filter);
  state->filter = state->mapped.get();
  return Filter(std::move(state));
}

Result<bool> Filter::Add(std::string_view item) {
  if (state_->changeable == nullptr) [[unlikely]]
    return CannotAdd();
  core::Filter& filter = *state_->changeable;
  core::KeyHash hash;
  filter.HashInto(hash, item);
  const core::AddOutcome outcome = filter.AddOne(hash);
  if (core::IsRefused(outcome)) [[unlikely]]
    return Refused(filter, outcome);
  return outcome == core::AddOutcome::kAdded;
}

Status Filter::Add(std::span<const std::string_view> items, std::span<uint8_t> added) {
  if (state_->changeable == nullptr) return Mapped();
  return AddTo(*state_->changeable, items, added, {});
}

Result<bool> Filter::Add(std::string_view item, std::chrono::milliseconds time_to_live) {
  uint8_t added = 0;
  if (Status status = Add({&item, 1}, {&added, 1}, time_to_live); !status) return tl::unexpected(status.error());
  return added != 0;
}

Status Filter::Add(std::span<const std::string_view> items, std::span<uint8_t> added,
                   std::chrono::milliseconds time_to_live) {
  if (state_->changeable == nullptr) return Mapped();
  core::Filter& filter = *state_->changeable;
  if (!filter.capabilities().expire) return CannotExpire(filter);
  if (time_to_live.count() < 1 || static_cast<uint64_t>(time_to_live.count()) > filter.ttl_ms()) {
    return core::Fail(ErrorCode::kInvalidArgument, "items cannot expire after " + std::to_string(time_to_live.count()) +
                                                       " ms; the range is [1, " + std::to_string(filter.ttl_ms()) +
                                                       "], up to the filter's TTL");
  }
  return AddTo(filter, items, added, {.ttl_ms = static_cast<uint64_t>(time_to_live.count())});
}

Result<std::optional<std::chrono::milliseconds>> Filter::TimeToLive(std::string_view item) const {
  const core::Filter& filter = *state_->filter;
  if (!filter.capabilities().expire) return CannotExpire(filter);
  const core::KeyHash hash = filter.HashOf(item);
  int64_t left_ms = 0;
  filter.TimeToLive({&hash, 1}, {&left_ms, 1});
  if (left_ms == core::kNoTimeToLive) return std::nullopt;
  return std::chrono::milliseconds(left_ms);
}

Result<bool> Filter::Touch(std::string_view item) {
  if (state_->changeable == nullptr) return Mapped();
  core::Filter& filter = *state_->changeable;
  if (!filter.capabilities().expire) return CannotExpire(filter);
  const core::KeyHash hash = filter.HashOf(item);
  uint8_t touched = 0;
  filter.Touch({&hash, 1}, {&touched, 1});
  return touched != 0;
}

bool Filter::MayContain(std::string_view item) const { return clients::MayContain(*state_->filter, item); }

void Filter::MayContain(std::span<const std::string_view> items, std::span<uint8_t> present) const {
  assert(items.size() == present.size());
  clients::MayContain(*state_->filter, items, present);
}

Result<bool> Filter::Remove(std::string_view item) {
  uint8_t removed = 0;
  if (Status status = Remove({&item, 1}, {&removed, 1}); !status) return tl::unexpected(std::move(status).error());
  return removed != 0;
}

Status Filter::Remove(std::span<const std::string_view> items, std::span<uint8_t> removed) {
  assert(items.size() == removed.size());
  if (state_->changeable == nullptr) return Mapped();
  core::Filter& filter = *state_->changeable;
  if (!filter.capabilities().remove) {
    return Unable(filter, "remove items", [](const core::FilterTypeRow& row) { return row.can.remove; });
  }
  return ForBatches(filter, &core::Filter::Prefetch, items,
                    [&](size_t first, std::span<const core::KeyHash> hashes) -> Status {
                      filter.Remove(hashes, removed.subspan(first, hashes.size()));
                      return {};
                    });
}

Result<bool> Filter::RecordFalsePositive(std::string_view item) {
  if (state_->changeable == nullptr) return Mapped();
  core::Filter& filter = *state_->changeable;
  if (!filter.capabilities().deny) {
    return Unable(filter, "record false positives", [](const core::FilterTypeRow& row) { return row.can.deny; });
  }
  const core::KeyHash hash = filter.HashOf(item);
  core::RecordOutcome outcome = core::RecordOutcome::kNothing;
  filter.RecordFalsePositives({&hash, 1}, {&outcome, 1});
  switch (outcome) {
    case core::RecordOutcome::kNothing:
    case core::RecordOutcome::kRecorded:
    case core::RecordOutcome::kMoved:  // impossible unless another call runs during Freeze
      break;
    case core::RecordOutcome::kTooMany:
      return core::Fail(ErrorCode::kFull, "the filter has " + std::to_string(core::FalsePositiveList::kMaxHashes) +
                                              " known false positives, which is the maximum");
    case core::RecordOutcome::kOutOfMemory:
      return core::Fail(ErrorCode::kOutOfMemory, "out of memory for another known false positive");
  }
  return outcome == core::RecordOutcome::kRecorded;
}

Result<uint64_t> Filter::Count(std::string_view item) const {
  const core::Filter& filter = *state_->filter;
  if (!filter.capabilities().count) {
    return Unable(filter, "count items", [](const core::FilterTypeRow& row) { return row.can.count; });
  }
  const core::KeyHash hash = filter.HashOf(item);
  uint64_t count = 0;
  filter.Count({&hash, 1}, {&count, 1});
  return count;
}

Status Filter::Merge(const Filter& other) {
  if (state_->changeable == nullptr) return Mapped();
  const core::Filter* const source = other.state_->filter;
  return core::UniteInto(*state_->changeable, {&source, 1});
}

Status Filter::Fold(uint64_t capacity) {
  if (state_->changeable == nullptr) return Mapped();
  const auto fold = core::FilterFold::Begin(state_->changeable, {capacity}, state_->budget);
  if (!fold) return tl::unexpected(fold.error());
  (*fold)->Run();
  if (Status status = (*fold)->TakeOver(); !status) return status;
  state_->Take((*fold)->folded());
  return {};
}

Status Filter::Freeze() {
  if (state_->changeable == nullptr) return Mapped();
  core::Filter& filter = *state_->changeable;
  if (!filter.capabilities().freeze) {
    return Unable(filter, "be frozen", [](const core::FilterTypeRow& row) { return row.can.freeze; });
  }
  core::Staging* const staging = filter.staging();
  if (staging == nullptr || !staging->Close()) return {};
  Result<std::unique_ptr<core::Filter>> frozen = staging->Build(state_->budget, [] { return true; });
  if (!frozen) {
    staging->Reopen(frozen.error().message);
    return tl::unexpected(std::move(frozen).error());
  }
  staging->HandOverTo(**frozen);
  state_->Take(std::move(*frozen));
  return {};
}

Status Filter::Save(const std::string& path) const {
  constexpr size_t kPieceBytes = 1 << 20;
  Result<clients::WholeFile> file = clients::WholeFile::Create(path);
  if (!file) return tl::unexpected(file.error());
  core::DumpStream stream(state_->filter->Capture());
  std::string piece;
  while (!stream.AtEnd()) {
    piece.clear();
    if (Status status = stream.Read(kPieceBytes, piece); !status) return status;
    if (Status status = file->Write(piece); !status) return status;
  }
  return file->Finish();
}

Result<std::string> Filter::ToBytes() const { return core::DumpFilter(*state_->filter); }

Status Filter::Verify() const {
  if (state_->changeable != nullptr) return {};
  core::DumpCheck check;
  state_->file.ExpectWholeReads();
  check.Add(core::AsText(state_->file.bytes()));
  state_->file.ExpectScatteredReads();
  const std::string problem = check.Problem();
  return problem.empty() ? Status() : Status(core::Fail(ErrorCode::kCorrupt, "the file " + problem));
}

FilterDescription Filter::Describe() const {
  FilterDescription description = clients::Describe(*state_->filter);
  description.is_mapped = state_->changeable == nullptr;
  if (description.is_mapped) description.size_bytes = state_->file.bytes().size();
  return description;
}

}  // namespace bitsieve
