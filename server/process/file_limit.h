// file_limit.h: how many descriptors the process may hold. Thread-compatible: called at start.
#pragma once

#include <cstdint>

namespace bitsieve::server {

// Raises the limit to `wanted` if it is lower, as far as the system allows (the hard limit, unless privileged). Returns
// the limit as it is then.
uint64_t RaiseFileLimit(uint64_t wanted);

// Descriptors needed beyond one per client: listeners, loops, files of a snapshot, the log.
inline constexpr uint64_t kReservedFiles = 128;
// Descriptors that a backup may need: one for each filter file.
inline constexpr uint64_t kBackupFiles = 1 << 20;

}  // namespace bitsieve::server
