// For any bytes that are mapped as a dump, looking up items in them ends with an answer, and reads nothing outside of
// them.
//
// The first byte is 0 if the rest is used as it is; otherwise correct checksums are written into the rest.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/filter/filter_dump.h"
#include "tests/fuzz/dump_checksums.h"

namespace bitsieve::test {
namespace {

void Try(bool right_checksums, std::string input) {
  if (right_checksums) PutDumpChecksums(input);
  // Exactly as large, so that the address sanitizer knows its end, and aligned.
  const std::vector<std::byte> dump = [&] {
    const auto* const begin = reinterpret_cast<const std::byte*>(input.data());
    return std::vector<std::byte>(begin, begin + input.size());
  }();
  core::MemoryBudget budget;
  {
    const auto filter = core::MapFilterDump(dump, budget);
    if (!filter) return;
    for (const char* item : {"", "item", "another item", "12345678901234567890"}) {
      const core::KeyHash hash = (*filter)->HashOf(item);
      uint8_t present = 0;
      (*filter)->Prefetch({&hash, 1});
      (*filter)->MayContain({&hash, 1}, {&present, 1});
      uint64_t count = 0;
      if ((*filter)->capabilities().count) (*filter)->Count({&hash, 1}, {&count, 1});
    }
    (*filter)->Info();
    // If these bytes can also be restored as a whole, the restored filter has the same item count.
    core::MemoryBudget whole_budget(16 << 20);
    const auto whole = core::RestoreFilter(core::AsText(dump), whole_budget, core::SystemClock());
    if (whole && (*whole)->ItemCount() != (*filter)->ItemCount()) std::abort();
  }
  if (budget.used_bytes() != 0) std::abort();
}

}  // namespace
}  // namespace bitsieve::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  bitsieve::test::Try(data[0] != 0, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
