// client_memory.h: the option maxmemory-clients: a size, or a percentage of maxmemory. Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "config/options.h"

namespace bitsieve::config {

// A percentage never means less: the chunks that dumps come in must fit.
inline constexpr uint64_t kLeastClientShare = 64ULL << 20;

bool IsClientMemory(const std::string& text);

// Returns what all connections may take together, in bytes; UINT64_MAX: there is no limit. `machine_bytes` stands in
// for a maxmemory of 0 or auto.
uint64_t ClientMemoryLimit(const Options& options, uint64_t machine_bytes);

}  // namespace bitsieve::config
