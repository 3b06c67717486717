#include "module/filter_value.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_staging.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"
#include "module/filter_content.h"
#include "module/freezing.h"
#include "module/redisbloom_value.h"

namespace bitsieve::module {
namespace {

constexpr int kEncodingVersion = 256;  // of 1023; RedisBloom's are 0 to 4
constexpr uint64_t kValueFormat = 1;
constexpr uint64_t kFreezing = 1;  // a mark

engine::Type* bloom_type = nullptr;
engine::Type* cuckoo_type = nullptr;
std::atomic<uint64_t> filter_count{0};  // relaxed: only ever reported

core::Filter& FilterOf(const void* value) { return *static_cast<const Slot*>(value)->filter; }
bool IsCuckoo(const core::Filter& filter) { return filter.type().is_cuckoo_value; }

bool IsFreezing(core::Filter& filter) {
  const bool staging = core::RibbonStaging::Of(filter) != nullptr;
  return staging && filter.Info().freeze.state == core::FreezeState::kBuilding;
}

// Format, marks, length of the dump, its pieces.
void Save(engine::Io* io, void* value) {
  core::Filter& filter = FilterOf(value);
  engine::SaveUnsigned(io, kValueFormat);
  engine::SaveUnsigned(io, IsFreezing(filter) ? kFreezing : 0);
  engine::SaveUnsigned(io, core::DumpStream(filter.Capture()).total_bytes());
  ForEachPiece(filter, [io](std::string_view piece) { engine::SaveStringBuffer(io, piece.data(), piece.size()); });
}

tl::unexpected<core::Error> Unreadable(std::string what) {
  return core::Fail(core::ErrorCode::kCorrupt, "filter value: " + std::move(what));
}

// The next piece of a dump, of which `left` bytes are to come.
core::Result<LoadedBytes> LoadPiece(engine::Io* io, uint64_t left) {
  LoadedBytes piece = LoadBytes(io);
  if (engine::IsIOError(io) || piece.size == 0) return Unreadable("it ends too early");
  if (piece.size > left) return Unreadable("it is longer than it says");
  return piece;
}

core::Result<FilterPtr> LoadDump(engine::Io* io, uint64_t total) {
  core::Result<LoadedBytes> piece = LoadPiece(io, total);
  if (!piece) return tl::unexpected(piece.error());
  const auto dump = core::OpenFilterDump(piece->view(), Budget(), TheClock());
  if (!dump) return tl::unexpected(dump.error());
  if (dump->head_bytes + dump->decoder->body_bytes() != total) return Unreadable("its length does not fit its filter");
  uint64_t left = total;
  std::string_view bytes = piece->view().substr(dump->head_bytes);
  while (true) {
    if (core::Status status = dump->decoder->Append(core::AsBytes(bytes)); !status) {
      return tl::unexpected(std::move(status).error());
    }
    left -= piece->size;
    if (left == 0) break;
    piece = LoadPiece(io, left);
    if (!piece) return tl::unexpected(piece.error());
    bytes = piece->view();
  }
  auto filter = dump->decoder->Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  return FilterPtr(std::move(*filter));
}

core::Result<Slot*> LoadOwn(engine::Io* io) {
  const uint64_t format = engine::LoadUnsigned(io);
  const uint64_t marks = engine::LoadUnsigned(io);
  const uint64_t total = engine::LoadUnsigned(io);
  if (engine::IsIOError(io)) return Unreadable("it ends too early");
  if (format != kValueFormat) return Unreadable("its format " + std::to_string(format) + " is not known");
  core::Result<FilterPtr> filter = LoadDump(io, total);
  if (!filter) return tl::unexpected(filter.error());
  Slot* const slot = NewSlot(std::move(*filter));
  if ((marks & kFreezing) != 0) CloseAndFreeze(*slot);
  return slot;
}

core::Result<Slot*> LoadValue(engine::Io* io, int version, bool cuckoo) {
  if (version == kEncodingVersion) return LoadOwn(io);
  if (version > kNewestRedisBloomVersion)
    return Unreadable("its encoding " + std::to_string(version) + " is not known");
  core::Result<FilterPtr> filter = cuckoo ? LoadRedisCuckoo(io, version) : LoadRedisBloom(io, version);
  if (!filter) return tl::unexpected(filter.error());
  return NewSlot(std::move(*filter));
}

void Free(void* value) {
  Slot* const slot = static_cast<Slot*>(value);
  StopFreezing(*slot);
  filter_count.fetch_sub(1, std::memory_order_relaxed);
  delete slot;
}

template <bool cuckoo>
void* Load(engine::Io* io, int version) {
  const core::Result<Slot*> slot = LoadValue(io, version, cuckoo);
  if (slot && IsCuckoo(*(*slot)->filter) == cuckoo) return *slot;
  engine::LogIOError(io, "warning", "bitsieve: %s",
                     slot ? "a filter of another data type" : slot.error().message.c_str());
  if (slot) Free(*slot);
  return nullptr;
}

void RewriteAof(engine::Io* io, engine::String* key, void* value) {
  core::Filter& filter = FilterOf(value);
  ForEachContentCommand(filter, [io, key](const char* command, int64_t cursor, std::string_view bytes) {
    engine::EmitAOF(io, command, "slb", key, static_cast<long long>(cursor), bytes.data(), bytes.size());
  });
  if (IsFreezing(filter)) engine::EmitAOF(io, "BF.FREEZE", "s", key);
}

size_t MemoryUsage(const void* value) { return sizeof(Slot) + FilterOf(value).size_bytes(); }

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

engine::Type* TypeOf(const core::Filter& filter) { return IsCuckoo(filter) ? cuckoo_type : bloom_type; }
bool IsFilterType(const engine::Type* type) { return type == bloom_type || type == cuckoo_type; }

bool CreateFilterTypes(engine::Context* context) {
  engine::TypeMethods methods;
  methods.rdb_load = Load<false>;
  methods.rdb_save = Save;
  methods.aof_rewrite = RewriteAof;
  methods.mem_usage = MemoryUsage;
  methods.digest = AddToDigest;
  methods.free = Free;
  methods.free_effort2 = FreeEffort;
  methods.copy2 = Copy;
  bloom_type = engine::CreateDataType(context, "MBbloom--", kEncodingVersion, &methods);
  methods.rdb_load = Load<true>;
  cuckoo_type = engine::CreateDataType(context, "MBbloomCF", kEncodingVersion, &methods);
  return bloom_type != nullptr && cuckoo_type != nullptr;
}

uint64_t FilterCount() { return filter_count.load(std::memory_order_relaxed); }

// What filters refer to is never destroyed.
core::MemoryBudget& Budget() {
  static core::MemoryBudget& budget = *new core::MemoryBudget;
  return budget;
}

core::FilterClock& TheClock() {
  static core::FilterClock& clock = *new core::FilterClock;
  return clock;
}

}  // namespace bitsieve::module
