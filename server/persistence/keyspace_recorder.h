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
  // The writer outlives the recorder, which outlives every filter it adopted or is detached before.
  KeyspaceRecorder(LogWriter& log, uint64_t next_filter_id) : log_(log), next_filter_id_(next_filter_id) {}

  core::ChangeListener& listener() override { return *this; }
  LogWriter& log() { return log_; }
  // Above every number that was given.
  uint64_t next_filter_id() const { return next_filter_id_.load(std::memory_order_relaxed); }
  void Adopt(const FilterPtr& filter) override;
  void Named(std::string_view name, const core::Filter& filter, int64_t expires_ms) override;
  void Unnamed(std::string_view name) override;
  void Renamed(std::string_view from, std::string_view to) override;
  void ExpirySet(std::string_view name, int64_t expires_ms) override;
  void Flushed() override;
  void Rewritten(const FilterPtr& filter) override;
  void Freezing(const core::Filter& filter) override;

  void OnAdded(const core::Change& change) override { log_.AppendAdded(change); }
  void OnRemoved(const core::Change& change) override { log_.AppendRemoved(change); }

 private:
  LogWriter& log_;
  std::atomic<uint64_t> next_filter_id_;  // relaxed: only uniqueness matters
};

}  // namespace bitsieve::server
