// server_control.h: what command handlers may ask of the process around them. Implemented at the root of server/.
// Thread-safe: any loop may call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_table.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::server {

struct SnapshotStatus {
  int64_t last_save_unix_s = 0;  // of the last complete snapshot; start-up counts as one
  bool in_progress = false;
  bool last_ok = true;
  uint64_t changes_since_last_save = 0;
  int64_t last_duration_ms = -1;  // -1: none was made yet
};

// The log of changes, of which a snapshot is the beginning. Positions are bytes since there is a log.
struct LogStatus {
  bool enabled = false;
  bool in_trouble = false;          // the disk refuses it, and so nothing may be changed
  std::string trouble = {};         // file and reason; empty if all is well
  uint64_t position = 0;            // where the last change ends
  uint64_t durable_position = 0;    // what lies before it survives a power cut
  uint64_t waiting_bytes = 0;       // in memory, not yet given to the system
  uint64_t segments_bytes = 0;      // of the log's files
  int64_t oldest_unwritten_ms = 0;  // for how long the oldest change has been waiting to be given to the system
};

class ServerControl {
 public:
  virtual ~ServerControl() = default;

  // Starts a snapshot in the background; `done` is called once, from another thread, with its outcome. If one is
  // running, another is made after it and `done` gets the outcome of that one, so that what was there at the call is
  // saved.
  virtual void Save(std::function<void(core::Status)> done) = 0;
  virtual SnapshotStatus Snapshot() const = 0;
  virtual LogStatus Log() const = 0;
  // Begins an orderly stop; returns at once. `save` false leaves the last snapshot as it is.
  virtual void Shutdown(bool save) = 0;

  // The users' file (aclfile): all of it, or nothing. Each takes as long as the disk. The error says which file, and
  // why.
  virtual core::Status LoadUsers() = 0;
  virtual core::Status SaveUsers() = 0;

  // The option table at run time. Name and value of each option whose name matches the glob.
  virtual std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view glob) const = 0;
  // Sets all pairs of name and value, or none; other changes come before all of them or after.
  virtual core::Outcome<void, config::RefusedPair> SetOptions(std::span<const config::NameAndText> pairs) = 0;
  // Writes what was set at run time into the configuration file; `done` is called once, from another thread.
  virtual void RewriteConfiguration(std::function<void(core::Status)> done) = 0;
};

}  // namespace bitsieve::server
