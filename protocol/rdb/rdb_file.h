// rdb_file.h: reads the filters in RDB files and DUMP payloads of Redis and Valkey; all other values are skipped.
// Thread-compatible; the bytes outlive what is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "protocol/rdb/module_value.h"
#include "protocol/rdb/rdb_reader.h"

namespace bitsieve::rdb {

// The value of a module.
struct ModuleBytes {
  ModuleId id;
  std::string_view fields;

  bool is_filter() const { return IsFilterName(id.name); }
};

// Reads the filter that `value` is; value.is_filter() holds. Errors as of ReadModuleValue.
core::Result<ModuleValue> ReadFilter(const ModuleBytes& value, core::MemoryBudget& memory, const core::Clock& clock);

struct RdbKey {
  std::string name;
  uint64_t database = 0;
  int64_t expires_ms = 0;                            // since 1970; 0: never
  uint8_t type = 0;                                  // the format's number of it
  std::optional<ModuleBytes> module = std::nullopt;  // of modules' types
};

class RdbFile {
 public:
  // Opens a file. kCorrupt if these are no bytes of such a file.
  static core::Result<RdbFile> Open(std::string_view bytes, core::MemoryBudget& memory);

  // Returns the next key. Nothing: there are no more, or the file is damaged or has something that cannot be skipped,
  // which failure() reports.
  std::optional<RdbKey> Next();
  const std::string& failure() const { return reader_.failure(); }
  uint64_t position() const { return reader_.position(); }

 private:
  RdbFile(std::string_view bytes, core::MemoryBudget& memory, int version, Dialect dialect)
      : bytes_(bytes), reader_(bytes, memory), version_(version), dialect_(dialect) {}

  // Returns whether the byte is no key's type, but marks something else, which was read.
  bool ReadOther(uint8_t opcode, RdbKey& next);
  std::optional<RdbKey> ReadKey(RdbKey key);
  void CheckEnd();

  std::string_view bytes_;
  RdbReader reader_;
  int version_;
  Dialect dialect_;
  uint64_t database_ = 0;
  bool at_end_ = false;
};

// Returns the type of the module's value that a payload holds, by its first bytes: the rest may be missing or damaged.
// Nothing if it is no value of a module.
std::optional<ModuleId> ModuleOfPayload(std::string_view begin);

// Opens a payload that DUMP returned. kCorrupt if its checksum or form is wrong; kUnsupported if it is no filter.
core::Result<ModuleBytes> OpenDumpPayload(std::string_view payload);

}  // namespace bitsieve::rdb
