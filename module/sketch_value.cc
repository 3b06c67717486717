#include "module/sketch_value.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "module/value_fields.h"
#include "protocol/rdb/module_payload.h"
#include "protocol/rdb/sketch_value.h"

namespace bitsieve::module {
namespace {

using commands::Sketch;
using core::CountMin;
using core::TDigest;
using core::TopK;

constexpr int kSketchVersion = 0;  // the one that every RedisBloom reads

// In the order of Sketch's kinds.
constexpr std::array<const char*, std::variant_size_v<Sketch>> kTypeNames{"CMSk-TYPE", "TopK-TYPE", "TDIS-TYPE"};
std::array<engine::Type*, kTypeNames.size()> types{};

std::atomic<uint64_t> sketch_count{0};  // relaxed: only ever reported

Sketch& SketchOf(const void* value) { return *static_cast<Sketch*>(const_cast<void*>(value)); }

uint64_t ReportedBytes(const Sketch& sketch) {
  return std::visit([](const auto& kind) { return kind.reported_bytes(); }, sketch);
}

// Digests are compressed first, as RedisBloom's are.
void WriteFields(Sketch& sketch, rdb::ValueWriter& fields) {
  if (TDigest* const digest = std::get_if<TDigest>(&sketch)) digest->Compress();
  std::visit([&fields](const auto& kind) { rdb::Write(kind, fields); }, sketch);
}

core::Result<CountMin> Copied(const CountMin& sketch) {
  return CountMin::FromBytes(sketch.shape(), sketch.total(), sketch.cells(), SketchBudget());
}
core::Result<TopK> Copied(const TopK& sketch) { return sketch; }
core::Result<TDigest> Copied(const TDigest& digest) { return digest; }

// Null, and the reason logged, if it could not be read.
template <class Kind>
void* Stored(engine::Io* io, core::Result<Kind> sketch) {
  if (sketch) return NewSketch(std::move(*sketch));
  engine::LogIOError(io, "warning", "bitsieve: %s", sketch.error().message.c_str());
  return nullptr;
}

void* LoadCountMin(engine::Io* io, int version) {
  EngineFields fields(io);
  return Stored(io, rdb::ReadCountMin(fields, version, SketchBudget()));
}
void* LoadTopK(engine::Io* io, int version) {
  EngineFields fields(io);
  return Stored(io, rdb::ReadTopK(fields, version));
}
void* LoadTDigest(engine::Io* io, int version) {
  EngineFields fields(io);
  return Stored(io, rdb::ReadTDigest(fields, version));
}
constexpr std::array kLoads{LoadCountMin, LoadTopK, LoadTDigest};

void SaveSketch(engine::Io* io, void* value) {
  SavedFields fields(io);
  WriteFields(SketchOf(value), fields);
}

void RewriteSketch(engine::Io* io, engine::String* key, void* value) {
  Sketch& sketch = SketchOf(value);
  rdb::ModulePayload payload(kTypeNames[sketch.index()], kSketchVersion);
  WriteFields(sketch, payload);
  const std::string bytes = std::move(payload).Finish();
  engine::EmitAOF(io, "RESTORE", "slb", key, 0LL, bytes.data(), bytes.size());
}

void FreeSketch(void* value) {
  sketch_count.fetch_sub(1, std::memory_order_relaxed);
  delete static_cast<Sketch*>(value);
}

size_t SketchMemory(const void* value) { return ReportedBytes(SketchOf(value)); }

// Above 64 it is freed by a thread of the engine. Each item of a Top-K has a block of its own.
size_t SketchFreeEffort(engine::KeyOptions*, const void* value) {
  const auto* const top_k = std::get_if<TopK>(&SketchOf(value));
  return 1 + ReportedBytes(SketchOf(value)) / 4096 + (top_k != nullptr ? top_k->shape().k : 0);
}

void* CopySketch(engine::KeyOptions*, const void* value) {
  return std::visit(
      [](const auto& kind) -> void* {
        auto copy = Copied(kind);
        return copy ? NewSketch(std::move(*copy)) : nullptr;
      },
      SketchOf(value));
}

// All that is saved, with a digest's numbers compressed, so that it does not depend on when estimates were asked for.
void AddSketchToDigest(engine::Digest* digest, void* value) {
  rdb::ModulePayload payload(kTypeNames[SketchOf(value).index()], kSketchVersion);
  if (const auto* const t_digest = std::get_if<TDigest>(&SketchOf(value))) {
    Sketch copy(*t_digest);
    WriteFields(copy, payload);
  } else {
    WriteFields(SketchOf(value), payload);
  }
  const std::string bytes = std::move(payload).Finish();
  engine::DigestAddStringBuffer(digest, bytes.data(), bytes.size());
  engine::DigestEndSequence(digest);
}

}  // namespace

engine::Type* TypeOf(const Sketch& sketch) { return types[sketch.index()]; }

bool IsSketchType(const engine::Type* type) {
  for (const engine::Type* const each : types) {
    if (each == type) return true;
  }
  return false;
}

bool CreateSketchTypes(engine::Context* context) {
  for (size_t i = 0; i < types.size(); ++i) {
    engine::TypeMethods methods;
    methods.rdb_load = kLoads[i];
    methods.rdb_save = SaveSketch;
    methods.aof_rewrite = RewriteSketch;
    methods.mem_usage = SketchMemory;
    methods.digest = AddSketchToDigest;
    methods.free = FreeSketch;
    methods.free_effort2 = SketchFreeEffort;
    methods.copy2 = CopySketch;
    types[i] = engine::CreateDataType(context, kTypeNames[i], kSketchVersion, &methods);
    if (types[i] == nullptr) return false;
  }
  return true;
}

Sketch* NewSketch(Sketch sketch) {
  sketch_count.fetch_add(1, std::memory_order_relaxed);
  return new Sketch(std::move(sketch));
}

uint64_t SketchCount() { return sketch_count.load(std::memory_order_relaxed); }

// Never destroyed, since sketches refer to it.
core::MemoryBudget& SketchBudget() {
  static core::MemoryBudget& budget = *new core::MemoryBudget;
  return budget;
}

}  // namespace bitsieve::module
