#include "server/persistence/keyspace_recorder.h"

#include <string>

namespace bitsieve::server {

// Its first change can only come once its name is told, which is after this.
void KeyspaceRecorder::Adopt(const FilterPtr& filter) {
  const uint64_t id = next_filter_id_.fetch_add(1, std::memory_order_relaxed);
  const bool pristine = filter->pristine();
  filter->Attach(this, id, 0);
  if (pristine) {
    log_.Append(log::Made{id, filter->params()});
  } else {
    log_.AppendContent(filter);
  }
}

void KeyspaceRecorder::Named(std::string_view name, const core::Filter& filter, int64_t expires_ms) {
  log_.Append(log::Named{std::string(name), filter.id(), expires_ms});
}

void KeyspaceRecorder::Unnamed(std::string_view name) { log_.Append(log::Unnamed{std::string(name)}); }

void KeyspaceRecorder::Renamed(std::string_view from, std::string_view to) {
  log_.Append(log::Renamed{std::string(from), std::string(to)});
}

void KeyspaceRecorder::ExpirySet(std::string_view name, int64_t expires_ms) {
  log_.Append(log::Expiry{std::string(name), expires_ms});
}

void KeyspaceRecorder::Flushed() { log_.Append(log::Flushed{}); }

void KeyspaceRecorder::Rewritten(const FilterPtr& filter) { log_.AppendContent(filter); }

void KeyspaceRecorder::Freezing(const core::Filter& filter) { log_.Append(log::Freezing{filter.id()}); }

}  // namespace bitsieve::server
