// machine_memory.h: how much memory this process may use. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>

namespace bitsieve::server {

// Bytes of the machine, or of the smallest limit of the process's cgroup and the groups around it (version 1 or 2), if
// that is less. `root` is for tests: the files read are in its proc/ and sys/fs/cgroup/.
uint64_t MachineMemory(const std::string& root = "");

}  // namespace bitsieve::server
