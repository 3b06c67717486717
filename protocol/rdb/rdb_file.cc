#include "protocol/rdb/rdb_file.h"

#include <charconv>
#include <utility>

#include "core/base/bytes.h"

namespace bitsieve::rdb {
namespace {

using core::ErrorCode;
using core::Fail;
using core::Result;

// Bytes that stand where a key's type would, and mark something else.
enum Opcode : uint8_t {
  kSlotImport = 243,
  kSlotInfo = 244,
  kFunction = 245,
  kModuleAux = 247,
  kIdle = 248,
  kFrequency = 249,
  kAux = 250,
  kResizeDb = 251,
  kExpiresMs = 252,
  kExpiresSeconds = 253,
  kSelectDb = 254,
  kEnd = 255,
};

constexpr size_t kMagicBytes = 9;  // "REDIS0011", "VALKEY080"
constexpr size_t kChecksumBytes = 8;
constexpr size_t kVersionBytes = 2;  // of a payload
constexpr int kFirstVersionWithChecksum = 5;

}  // namespace

Result<ModuleValue> ReadFilter(const ModuleBytes& value, core::MemoryBudget& memory, const core::Clock& clock) {
  RdbReader reader(value.fields, memory);
  RdbFields fields(reader);
  auto filter = ReadModuleValue(fields, value.id.name, value.id.version, memory, clock);
  if (!reader.failed() && filter) fields.End();
  if (reader.failed()) return Fail(ErrorCode::kCorrupt, "filter value: " + reader.failure());
  if (filter && reader.left() != 0) return Fail(ErrorCode::kCorrupt, "filter value: there are bytes after its end");
  return filter;
}

Result<RdbFile> RdbFile::Open(std::string_view bytes, core::MemoryBudget& memory) {
  const bool redis = bytes.starts_with("REDIS");
  const bool valkey = bytes.starts_with("VALKEY");
  if (bytes.size() < kMagicBytes || (!redis && !valkey)) {
    return Fail(ErrorCode::kCorrupt, "it does not begin with REDIS or VALKEY: not an RDB file");
  }
  const size_t letters = redis ? 5 : 6;
  int version = 0;
  const char* const digits_end = bytes.data() + kMagicBytes;
  if (std::from_chars(bytes.data() + letters, digits_end, version).ptr != digits_end) {
    return Fail(ErrorCode::kCorrupt, "its version is not a number: not an RDB file");
  }
  RdbFile file(bytes, memory, version, valkey ? Dialect::kValkey : Dialect::kRedis);
  for (size_t i = 0; i < kMagicBytes; ++i) file.reader_.Byte();
  return file;
}

bool RdbFile::ReadOther(uint8_t opcode, RdbKey& next) {
  switch (opcode) {
    case kExpiresMs:
      next.expires_ms = static_cast<int64_t>(reader_.Little<uint64_t>());
      return true;
    case kExpiresSeconds:
      next.expires_ms = int64_t{1000} * static_cast<int32_t>(reader_.Little<uint32_t>());
      return true;
    case kIdle:
      reader_.Length();
      return true;
    case kFrequency:
      reader_.Byte();
      return true;
    case kSelectDb:
      database_ = reader_.Length();
      return true;
    case kResizeDb:
      reader_.Length();
      reader_.Length();
      return true;
    case kSlotInfo:
      for (int i = 0; i < 3; ++i) reader_.Length();
      return true;
    case kAux:
      reader_.SkipString();
      reader_.SkipString();
      return true;
    case kFunction:
      reader_.SkipString();
      return true;
    case kModuleAux:
      reader_.Length();  // the module's ID; when the fields were saved is the first of them
      reader_.SkipModuleFields();
      return true;
    case kEnd:
      at_end_ = true;
      return true;
    case kSlotImport:
      reader_.Fail("a slot that was being imported, which cannot be read here,");
      return true;
    default:
      return false;
  }
}

std::optional<RdbKey> RdbFile::Next() {
  RdbKey next;
  while (!reader_.failed() && !at_end_) {
    const uint8_t byte = reader_.Byte();
    if (reader_.failed()) return std::nullopt;
    if (ReadOther(byte, next)) continue;
    next.type = byte;
    return ReadKey(std::move(next));
  }
  if (at_end_) CheckEnd();
  return std::nullopt;
}

std::optional<RdbKey> RdbFile::ReadKey(RdbKey key) {
  key.name = reader_.String().bytes;
  key.database = database_;
  if (key.type != kModule2) {
    reader_.SkipValue(key.type, dialect_);
  } else {
    const ModuleId id = ModuleIdOf(reader_.Length());
    const uint64_t begin = reader_.position();
    reader_.SkipModuleFields();
    key.module = ModuleBytes{.id = id, .fields = bytes_.substr(begin, reader_.position() - begin)};
  }
  if (reader_.failed()) return std::nullopt;
  return key;
}

// A checksum of 0 is none: it can be turned off.
void RdbFile::CheckEnd() {
  if (version_ < kFirstVersionWithChecksum || reader_.failed()) return;
  const std::string_view checked = bytes_.substr(0, reader_.position());
  const auto stated = reader_.Little<uint64_t>();
  if (stated != 0 && !reader_.failed() && stated != RdbChecksum(checked)) {
    reader_.Fail("the checksum is wrong: the file is damaged,");
  }
}

std::optional<ModuleId> ModuleOfPayload(std::string_view begin) {
  core::MemoryBudget none;
  RdbReader reader(begin, none);
  if (reader.Byte() != kModule2) return std::nullopt;
  const uint64_t id = reader.Length();
  return reader.failed() ? std::nullopt : std::optional(ModuleIdOf(id));
}

Result<ModuleBytes> OpenDumpPayload(std::string_view payload) {
  constexpr size_t kTailBytes = kVersionBytes + kChecksumBytes;
  if (payload.size() <= kTailBytes) return Fail(ErrorCode::kCorrupt, "it is too short");
  const std::string_view checked = payload.substr(0, payload.size() - kChecksumBytes);
  core::ByteReader tail(payload.substr(checked.size()));
  if (tail.Get<uint64_t>() != RdbChecksum(checked)) return Fail(ErrorCode::kCorrupt, "its checksum is wrong");
  const std::string_view value = checked.substr(0, checked.size() - kVersionBytes);
  core::MemoryBudget none;
  RdbReader reader(value, none);
  if (reader.Byte() != kModule2) {
    return Fail(ErrorCode::kUnsupported, "it is not a filter, but a value of Redis's own type " +
                                             std::to_string(static_cast<uint8_t>(value.front())));
  }
  const ModuleId id = ModuleIdOf(reader.Length());
  if (reader.failed()) return Fail(ErrorCode::kCorrupt, reader.failure());
  ModuleBytes module{.id = id, .fields = value.substr(reader.position())};
  if (!module.is_filter()) {
    return Fail(ErrorCode::kUnsupported, "it is not a filter, but a value of the module type " + id.name);
  }
  return module;
}

}  // namespace bitsieve::rdb
