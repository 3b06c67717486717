// dump_file.h: a filter in a file, as bitsieve export and BF.DUMP write it (docs/formats/dump.md). Thread-safe: free
// functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"

namespace bitsieve::cli {

// Whether it is a file that begins as a dump does.
bool IsDumpFile(const std::string& path);

// Whether it is a file that begins as an RDB file of Redis or Valkey does.
bool IsRdbFile(const std::string& path);
// Returns the advice for an RDB file: `this is an RDB file, whose filters "bitsieve migrate FILE" moves`.
std::string RdbAdvice(const std::string& path);

struct DumpFile {
  std::unique_ptr<core::Filter> filter;
  uint64_t bytes = 0;  // of the dump
};
// Verified to the last byte; takes the memory of the filter twice. The budget outlives the filter. The message of an
// error names the file.
core::Result<DumpFile> ReadDumpFile(const std::string& path, core::MemoryBudget& memory);

}  // namespace bitsieve::cli
