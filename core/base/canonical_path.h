// canonical_path.h: where a path leads. Thread-safe: a free function.
#pragma once

#include <climits>
#include <cstdlib>
#include <string>

namespace bitsieve::core {

// Without links and dots, from the root; `path` itself if it cannot be followed.
inline std::string CanonicalPath(const std::string& path) {
  char canonical[PATH_MAX];
  return ::realpath(path.c_str(), canonical) == nullptr ? path : canonical;
}

}  // namespace bitsieve::core
