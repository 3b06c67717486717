// resources.h: options as this machine can give them: its memory, and descriptors for clients. Thread-compatible.
#pragma once

#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::server {

// Returns the bytes that filters may take: the rest of the machine's memory is for connections, snapshots and the
// system.
uint64_t MaxMemoryOf(const config::Options& options);

// With `maxmemory` in bytes, and as many clients as there are descriptors for.
config::Options Resolved(config::Options options);

// Does the same, and tells in the log what was chosen or lowered.
config::Options ResolvedAtStart(const config::Options& given);

// kInvalidArgument if there are descriptors for fewer clients.
core::Status CheckAffordable(const config::Options& options);

}  // namespace bitsieve::server
