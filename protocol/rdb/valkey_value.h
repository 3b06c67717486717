// valkey_value.h: reads and writes what valkey-bloom saves as values of the type bloomfltr, in RDB files, full syncs
// and DUMP payloads. docs/formats/module.md has their fields. Everything in them is hostile until the builder has
// taken it. Thread-safe: free functions.
#pragma once

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter.h"
#include "protocol/rdb/module_value.h"

namespace bitsieve::rdb {

inline constexpr int kValkeyBloomVersion = 1;

// Reads a value, as ReadModuleValue. The bits of a sub-filter may precede its capacity, as development builds had it,
// if the reader can see the kind of the next field.
core::Result<core::FilterPtr> ReadValkeyBloom(ValueReader& fields, int version, core::MemoryBudget& budget);
// Writes the fields of a filter of the type valkeybloom; a copy of each sub-filter is made for it.
void WriteValkeyBloom(const core::Filter& filter, ValueWriter& out);

}  // namespace bitsieve::rdb
