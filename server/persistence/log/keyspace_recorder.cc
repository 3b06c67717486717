#include "server/persistence/log/keyspace_recorder.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "core/base/out_of_memory.h"
#include "core/filter/image_pressure.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// A Content or an Image.
void SetFilter(log::Record& record, uint64_t id) {
  if (auto* content = std::get_if<log::Content>(&record)) {
    content->id = id;
  } else if (auto* image = std::get_if<log::Image>(&record)) {
    image->id = id;
  }
}

}  // namespace

class KeyspaceRecorder::Announced final : public Announcement {
 public:
  explicit Announced(KeyspaceRecorder& recorder) : recorder_(recorder), entry_(recorder.log_->appended()) {}

  AppendedRecords::Entry& entry() { return entry_; }
  // Its first change can only come once its name is logged, which is after this.
  void Adopt(FilterPtr filter, uint64_t id) {
    adopted_ = std::move(filter);
    id_ = id;
  }

  void Commit() noexcept override {
    if (adopted_ != nullptr) adopted_->Attach(&recorder_, id_, 0);
    entry_.Append();
    if (adopted_ != nullptr) recorder_.MarkAdopted(*adopted_);
  }

 private:
  KeyspaceRecorder& recorder_;
  AppendedRecords::Entry entry_;
  FilterPtr adopted_;
  uint64_t id_ = 0;
};

// Known to the recorder for as long as it lives.
class KeyspaceRecorder::Prepared final : public PreparedContent {
 public:
  Prepared(KeyspaceRecorder& recorder, FilterPtr filter, log::Record record)
      : recorder_(recorder), filter_(std::move(filter)), record_(std::move(record)) {
    const core::LockGuard lock(recorder_.mutex_);
    recorder_.prepared_[filter_.get()] = this;
  }
  ~Prepared() override {
    {
      const core::LockGuard lock(recorder_.mutex_);
      const auto known = recorder_.prepared_.find(filter_.get());
      if (known != recorder_.prepared_.end() && known->second == this) recorder_.prepared_.erase(known);
    }
    if (!adopted_) recorder_.contents_->Discard(record_);
  }
  // Both with the recorder's lock held.
  log::Record& record() { return record_; }
  void MarkAdopted() { adopted_ = true; }

 private:
  KeyspaceRecorder& recorder_;
  const FilterPtr filter_;  // so that its address is not reused
  log::Record record_;
  bool adopted_ = false;
};

core::Result<std::unique_ptr<PreparedContent>> KeyspaceRecorder::Prepare(const FilterPtr& filter) {
  if (filter->pristine()) return nullptr;
  core::Result<log::Record> record = contents_->Write(*filter->Capture(*image_pool_));
  if (!record) return tl::unexpected(std::move(record.error()));
  return std::make_unique<Prepared>(*this, filter, std::move(*record));
}

void KeyspaceRecorder::AddContent(AppendedRecords::Entry& entry, const core::Filter& filter, uint64_t id) {
  {
    const core::LockGuard lock(mutex_);
    if (const auto prepared = prepared_.find(&filter); prepared != prepared_.end()) {
      SetFilter(prepared->second->record(), id);
      return entry.Add(prepared->second->record());
    }
  }
  log::Record record = contents_->WriteInline(*filter.Capture(*image_pool_)).value();
  SetFilter(record, id);
  entry.Add(record);
}

void KeyspaceRecorder::MarkAdopted(const core::Filter& filter) noexcept {
  const core::LockGuard lock(mutex_);
  if (const auto prepared = prepared_.find(&filter); prepared != prepared_.end()) prepared->second->MarkAdopted();
}

AnnouncementPtr KeyspaceRecorder::Announce(const log::Record& record) {
  auto announced = std::make_unique<Announced>(*this);
  announced->entry().Add(record);
  return announced;
}

// A number that is not committed is never used.
AnnouncementPtr KeyspaceRecorder::Named(std::string_view name, const FilterPtr& filter, int64_t expires_ms) {
  auto announced = std::make_unique<Announced>(*this);
  const uint64_t id = next_filter_id_.fetch_add(1, std::memory_order_relaxed);
  if (filter->pristine()) {
    announced->entry().Add(log::Made{id, filter->params()});
  } else {
    AddContent(announced->entry(), *filter, id);
  }
  announced->entry().Add(log::Named{std::string(name), id, expires_ms});
  announced->Adopt(filter, id);
  return announced;
}

AnnouncementPtr KeyspaceRecorder::Unnamed(std::string_view name) { return Announce(log::Unnamed{std::string(name)}); }

AnnouncementPtr KeyspaceRecorder::Renamed(std::string_view from, std::string_view to) {
  return Announce(log::Renamed{std::string(from), std::string(to)});
}

AnnouncementPtr KeyspaceRecorder::ExpirySet(std::string_view name, int64_t expires_ms) {
  return Announce(log::Expiry{std::string(name), expires_ms});
}

AnnouncementPtr KeyspaceRecorder::Flushed() { return Announce(log::Flushed{}); }

// If the disk refuses it, the change still stands in memory and goes into the next snapshot; until then the filter
// reports every addition. If the memory refuses it, it is tried again.
core::Status KeyspaceRecorder::Rewritten(const FilterPtr& filter) {
  core::Status status = DoRewritten(filter);
  if (!status && status.error().code == core::ErrorCode::kOutOfMemory) {
    PutOff(filter);
  } else if (!status) {
    is_complete_.store(false, std::memory_order_relaxed);
  }
  return status;
}

void KeyspaceRecorder::PutOff(const FilterPtr& filter) {
  unkept_count_.fetch_add(1, std::memory_order_relaxed);
  std::list<FilterPtr> put_off = core::UntilThereIsMemory([&] { return std::list<FilterPtr>{filter}; });
  const core::LockGuard lock(mutex_);
  unkept_.splice(unkept_.end(), put_off);
}

void KeyspaceRecorder::KeepAgain() {
  std::list<FilterPtr> unkept;
  {
    const core::LockGuard lock(mutex_);
    unkept.swap(unkept_);
  }
  for (; !unkept.empty(); unkept.pop_front()) {
    const core::Status status = DoRewritten(unkept.front());
    if (!status && status.error().code == core::ErrorCode::kOutOfMemory) break;
    if (!status) is_complete_.store(false, std::memory_order_relaxed);
    unkept_count_.fetch_sub(1, std::memory_order_relaxed);
  }
  const core::LockGuard lock(mutex_);
  unkept_.splice(unkept_.begin(), unkept);
}

core::Status KeyspaceRecorder::DoRewritten(const FilterPtr& filter) {
  try {
    const core::ImagePressure::Reading reading(*filter, image_pool_->budget);
    core::Result<log::Record> record = contents_->Write(*filter->CaptureRewritten(*image_pool_));
    if (!record) return tl::unexpected(std::move(record.error()));
    SetFilter(*record, filter->id());
    log_->appended().Append(*record);
  } catch (const std::bad_alloc&) {
    return core::Fail(core::ErrorCode::kOutOfMemory, core::kOutOfMemoryText);
  }
  filter->ConfirmRewrite();
  return {};
}

AnnouncementPtr KeyspaceRecorder::Freezing(const core::Filter& filter) { return Announce(log::Freezing{filter.id()}); }

}  // namespace bitsieve::server
