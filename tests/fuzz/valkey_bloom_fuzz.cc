// Filters of valkey-bloom as the fields of its values and as payloads of BF.LOAD: refused, or a filter that works,
// within the memory given, and is saved again as it was read. The first byte chooses the form.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/memory_budget.h"
#include "core/families/valkeybloom/valkey_bloom_codec.h"
#include "core/filter/filter_dump.h"
#include "protocol/rdb/module_payload.h"
#include "protocol/rdb/rdb_reader.h"
#include "protocol/rdb/valkey_value.h"

namespace {

using namespace bitsieve;

constexpr uint64_t kMemory = 16 << 20;

void Require(bool holds) {
  if (!holds) std::abort();
}

core::Result<core::FilterPtr> ReadFields(std::string_view bytes, core::MemoryBudget& memory) {
  rdb::RdbReader reader(bytes, memory);
  rdb::RdbFields fields(reader);
  return rdb::ReadValkeyBloom(fields, rdb::kValkeyBloomVersion, memory);
}

core::Result<core::FilterPtr> Read(std::string_view bytes, bool is_load, core::MemoryBudget& memory) {
  if (!is_load) return ReadFields(bytes, memory);
  auto loaded = core::DecodeValkeyLoad(bytes, memory);
  if (!loaded) return tl::unexpected(std::move(loaded).error());
  return core::FilterPtr(std::move(*loaded));
}

// The fields of a value as they are saved, without what is around them.
std::string Saved(const core::Filter& filter) {
  constexpr size_t kBefore = 10, kAfter = 10;
  rdb::ModulePayload payload(core::kValkeyBloomValueName, rdb::kValkeyBloomVersion);
  rdb::WriteValkeyBloom(filter, payload);
  const std::string whole = std::move(payload).Finish();
  return whole.substr(kBefore, whole.size() - kBefore - kAfter);
}

void Use(core::Filter& filter) {
  const std::array hash{filter.HashOf("item")};
  std::array<core::AddOutcome, 1> outcome;
  filter.Add(hash, outcome);
  std::array<uint8_t, 1> present;
  filter.MayContain(hash, present);
  Require(present[0] == 1 || outcome[0] > core::AddOutcome::kAdded);
  (void)filter.Info();
  (void)filter.EstimatedErrorRate();
  const auto dump = core::DumpFilter(filter);
  core::MemoryBudget memory;
  Require(dump && core::RestoreFilter(*dump, memory, core::SystemClock()));
}

void Try(std::string_view bytes, bool is_load) {
  core::MemoryBudget memory(kMemory);
  {
    const auto filter = Read(bytes, is_load, memory);
    if (filter) {
      const std::string saved = Saved(**filter);
      core::MemoryBudget copies;
      // The sub-filters of a payload need not all be full, as those of a value are.
      if (const auto again = ReadFields(saved, copies)) {
        Require(Saved(**again) == saved);
      } else {
        Require(is_load);
      }
      Use(**filter);
    }
  }
  Require(memory.used_bytes() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  Try({reinterpret_cast<const char*>(data + 1), size - 1}, data[0] % 2 == 1);
  return 0;
}
