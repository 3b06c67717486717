// Whatever bytes BF.RESTORE is given, reading them ends with a filter or an error: no crash, no hang, no memory beyond
// the budget; and what was accepted works, and is the same when it is dumped and read again.
//
// The first byte: 0, the rest as it is; else with right checksums put in.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/filter/filter_dump.h"
#include "tests/fuzz/dump_checksums.h"

namespace bitsieve::test {
namespace {

constexpr uint64_t kBudgetBytes = 1 << 20;

void Require(bool holds) {
  if (!holds) std::abort();
}

void UseIt(core::Filter& filter) {
  const core::KeyHash hash = filter.HashOf("item");
  core::AddOutcome outcome;
  uint8_t present = 0;
  filter.Add(std::span(&hash, 1), std::span(&outcome, 1));
  filter.MayContain(std::span(&hash, 1), std::span(&present, 1));
  // A window that is full refuses what it knows, too, if it cannot count its time from now on.
  Require(present == !core::IsRefused(outcome) || outcome == core::AddOutcome::kWindowFull);
  filter.Info();
}

void ExpectSameAgain(const std::string& dump) {
  core::MemoryBudget budget;
  const auto filter = core::RestoreFilter(dump, budget, core::SystemClock());
  Require(filter.has_value());
  Require(core::DumpFilter(**filter).value() == dump);
}

void Try(bool right_checksums, std::string input) {
  if (right_checksums) PutDumpChecksums(input);
  core::MemoryBudget budget(kBudgetBytes);
  {
    const auto filter = core::RestoreFilter(input, budget, core::SystemClock());
    Require(budget.used_bytes() <= kBudgetBytes);
    if (filter) {
      UseIt(**filter);
      const auto dump = core::DumpFilter(**filter);
      // An image may need memory of its own.
      Require(dump || dump.error().code == core::ErrorCode::kOutOfMemory);
      if (dump) ExpectSameAgain(*dump);
    }
  }
  Require(budget.used_bytes() == 0);
}

}  // namespace
}  // namespace bitsieve::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  bitsieve::test::Try(data[0] != 0, std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
