#include "server/storage.h"

#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "core/filter/staging.h"

namespace bitsieve::server {
namespace {

RecoveryOptions RecoveryOptionsOf(const config::Options& options) {
  const bool quarantines = options.on_corrupt_filter == "quarantine";
  const bool truncates = options.on_corrupt_log == "truncate";
  return {.on_corrupt_filter = quarantines ? OnCorruptFilter::kQuarantine : OnCorruptFilter::kRefuse,
          .on_corrupt_log = truncates ? OnCorruptLog::kTruncate : OnCorruptLog::kRefuse,
          .keeps_log = options.appendonly == "yes"};
}

FsyncPolicy FsyncPolicyOf(const config::Options& options) {
  if (options.appendfsync == "always") return FsyncPolicy::kAlways;
  return options.appendfsync == "no" ? FsyncPolicy::kNever : FsyncPolicy::kEverySecond;
}

SnapshotSchedule ScheduleOf(const config::Options& options) {
  const bool logged = options.appendonly == "yes";
  return {std::chrono::seconds(options.save_interval), logged ? options.max_log_bytes : 0,
          logged ? options.snapshot_growth : 0};
}

}  // namespace

Storage::~Storage() {
  if (recorder_ != nullptr) registry_.SetLog(nullptr);
}

core::Status Storage::Open(const std::string& path) {
  auto directory = DataDirectory::Open(disk_, path);
  if (!directory) return tl::unexpected(std::move(directory.error()));
  directory_ = std::move(*directory);
  return {};
}

core::Result<Recovery> Storage::Load(const config::Options& options) {
  RecoveryOptions recovery = RecoveryOptionsOf(options);
  if (recovery.keeps_log) recorder_ = std::make_unique<KeyspaceRecorder>();
  recovery.listener = recorder_.get();
  return Recover(*directory_, registry_, filter_clock_, recovery);
}

core::Status Storage::Begin(Recovery recovery, const config::Options& options) {
  image_memory_.set_limit_bytes(options.snapshot_memory);
  shutdown_timeout_.store(std::chrono::seconds(options.shutdown_timeout));
  file_ids_ = std::make_unique<FileIds>(recovery.next_file_id);
  const bool logged = options.appendonly == "yes";
  const bool leaves_log = !logged && (recovery.saved.has_log || recovery.report.log.records != 0);
  if (logged) BeginLog(recovery, options);
  const SnapshotParts parts{*directory_, registry_,      *file_ids_, {image_memory_, core::Patience::kWait},
                            clock_,      recorder_.get()};
  snapshotter_ = std::make_unique<Snapshotter>(parts, std::move(recovery.saved), ScheduleOf(options));
  if (leaves_log) {
    if (core::Status status = SaveNow("the content of the log, while appendonly is no,"); !status) return status;
  } else if (recovery.lost_some) {
    if (core::Status status = SaveNow("the data left after the damage"); !status) return status;
  }
  begun_.store(true, std::memory_order_release);
  FreezeAgain(recovery);
  return {};
}

void Storage::BeginLog(const Recovery& recovery, const config::Options& options) {
  log_ =
      std::make_unique<LogWriter>(*directory_, clock_, FsyncPolicyOf(options), recovery.log_end, recovery.filter_files);
  recorder_->Begin(*log_, {*directory_, *file_ids_}, {image_memory_, core::Patience::kWait},
                   recovery.saved.next_filter_id);
  registry_.SetLog(recorder_.get(), Registry::Listening::kHasBegun);
  SetPolicy(options);
}

// After an old log that is not continued, or damage that was skipped: what was loaded must not depend on it any more.
core::Status Storage::SaveNow(const std::string& what) {
  std::promise<core::Status> saved;
  snapshotter_->Save([&](core::Status status) { saved.set_value(std::move(status)); });
  const core::Status status = saved.get_future().get();
  if (status) return status;
  return core::Fail(status.error().code, what + " cannot be saved: " + status.error().message);
}

void Storage::FreezeAgain(const Recovery& recovery) {
  for (const NamedFilter& named : recovery.freezing) {
    core::BeginFreezing(named.filter->staging(), [&] { freezer_.Freeze(named.name, named.filter); });
  }
}

void Storage::Apply(const config::Options& options) {
  image_memory_.set_limit_bytes(options.snapshot_memory);
  if (!HasBegun()) return;
  snapshotter_->SetSchedule(ScheduleOf(options));
  shutdown_timeout_.store(std::chrono::seconds(options.shutdown_timeout));
  SetPolicy(options);
}

void Storage::SetPolicy(const config::Options& options) {
  const FsyncPolicy policy = FsyncPolicyOf(options);
  syncs_.store(policy != FsyncPolicy::kNever, std::memory_order_relaxed);
  if (log_ != nullptr) log_->SetPolicy(policy);
}

core::Status Storage::Stop(bool final_save) {
  if (recorder_ != nullptr) recorder_->KeepAgain();
  std::optional<std::chrono::seconds> timeout;
  if (log_ != nullptr) timeout = shutdown_timeout_.load();
  core::Status saved = snapshotter_->Stop(final_save, timeout);
  if (!saved) saved = core::Fail(saved.error().code, "the last snapshot failed: " + saved.error().message);
  if (log_ == nullptr) return saved;
  const core::Status logged = log_->Stop();
  if (logged) return saved;
  return core::Fail(logged.error().code, "the end of the log could not be written: " + logged.error().message);
}

void Storage::Save(std::function<void(core::Status)> done) {
  if (HasBegun()) return snapshotter_->Save(std::move(done));
  done(core::Fail(core::ErrorCode::kIo, "the filters are not loaded yet"));
}

SnapshotStatus Storage::Snapshot() const {
  if (!HasBegun()) return {.last_save_unix_s = started_unix_s_};
  const SnapshotterStatus status = snapshotter_->Status();
  return {.last_save_unix_s = status.last_save_unix_s,
          .in_progress = status.in_progress,
          .last_ok = status.last_ok,
          .changes_since_last_save = status.changes_since_last_save,
          .last_duration_ms = status.last_duration_ms};
}

LogStatus Storage::Log() const {
  if (!HasLog()) return {};
  LogWriterStatus status = log_->Status();
  return {.enabled = true,
          .in_trouble = log_->InTrouble() || recorder_->HasUnkept(),
          .trouble = log_->InTrouble() ? std::move(status.trouble) : TroubleOfRecorder(),
          .position = status.position,
          .durable_position = status.durable_position,
          .waiting_bytes = status.waiting_bytes,
          .segments_bytes = status.segment_bytes,
          .oldest_unwritten_ms = status.oldest_unwritten_ms};
}

bool Storage::InTrouble() const {
  if (!HasBegun()) return false;
  return log_ != nullptr ? log_->InTrouble() || recorder_->HasUnkept() : snapshotter_->InTrouble();
}

std::string Storage::TroubleOfRecorder() const {
  return recorder_->HasUnkept() ? "out of memory for a filter's changes that must be logged" : "";
}

bool Storage::HasUnkeptRewrites() const { return HasLog() && recorder_->HasUnkept(); }
void Storage::KeepRewrites() { recorder_->KeepAgain(); }

std::string Storage::Trouble() const {
  if (!HasBegun()) return "";
  if (log_ == nullptr) return snapshotter_->Trouble();
  return log_->InTrouble() || !recorder_->HasUnkept() ? log_->Trouble() : TroubleOfRecorder();
}

void Storage::Await(uint64_t position, std::function<void()> reached) {
  if (HasLog()) return log_->Await(position, std::move(reached));
  reached();
}

}  // namespace bitsieve::server
