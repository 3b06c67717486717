// RDB files and payloads of DUMP: for any bytes, reading ends within the file and within the memory given.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "protocol/rdb/rdb_file.h"

namespace {

constexpr uint64_t kMemory = 64 << 20;

void ReadValue(const bitsieve::rdb::ModuleBytes& value) {
  bitsieve::core::MemoryBudget memory(kMemory);
  {
    const auto read = bitsieve::rdb::ReadFilter(value, memory, bitsieve::core::SystemClock());
    if (read && read->filter->Info().size_bytes > kMemory) std::abort();
  }
  if (memory.used_bytes() != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bitsieve::core::MemoryBudget memory(kMemory);
  if (auto file = bitsieve::rdb::RdbFile::Open(bytes, memory)) {
    while (const auto key = file->Next()) {
      if (key->module && key->module->is_filter()) ReadValue(*key->module);
    }
    if (file->position() > size) std::abort();
  }
  // The bytes are also read as payloads, even if their checksum is wrong.
  if (const auto payload = bitsieve::rdb::OpenDumpPayload(bytes)) {
    ReadValue(*payload);
  } else {
    ReadValue({.id = {.name = std::string(bitsieve::core::kBloomValueName), .version = 4}, .fields = bytes});
    ReadValue({.id = {.name = std::string(bitsieve::core::kCuckooValueName), .version = 4}, .fields = bytes});
    ReadValue({.id = {.name = std::string(bitsieve::core::kValkeyBloomValueName), .version = 1}, .fields = bytes});
  }
  return 0;
}
