// keyspace_recorder.h: writes the changes of a registry and of its filters to the log, in the order in which they
// happen. It numbers the filters. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/filters/filter.h"
#include "server/keyspace/keyspace_log.h"
#include "server/persistence/log_writer.h"

namespace bitsieve::server {

class KeyspaceRecorder final : public KeyspaceLog, public core::ChangeListener {
 public:
  // The writer outlives the recorder and all that it announced; the recorder outlives every filter it adopted or is
  // detached before.
  KeyspaceRecorder(LogWriter& log, uint64_t next_filter_id) : log_(log), next_filter_id_(next_filter_id) {}

  core::ChangeListener& listener() override { return *this; }
  LogWriter& log() { return log_; }
  // Above every number that was given.
  uint64_t next_filter_id() const { return next_filter_id_.load(std::memory_order_relaxed); }
  AnnouncementPtr Named(std::string_view name, const FilterPtr& filter, int64_t expires_ms) override;
  AnnouncementPtr Unnamed(std::string_view name) override;
  AnnouncementPtr Renamed(std::string_view from, std::string_view to) override;
  AnnouncementPtr ExpirySet(std::string_view name, int64_t expires_ms) override;
  AnnouncementPtr Flushed() override;
  AnnouncementPtr Rewritten(const FilterPtr& filter) override;
  AnnouncementPtr Freezing(const core::Filter& filter) override;

  bool Reserve(size_t hashes) noexcept override { return log_.Reserve(log::MaxChangeBytes(hashes)); }
  void Release(size_t hashes) noexcept override { log_.Release(log::MaxChangeBytes(hashes)); }
  void OnAdded(const core::Change& change, size_t reserved) noexcept override {
    log_.AppendAdded(change, log::MaxChangeBytes(reserved));
  }
  void OnRemoved(const core::Change& change, size_t reserved) noexcept override {
    log_.AppendRemoved(change, log::MaxChangeBytes(reserved));
  }

 private:
  class Announced;

  AnnouncementPtr Announce(const log::Record& record);

  LogWriter& log_;
  std::atomic<uint64_t> next_filter_id_;  // relaxed: only uniqueness matters
};

}  // namespace bitsieve::server
