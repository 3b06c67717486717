#include "server/process/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace bitsieve::server {

uint64_t RaiseFileLimit(uint64_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlimit raised{wanted, std::max<rlim_t>(limit.rlim_max, wanted)};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return wanted;
  const rlimit allowed{std::min<rlim_t>(limit.rlim_max, wanted), limit.rlim_max};
  return setrlimit(RLIMIT_NOFILE, &allowed) == 0 ? allowed.rlim_cur : limit.rlim_cur;
}

}  // namespace bitsieve::server
