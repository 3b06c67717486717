// load_state.h: how far a file was loaded, kept next to it, so that an interrupted load can resume. Thread-compatible:
// free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace bitsieve::cli {

// Numbers of items by outcome.
struct LoadCounts {
  uint64_t read = 0;
  uint64_t added = 0;    // new; or removed, if items are to be removed
  uint64_t present = 0;  // there already; or not there
  uint64_t refused = 0;

  LoadCounts& operator+=(const LoadCounts& other);
};

struct LoadState {
  std::string key;
  uint64_t position = 0;  // in the file, decompressed: all before it has been acknowledged
  uint64_t records = 0;
  LoadCounts counts = {};
};

std::string LoadStatePath(const std::string& file);
// Returns nothing if there is none. The error: it cannot be read, or is of another state of the file.
core::Outcome<std::optional<LoadState>> ReadLoadState(const std::string& file);
// Atomic.
core::Outcome<void> WriteLoadState(const std::string& file, const LoadState& state);
void RemoveLoadState(const std::string& file);

}  // namespace bitsieve::cli
