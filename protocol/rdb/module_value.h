// module_value.h: reads what modules of Redis and Valkey save as the values of MBbloom--, MBbloomCF and bloomfltr, in
// RDB files, full syncs and DUMP payloads: RedisBloom, encoding versions 0 to 4, valkey-bloom (valkey_value.h), and
// bitsieve.so, of which a value holds a dump. docs/formats/module.md has their fields. RedisBloom's load as the types
// redisbloom and rediscuckoo, byte for byte.
//
// Everything in them is hostile until the decoders have taken it: sizes are checked, numbers of items are not, since
// RedisBloom's own may be wrong. Thread-safe: free functions; readers and writers are confined to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter_ptr.h"

namespace bitsieve::rdb {

inline constexpr int kNewestRedisBloomVersion = 4;
inline constexpr int kOwnValueVersion = 256;  // of 1023
inline constexpr uint64_t kOwnValueFormat = 1;
inline constexpr uint64_t kFreezingMark = 1;

// A string of a value: with the memory that it lies in, unless it lies in what outlives the reader.
struct ValueBytes {
  std::unique_ptr<char, void (*)(void*)> memory{nullptr, nullptr};
  std::string_view bytes = {};
};

// The fields of a value, in order.
class ValueReader {
 public:
  virtual ~ValueReader() = default;
  // After a failure these are 0 and empty.
  virtual uint64_t Unsigned() = 0;
  virtual double Double() = 0;
  virtual ValueBytes Bytes() = 0;
  // Whether the next field is known to be a string.
  virtual bool NextIsBytes() const { return false; }
  // Whether a field was missing, or of another kind, or there was no memory for it.
  virtual bool failed() const = 0;
};

// Takes the fields of a value, in order.
class ValueWriter {
 public:
  virtual ~ValueWriter() = default;
  virtual void Unsigned(uint64_t value) = 0;
  virtual void Double(double value) = 0;
  virtual void Bytes(std::string_view bytes) = 0;
};

struct ModuleValue {
  core::FilterPtr filter;
  bool was_freezing = false;  // what was being frozen is to be frozen again
};

// Returns whether values of this name are filters.
bool IsFilterName(std::string_view name);
// Reads a value of this name, of which IsFilterName holds. kCorrupt; kUnsupported for versions that are not known,
// and for cuckoo filters below version 4, whose fingerprints come from another hash; kOutOfMemory if the budget
// refuses.
core::Result<ModuleValue> ReadModuleValue(ValueReader& fields, std::string_view name, int version,
                                          core::MemoryBudget& budget, const core::Clock& clock);

}  // namespace bitsieve::rdb
