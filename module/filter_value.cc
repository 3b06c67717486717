#include "module/filter_value.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "module/filter_content.h"
#include "module/freezing.h"
#include "module/value_fields.h"
#include "protocol/rdb/module_value.h"
#include "protocol/rdb/valkey_value.h"

namespace bitsieve::module {
namespace {

engine::Type* bloom_type = nullptr;
engine::Type* cuckoo_type = nullptr;
engine::Type* valkey_bloom_type = nullptr;
std::atomic<uint64_t> filter_count{0};  // relaxed: only ever reported

core::Filter& FilterOf(const void* value) { return *static_cast<const Slot*>(value)->filter; }

bool IsFreezing(core::Filter& filter) {
  return filter.staging() != nullptr && filter.Info().freeze.state == core::FreezeState::kBuilding;
}

// Writes the format, the marks, the length of the dump and its chunks.
void Save(engine::Io* io, void* value) {
  core::Filter& filter = FilterOf(value);
  engine::SaveUnsigned(io, rdb::kOwnValueFormat);
  engine::SaveUnsigned(io, IsFreezing(filter) ? rdb::kFreezingMark : 0);
  engine::SaveUnsigned(io, core::DumpStream(filter.Capture()).total_bytes());
  ForEachPiece(filter, [io](std::string_view piece) { engine::SaveStringBuffer(io, piece.data(), piece.size()); });
}

// Saves a filter as valkey-bloom does, which can take the module's place again.
void SaveValkeyBloom(engine::Io* io, void* value) {
  SavedFields fields(io);
  rdb::WriteValkeyBloom(FilterOf(value), fields);
}

template <const std::string_view& name>
void* Load(engine::Io* io, int version) {
  EngineFields fields(io);
  core::Result<rdb::ModuleValue> value = rdb::ReadModuleValue(fields, name, version, Budget(), TheClock());
  if (!value) {
    engine::LogIOError(io, "warning", "bitsieve: %s", value.error().message.c_str());
    return nullptr;
  }
  Slot* const slot = NewSlot(std::move(value->filter));
  if (value->was_freezing) CloseAndFreeze(*slot);
  return slot;
}

void Free(void* value) {
  Slot* const slot = static_cast<Slot*>(value);
  StopFreezing(*slot);
  filter_count.fetch_sub(1, std::memory_order_relaxed);
  delete slot;
}

void RewriteAof(engine::Io* io, engine::String* key, void* value) {
  core::Filter& filter = FilterOf(value);
  ForEachContentCommand(filter, [io, key](const char* command, int64_t cursor, std::string_view bytes) {
    engine::EmitAOF(io, command, "slb", key, static_cast<long long>(cursor), bytes.data(), bytes.size());
  });
  if (IsFreezing(filter)) engine::EmitAOF(io, "BF.FREEZE", "s", key);
}

// Includes what the engine takes for a key besides its name and does not count itself: two blocks of 16 bytes by which
// it refers to a module's value, 8 bytes that the key's entry is rounded up by, and a pointer in a table that is at
// most half empty.
size_t MemoryUsage(const void* value) {
  constexpr size_t kEngineBytes = 2 * 16 + 8 + 12;
  return kEngineBytes + core::BlockBytes(sizeof(Slot)) + FilterOf(value).heap_bytes();
}

// Above 64 it is freed by a thread of the engine.
size_t FreeEffort(engine::KeyOptions*, const void* value) { return 1 + FilterOf(value).size_bytes() / 4096; }

void* Copy(engine::KeyOptions*, const void* value) {
  core::Filter& filter = FilterOf(value);
  auto copy = core::CloneFilter(filter, Budget(), TheClock());
  if (!copy) return nullptr;
  Slot* const slot = NewSlot(std::move(*copy));
  // Elsewhere it may be frozen by now: copies are to be frozen everywhere.
  if (IsFreezing(filter)) CloseAndFreeze(*slot);
  return slot;
}

// A dump ends with the checksum of all of it.
void AddToDigest(engine::Digest* digest, void* value) {
  static constexpr size_t kChecksumBytes = 8;
  std::string tail;
  ForEachPiece(FilterOf(value), [&tail](std::string_view piece) {
    tail += piece.substr(piece.size() - std::min(piece.size(), kChecksumBytes));
    tail.erase(0, tail.size() - std::min(tail.size(), kChecksumBytes));
  });
  engine::DigestAddStringBuffer(digest, tail.data(), tail.size());
  engine::DigestEndSequence(digest);
}

}  // namespace

Slot* NewSlot(FilterPtr filter) {
  filter_count.fetch_add(1, std::memory_order_relaxed);
  return new Slot{std::move(filter)};
}

engine::Type* TypeOf(const core::Filter& filter) {
  const std::string_view name = filter.type().value_name;
  if (name == core::kValkeyBloomValueName) return valkey_bloom_type;
  return name == core::kCuckooValueName ? cuckoo_type : bloom_type;
}
bool IsFilterType(const engine::Type* type) {
  return type == bloom_type || type == cuckoo_type || type == valkey_bloom_type;
}

bool CreateFilterTypes(engine::Context* context) {
  engine::TypeMethods methods;
  methods.rdb_load = Load<core::kBloomValueName>;
  methods.rdb_save = Save;
  methods.aof_rewrite = RewriteAof;
  methods.mem_usage = MemoryUsage;
  methods.digest = AddToDigest;
  methods.free = Free;
  methods.free_effort2 = FreeEffort;
  methods.copy2 = Copy;
  bloom_type = engine::CreateDataType(context, core::kBloomValueName.data(), rdb::kOwnValueVersion, &methods);
  methods.rdb_load = Load<core::kCuckooValueName>;
  cuckoo_type = engine::CreateDataType(context, core::kCuckooValueName.data(), rdb::kOwnValueVersion, &methods);
  methods.rdb_load = Load<core::kValkeyBloomValueName>;
  methods.rdb_save = SaveValkeyBloom;
  valkey_bloom_type =
      engine::CreateDataType(context, core::kValkeyBloomValueName.data(), rdb::kValkeyBloomVersion, &methods);
  return bloom_type != nullptr && cuckoo_type != nullptr && valkey_bloom_type != nullptr;
}

uint64_t FilterCount() { return filter_count.load(std::memory_order_relaxed); }

// The budget and the clock are never destroyed, since filters refer to them.
core::MemoryBudget& Budget() {
  static core::MemoryBudget& budget = *new core::MemoryBudget;
  return budget;
}

core::FilterClock& TheClock() {
  static core::FilterClock& clock = *new core::FilterClock;
  return clock;
}

}  // namespace bitsieve::module
