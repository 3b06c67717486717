// sketch_value.h: the fields of which modules save RedisBloom's sketches as values, in RDB files, full syncs and DUMP
// payloads: CMSk-TYPE, TopK-TYPE and TDIS-TYPE. All input is hostile until it was read: sizes are compared with what is
// there before anything is allocated. Thread-safe: free functions; readers and writers are confined to one thread.
#pragma once

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/sketches/count_min.h"
#include "core/sketches/t_digest.h"
#include "core/sketches/top_k.h"
#include "protocol/rdb/module_value.h"

namespace bitsieve::rdb {

// The versions are those that the value was saved with. kCorrupt; kUnsupported for versions that are not known;
// kOutOfMemory.
core::Result<core::CountMin> ReadCountMin(ValueReader& fields, int version, core::MemoryBudget& budget);
core::Result<core::TopK> ReadTopK(ValueReader& fields, int version);
core::Result<core::TDigest> ReadTDigest(ValueReader& fields, int version);

// Write the fields of version 0.
void Write(const core::CountMin& sketch, ValueWriter& fields);
void Write(const core::TopK& sketch, ValueWriter& fields);
// The digest was compressed.
void Write(const core::TDigest& digest, ValueWriter& fields);

}  // namespace bitsieve::rdb
