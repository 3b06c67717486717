// keyspace_log.h: how a registry reports its changes. It does so under its own locks, so that reports are in the order
// of the changes. A change is announced before it is made, which may fail for lack of memory, and reported by
// committing the announcement, which cannot fail. Implemented by server/persistence/keyspace_recorder. Thread-safe;
// calls nothing of the registry, and is quick unless stated otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "server/keyspace/keyspace.h"

namespace bitsieve::server {

// All of them may throw std::bad_alloc; then nothing was reported.
class KeyspaceLog {
 public:
  virtual ~KeyspaceLog() = default;

  // The listener for changes of filters that had a name before the registry got this log.
  virtual core::ChangeListener& listener() = 0;

  // See Keyspace::Prepare. Called under no lock; it may take long.
  virtual core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(const commands::FilterPtr& filter) = 0;
  // The filter gets its first name, which means no other from then on. The commit gives it its number, and from then on
  // its changes are reported too.
  virtual AnnouncementPtr Named(std::string_view name, const commands::FilterPtr& filter, int64_t expires_ms) = 0;
  virtual AnnouncementPtr Unnamed(std::string_view name) = 0;
  virtual AnnouncementPtr Renamed(std::string_view from, std::string_view to) = 0;
  virtual AnnouncementPtr ExpirySet(std::string_view name, int64_t expires_ms) = 0;
  virtual AnnouncementPtr Flushed() = 0;
  // See Keyspace::LogRewrite. Called under no lock; it may take long.
  virtual core::Status Rewritten(const commands::FilterPtr& filter) = 0;
  // The filter was closed, to be frozen.
  virtual AnnouncementPtr Freezing(const core::Filter& filter) = 0;
};

}  // namespace bitsieve::server
