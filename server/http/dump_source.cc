#include "server/http/dump_source.h"

#include <algorithm>

namespace bitsieve::server {
namespace {

constexpr uint64_t kSkippedAtOnce = 1 << 20;

}  // namespace

bool DumpSource::Read(size_t most, std::string& out) {
  if (at_ < range_.begin) return Skip();
  const size_t count = std::min<uint64_t>(most, range_.end - at_);
  if (!stream_.Read(count, out)) return false;
  at_ += count;
  return true;
}

bool DumpSource::Skip() {
  const size_t count = std::min(kSkippedAtOnce, range_.begin - at_);
  std::string skipped;
  if (!stream_.Read(count, skipped)) return false;
  at_ += count;
  return true;
}

}  // namespace bitsieve::server
