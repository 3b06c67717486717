// However the bytes of a file come in pieces, they are the same dump, or have the same problem; and what is restored as
// a filter has none.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/clock.h"
#include "core/filter/dump_check.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::core {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

DumpCheck Checked(std::string_view bytes, size_t piece) {
  DumpCheck check;
  while (!bytes.empty()) {
    const std::string_view next = bytes.substr(0, piece);
    bytes.remove_prefix(next.size());
    check.Add(next);
  }
  return check;
}

void Check(std::string_view bytes) {
  const DumpCheck whole = Checked(bytes, SIZE_MAX);
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{20}}) {
    const DumpCheck check = Checked(bytes, piece);
    Require(check.Problem() == whole.Problem());
    Require(check.total_bytes() == whole.total_bytes() && check.has_newline() == whole.has_newline());
  }
  MemoryBudget memory(64 << 20);
  if (RestoreFilter(bytes, memory, SystemClock())) {
    Require(whole.Problem().empty() && whole.total_bytes() == bytes.size());
  }
}

}  // namespace
}  // namespace bitsieve::core

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bitsieve::core::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
