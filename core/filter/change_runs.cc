#include "core/filter/change_runs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/filter/filter.h"
#include "core/filter/filter_type.h"

namespace bitsieve::core {

namespace {

constexpr size_t kHashBytes = sizeof(KeyHash);
constexpr std::array kKinds{ChangeKind::kAdded, ChangeKind::kRemoved, ChangeKind::kFalsePositives,
                            ChangeKind::kRenewed};
// Added to the number of a kind.
constexpr uint8_t kTimed = 0x80;
constexpr uint8_t kUntil = 0x40;

constexpr size_t kRepeatedAtATime = ChangeListener::kMaxHashes;

uint8_t NumberOf(ChangeKind kind) { return static_cast<uint8_t>(std::ranges::find(kKinds, kind) - kKinds.begin() + 1); }

tl::unexpected<Error> CorruptRun(std::string_view problem) {
  return Fail(ErrorCode::kCorrupt, "a run of changes " + std::string(problem));
}

Status RepeatAdditions(Filter& filter, const Change& change) {
  std::array<AddOutcome, kRepeatedAtATime> outcomes;
  const size_t done =
      filter.Add(change.hashes, std::span(outcomes).first(change.hashes.size()), {.until_ms = change.until_ms});
  for (size_t i = 0; i < change.hashes.size(); ++i) {
    if (i < done && !IsRefused(outcomes[i])) continue;
    if (i < done && outcomes[i] == AddOutcome::kOutOfMemory) return Fail(ErrorCode::kOutOfMemory, "to grow");
    return Fail(ErrorCode::kCorrupt, "does not accept an item that was accepted before");
  }
  return {};
}

Status RepeatRemovals(Filter& filter, std::span<const KeyHash> hashes) {
  if (!filter.capabilities().remove) return Fail(ErrorCode::kCorrupt, "cannot remove items");
  std::array<uint8_t, kRepeatedAtATime> removed;
  if (filter.Remove(hashes, std::span(removed).first(hashes.size())) == hashes.size()) return {};
  return Fail(ErrorCode::kOutOfMemory, "to remove items");
}

Status RepeatRenewals(Filter& filter, const Change& change) {
  if (!filter.capabilities().expire) return Fail(ErrorCode::kCorrupt, "has no items that expire");
  std::array<uint8_t, kRepeatedAtATime> touched;
  const size_t done =
      filter.Touch(change.hashes, std::span(touched).first(change.hashes.size()), {.until_ms = change.until_ms});
  return done == change.hashes.size() ? Status() : Fail(ErrorCode::kOutOfMemory, "to renew items");
}

Status RepeatFalsePositives(Filter& filter, std::span<const KeyHash> hashes) {
  if (!filter.capabilities().deny) return Fail(ErrorCode::kCorrupt, "cannot record false positives");
  std::array<RecordOutcome, kRepeatedAtATime> outcomes{};
  filter.RecordFalsePositives(hashes, std::span(outcomes).first(hashes.size()));
  if (std::ranges::count(outcomes, RecordOutcome::kOutOfMemory) == 0) return {};
  return Fail(ErrorCode::kOutOfMemory, "for its known false positives");
}

// Repeats up to kRepeatedAtATime hashes.
Status RepeatSome(Filter& filter, const Change& change) {
  switch (change.kind) {
    case ChangeKind::kAdded:
      return RepeatAdditions(filter, change);
    case ChangeKind::kRemoved:
      return RepeatRemovals(filter, change.hashes);
    case ChangeKind::kFalsePositives:
      return RepeatFalsePositives(filter, change.hashes);
    case ChangeKind::kRenewed:
      return RepeatRenewals(filter, change);
    case ChangeKind::kRewritten:
      break;  // has no hashes
  }
  return {};
}

}  // namespace

size_t ChangeRunBytes(uint64_t time_ms, uint64_t until_ms, size_t hashes) {
  const size_t head = 3 + (time_ms != 0 ? sizeof time_ms : 0) + (until_ms != 0 ? sizeof until_ms : 0);
  return (hashes + kMaxRunHashes - 1) / kMaxRunHashes * head + hashes * kHashBytes;
}

void AppendChangeRun(const Change& change, std::string& out) {
  ByteWriter writer(out);
  const auto flags = static_cast<uint8_t>((change.time_ms != 0 ? kTimed : 0) | (change.until_ms != 0 ? kUntil : 0));
  for (std::span<const KeyHash> rest = change.hashes; !rest.empty();) {
    const std::span<const KeyHash> run = rest.first(std::min(rest.size(), kMaxRunHashes));
    writer.Put(static_cast<uint8_t>(NumberOf(change.kind) | flags));
    writer.Put(static_cast<uint16_t>(run.size()));
    if (change.time_ms != 0) writer.Put(change.time_ms);
    if (change.until_ms != 0) writer.Put(change.until_ms);
    writer.PutBytes(AsText(std::as_bytes(run)));
    rest = rest.subspan(run.size());
  }
}

Result<ChangeRun> TakeChangeRun(std::string_view& bytes) {
  ByteReader in(bytes);
  const auto number = in.Get<uint8_t>();
  const auto count = in.Get<uint16_t>();
  const bool timed = (number & kTimed) != 0, expires = (number & kUntil) != 0;
  const auto kind = static_cast<uint8_t>(number & ~(kTimed | kUntil));
  ChangeRun run;
  if (timed) run.time_ms = in.Get<uint64_t>();
  if (expires) run.until_ms = in.Get<uint64_t>();
  run.hashes = in.GetBytes(count * kHashBytes);
  if (!in.ok()) return CorruptRun("is too short");
  if (kind == 0 || kind > kKinds.size()) return CorruptRun("is of unknown kind " + std::to_string(number));
  run.kind = kKinds[kind - 1u];
  const bool has_zero = (timed && run.time_ms == 0) || (expires && run.until_ms == 0);
  if (has_zero || !MayHaveTimes(run.kind, timed, expires)) return CorruptRun("has the wrong times for its kind");
  if (count == 0) return CorruptRun("has no hashes");
  bytes.remove_prefix(bytes.size() - in.remaining());
  return run;
}

Status ApplyChangeRun(Filter& filter, FilterClock& clock, const ChangeRun& run) {
  clock.Replay(run.time_ms);
  Status status;
  std::array<KeyHash, kRepeatedAtATime> hashes;
  for (std::string_view rest = run.hashes; status && !rest.empty();) {
    const std::string_view bytes = rest.substr(0, sizeof hashes);
    std::memcpy(hashes.data(), bytes.data(), bytes.size());
    const auto some = std::span<const KeyHash>(hashes).first(bytes.size() / kHashBytes);
    status = RepeatChange(filter, {run.kind, 0, 0, run.time_ms, some, run.until_ms});
    rest.remove_prefix(bytes.size());
  }
  clock.Replay(0);
  if (status) return {};
  const bool refused = status.error().code == ErrorCode::kOutOfMemory;
  return Fail(status.error().code,
              (refused ? "out of memory for the filter " : "the filter ") + status.error().message);
}

Status RepeatChange(Filter& filter, const Change& change) {
  Change some = change;
  for (std::span<const KeyHash> rest = change.hashes; !rest.empty(); rest = rest.subspan(some.hashes.size())) {
    some.hashes = rest.first(std::min(rest.size(), kRepeatedAtATime));
    if (Status status = RepeatSome(filter, some); !status) return status;
  }
  return {};
}

}  // namespace bitsieve::core
