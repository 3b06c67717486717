#include "server/process/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

namespace bitsieve::server {
namespace {

uint64_t PhysicalBytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// "max", or no such file, is no limit.
uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  return file >> bytes && bytes != 0 ? bytes : UINT64_MAX;
}

// The least limit of the group at `path` below `mount` and of its parent groups.
uint64_t LeastLimit(const std::string& mount, std::string path, std::string_view file) {
  uint64_t least = UINT64_MAX;
  while (true) {
    while (path.ends_with('/')) path.pop_back();
    least = std::min(least, LimitIn(mount + path + "/" + std::string(file)));
    if (path.empty()) return least;
    path.erase(path.find_last_of('/'));
  }
}

bool NamesMemory(std::string_view controllers) {
  return ("," + std::string(controllers) + ",").find(",memory,") != std::string::npos;
}

}  // namespace

// Lines of proc/self/cgroup: "0::/path" of version 2, "5:memory:/path" of version 1. In a container the path may be
// one of the host's: then the container's own group is at the mount itself, which LeastLimit comes to as well.
uint64_t MachineMemory(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  uint64_t bytes = PhysicalBytes();
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos || !line.substr(second + 1).starts_with('/')) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      bytes = std::min(bytes, LeastLimit(mount, path, "memory.max"));
    } else if (NamesMemory(controllers)) {
      bytes = std::min(bytes, LeastLimit(mount + "/memory", path, "memory.limit_in_bytes"));
    }
  }
  return bytes;
}

}  // namespace bitsieve::server
