// resident_memory.h: the memory that the system has given to the process. Thread-safe: a free function.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace bitsieve::server {

inline uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace bitsieve::server
