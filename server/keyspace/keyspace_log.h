// keyspace_log.h: what a registry tells of its changes: under its own locks, so that what is told is in the order of
// what happened. Implemented by server/persistence/keyspace_recorder. Thread-safe; quick, and calls nothing of the
// registry.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/commands/keyspace.h"

namespace bitsieve::server {

class KeyspaceLog {
 public:
  virtual ~KeyspaceLog() = default;

  // Who is to hear of the changes of filters that had a name before the registry got this log.
  virtual core::ChangeListener& listener() = 0;

  // The filter is about to get its first name, and its number: from now on its changes are told, too.
  virtual void Adopt(const FilterPtr& filter) = 0;
  // The name means this filter, which was adopted, and no other.
  virtual void Named(std::string_view name, const core::Filter& filter, int64_t expires_ms) = 0;
  virtual void Unnamed(std::string_view name) = 0;
  virtual void Renamed(std::string_view from, std::string_view to) = 0;
  virtual void ExpirySet(std::string_view name, int64_t expires_ms) = 0;
  virtual void Flushed() = 0;
  // Its content changed by other means than adding and removing.
  virtual void Rewritten(const FilterPtr& filter) = 0;
  // It is closed, to be frozen.
  virtual void Freezing(const core::Filter& filter) = 0;
};

}  // namespace bitsieve::server
