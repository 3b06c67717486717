#include "server/persistence/keyspace_recorder.h"

#include <memory>
#include <string>
#include <utility>

namespace bitsieve::server {

class KeyspaceRecorder::Announced final : public Announcement {
 public:
  explicit Announced(KeyspaceRecorder& recorder) : recorder_(recorder), entry_(recorder.log_) {}

  LogWriter::Entry& entry() { return entry_; }
  // Its first change can only come once its name is told, which is after this.
  void Adopt(FilterPtr filter, uint64_t id) {
    adopted_ = std::move(filter);
    id_ = id;
  }

  void Commit() noexcept override {
    if (adopted_ != nullptr) adopted_->Attach(&recorder_, id_, 0);
    entry_.Append();
  }

 private:
  KeyspaceRecorder& recorder_;
  LogWriter::Entry entry_;
  FilterPtr adopted_;
  uint64_t id_ = 0;
};

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
    announced->entry().AddContent(filter);
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

AnnouncementPtr KeyspaceRecorder::Rewritten(const FilterPtr& filter) {
  auto announced = std::make_unique<Announced>(*this);
  announced->entry().AddContent(filter);
  return announced;
}

AnnouncementPtr KeyspaceRecorder::Freezing(const core::Filter& filter) { return Announce(log::Freezing{filter.id()}); }

}  // namespace bitsieve::server
