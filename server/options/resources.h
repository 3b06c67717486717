// resources.h: options as this machine can give them: its memory, and descriptors for clients; and limits that what is
// there already exceeds. Thread-compatible.
#pragma once

#include "config/options.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "server/keyspace/quotas.h"

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

// kInvalidArgument if the quotas are for other patterns, which are set at the start.
core::Status CheckQuotas(const config::Options& options, const Quotas& quotas);

// Tells in the log of filters on the disk that were written when maxmemory and the quotas were higher: they are served.
void WarnOfExceededLimits(const core::MemoryBudget& memory, const Quotas& quotas);

}  // namespace bitsieve::server
