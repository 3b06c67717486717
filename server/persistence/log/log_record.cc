#include "server/persistence/log/log_record.h"

#include <array>
#include <cassert>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/bytes.h"
#include "server/persistence/disk/manifest.h"

namespace bitsieve::server::log {
namespace {

using core::ByteReader;
using core::ByteWriter;

constexpr size_t kLengthBytes = sizeof(uint32_t);
constexpr size_t kHashBytes = sizeof(core::KeyHash);
static_assert(kHashBytes == 16 && std::is_trivially_copyable_v<core::KeyHash>, "hashes are stored as they lie");

constexpr std::array<std::string_view, kRecordKinds> kNames{
    "made",    "image",  "added",   "removed",   "freezing", "named",           "unnamed",
    "renamed", "expiry", "flushed", "rewritten", "content",  "false positives", "renewed"};
static_assert(static_cast<size_t>(RecordKind::kRenewed) == kRecordKinds);
// Added to the number of a change of items:
constexpr uint8_t kTimed = 0x80;  // a time follows the sequence
constexpr uint8_t kUntil = 0x40;  // and then the time at which the items expire

RecordKind KindOf(core::ChangeKind kind) {
  switch (kind) {
    case core::ChangeKind::kAdded:
      return RecordKind::kAdded;
    case core::ChangeKind::kRemoved:
      return RecordKind::kRemoved;
    case core::ChangeKind::kFalsePositives:
      return RecordKind::kFalsePositives;
    case core::ChangeKind::kRenewed:
      return RecordKind::kRenewed;
    case core::ChangeKind::kRewritten:
      break;
  }
  return RecordKind::kRewritten;
}

RecordKind KindOf(const Made&) { return RecordKind::kMade; }
RecordKind KindOf(const Image&) { return RecordKind::kImage; }
RecordKind KindOf(const Changed& changed) { return KindOf(changed.kind); }
RecordKind KindOf(const Freezing&) { return RecordKind::kFreezing; }
RecordKind KindOf(const Named&) { return RecordKind::kNamed; }
RecordKind KindOf(const Unnamed&) { return RecordKind::kUnnamed; }
RecordKind KindOf(const Renamed&) { return RecordKind::kRenamed; }
RecordKind KindOf(const Expiry&) { return RecordKind::kExpiry; }
RecordKind KindOf(const Flushed&) { return RecordKind::kFlushed; }
RecordKind KindOf(const Content&) { return RecordKind::kContent; }

tl::unexpected<core::Error> Corrupt(const std::string& what) {
  return core::Fail(core::ErrorCode::kCorrupt, "a record " + what);
}

// Validate does not check the hash of some filter types, and HashItem supports no others.
bool IsKnown(core::HashKind hash) { return hash >= core::HashKind::kXxh3 && hash <= core::kNewestHashKind; }

void Put(ByteWriter& out, const Made& made) {
  out.Put(made.id);
  core::PutTypedParams(out, made.params);
}
void Put(ByteWriter& out, const Image& image) {
  out.Put(image.id);
  out.Put(image.sequence);
  out.Put(image.file_id);
  out.Put(image.seal.bytes);
  out.Put(image.seal.checksum);
}
void Put(ByteWriter& out, const Freezing& freezing) { out.Put(freezing.id); }
void Put(ByteWriter& out, const Named& named) {
  out.Put(named.id);
  out.Put(named.expires_ms);
  out.PutString(named.name);
}
void Put(ByteWriter& out, const Unnamed& unnamed) { out.PutString(unnamed.name); }
void Put(ByteWriter& out, const Renamed& renamed) {
  out.PutString(renamed.from);
  out.PutString(renamed.to);
}
void Put(ByteWriter& out, const Expiry& expiry) {
  out.Put(expiry.expires_ms);
  out.PutString(expiry.name);
}
void Put(ByteWriter&, const Flushed&) {}
void Put(ByteWriter& out, const Content& content) {
  out.Put(content.id);
  out.Put(content.sequence);
  out.PutString(content.header);
  out.PutBytes(content.body);
}

template <class T>
void EncodeOther(const T& record, std::string& out) {
  const size_t begin = out.size();
  ByteWriter writer(out);
  writer.Put(uint32_t{0});
  writer.Put(static_cast<uint8_t>(KindOf(record)));
  Put(writer, record);
  const auto length = static_cast<uint32_t>(out.size() - begin - kLengthBytes);
  std::memcpy(out.data() + begin, &length, sizeof length);
}

// The record as a T: the one that is there, so that its memory is used again, or a new one.
template <class T>
T& Become(Record& record) {
  if (T* same = std::get_if<T>(&record)) return *same;
  return record.emplace<T>();
}

core::Status CheckId(uint64_t id) {
  if (id >= 1 && id < kMaxFilterId) return {};
  return Corrupt("of filter " + std::to_string(id) + ", which is not a valid id");
}

core::Status CheckExpiry(int64_t expires_ms) {
  if (expires_ms >= 0) return {};
  return Corrupt("with an expiry before 1970");
}

core::Status Get(ByteReader& in, Made& made) {
  made.id = in.Get<uint64_t>();
  made.params = core::GetTypedParams(in);
  if (!in.ok()) return {};
  if (!IsKnown(made.params.hash)) return Corrupt("of a new filter: its hash function is unknown");
  if (const core::Status valid = core::Validate(made.params); !valid) {
    return Corrupt("of a new filter: " + valid.error().message);
  }
  return CheckId(made.id);
}

core::Status Get(ByteReader& in, Image& image) {
  image.id = in.Get<uint64_t>();
  image.sequence = in.Get<uint64_t>();
  image.file_id = in.Get<uint64_t>();
  image.seal.bytes = in.Get<uint64_t>();
  image.seal.checksum = in.Get<uint64_t>();
  if (in.ok() && (image.file_id < 1 || image.file_id >= kMaxFileId)) {
    return Corrupt("of an image in file " + std::to_string(image.file_id) + ", which is not a valid id");
  }
  return CheckId(image.id);
}

core::Status GetHashes(ByteReader& in, std::vector<core::KeyHash>& hashes) {
  const size_t count = in.remaining() / kHashBytes;
  if (count < 1 || count > kMaxHashes || in.remaining() % kHashBytes != 0) {
    return Corrupt("of a change with " + std::to_string(in.remaining()) + " bytes of hashes: 1 to " +
                   std::to_string(kMaxHashes) + " of 16 bytes are allowed");
  }
  hashes.resize(count);
  std::memcpy(hashes.data(), in.GetBytes(count * kHashBytes).data(), count * kHashBytes);
  return {};
}

core::Status CheckChange(uint64_t id, uint64_t sequence) {
  if (sequence == 0) return Corrupt("of a change without a number");
  return CheckId(id);
}

core::Status GetChanged(ByteReader& in, core::ChangeKind kind, bool timed, bool expires, Changed& changed) {
  changed.kind = kind;
  changed.id = in.Get<uint64_t>();
  changed.sequence = in.Get<uint64_t>();
  changed.time_ms = timed ? in.Get<uint64_t>() : 0;
  changed.until_ms = expires ? in.Get<uint64_t>() : 0;
  if (in.ok() && timed && changed.time_ms == 0) return Corrupt("of a change without a time");
  if (in.ok() && expires && changed.until_ms == 0) return Corrupt("of items that expire without a time");
  if (kind == core::ChangeKind::kRewritten) {
    changed.hashes.clear();
  } else if (const core::Status status = GetHashes(in, changed.hashes); !status) {
    return status;
  }
  return CheckChange(changed.id, changed.sequence);
}

core::Status Get(ByteReader& in, Freezing& freezing) {
  freezing.id = in.Get<uint64_t>();
  return CheckId(freezing.id);
}
core::Status Get(ByteReader& in, Named& named) {
  named.id = in.Get<uint64_t>();
  named.expires_ms = in.Get<int64_t>();
  named.name = in.GetString();
  if (const core::Status status = CheckExpiry(named.expires_ms); !status) return status;
  return CheckId(named.id);
}
core::Status Get(ByteReader& in, Unnamed& unnamed) {
  unnamed.name = in.GetString();
  return {};
}
core::Status Get(ByteReader& in, Renamed& renamed) {
  renamed.from = in.GetString();
  renamed.to = in.GetString();
  return {};
}
core::Status Get(ByteReader& in, Expiry& expiry) {
  expiry.expires_ms = in.Get<int64_t>();
  expiry.name = in.GetString();
  return CheckExpiry(expiry.expires_ms);
}
core::Status Get(ByteReader&, Flushed&) { return {}; }
core::Status Get(ByteReader& in, Content& content) {
  content.id = in.Get<uint64_t>();
  content.sequence = in.Get<uint64_t>();
  content.header = in.GetString();
  content.body = in.GetBytes(in.remaining());
  return CheckId(content.id);
}

std::optional<core::ChangeKind> ChangeOf(RecordKind kind) {
  for (const core::ChangeKind change :
       {core::ChangeKind::kAdded, core::ChangeKind::kRemoved, core::ChangeKind::kFalsePositives,
        core::ChangeKind::kRenewed, core::ChangeKind::kRewritten}) {
    if (KindOf(change) == kind) return change;
  }
  return std::nullopt;
}

core::Status GetFields(ByteReader& in, Record& record) {
  const auto number = in.Get<uint8_t>();
  const bool timed = (number & kTimed) != 0;
  const bool expires = (number & kUntil) != 0;
  const auto kind = static_cast<RecordKind>(number & ~(kTimed | kUntil));
  if (const auto change = ChangeOf(kind); change && core::MayHaveTimes(*change, timed, expires)) {
    return GetChanged(in, *change, timed, expires, Become<Changed>(record));
  }
  switch (static_cast<RecordKind>(number)) {
    case RecordKind::kMade:
      return Get(in, Become<Made>(record));
    case RecordKind::kImage:
      return Get(in, Become<Image>(record));
    case RecordKind::kFreezing:
      return Get(in, Become<Freezing>(record));
    case RecordKind::kNamed:
      return Get(in, Become<Named>(record));
    case RecordKind::kUnnamed:
      return Get(in, Become<Unnamed>(record));
    case RecordKind::kRenamed:
      return Get(in, Become<Renamed>(record));
    case RecordKind::kExpiry:
      return Get(in, Become<Expiry>(record));
    case RecordKind::kFlushed:
      return Get(in, Become<Flushed>(record));
    case RecordKind::kContent:
      return Get(in, Become<Content>(record));
    default:
      return Corrupt("of unknown kind " + std::to_string(number));
  }
}

}  // namespace

RecordKind KindOf(const Record& record) {
  return std::visit([](const auto& each) { return KindOf(each); }, record);
}

std::string_view NameOf(RecordKind kind) { return kNames[static_cast<size_t>(kind) - 1]; }

void Encode(const Record& record, std::string& out) {
  if (const auto* changed = std::get_if<Changed>(&record)) {
    return Encode(core::Change{changed->kind, changed->id, changed->sequence, changed->time_ms, changed->hashes,
                               changed->until_ms},
                  out);
  }
  std::visit(
      [&out](const auto& each) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(each)>, Changed>) EncodeOther(each, out);
      },
      record);
}

// Two pieces: growing field by field would cost more than the fields.
void Encode(const core::Change& change, std::string& out) {
  assert(change.hashes.empty() == (change.kind == core::ChangeKind::kRewritten) && change.hashes.size() <= kMaxHashes);
  const bool timed = change.time_ms != 0;
  const bool expires = change.until_ms != 0;
  assert(core::MayHaveTimes(change.kind, timed, expires));
  std::array<char, kLengthBytes + 1 + 4 * sizeof(uint64_t)> head;
  char* at = head.data();
  const auto put = [&at](auto field) {
    std::memcpy(at, &field, sizeof field);
    at += sizeof field;
  };
  const auto flags = static_cast<uint8_t>((timed ? kTimed : 0) | (expires ? kUntil : 0));
  const size_t head_bytes = head.size() - ((timed ? 0 : 1) + (expires ? 0 : 1)) * sizeof(uint64_t);
  put(static_cast<uint32_t>(head_bytes - kLengthBytes + change.hashes.size_bytes()));
  put(static_cast<uint8_t>(static_cast<uint8_t>(KindOf(change.kind)) | flags));
  put(change.filter_id);
  put(change.sequence);
  if (timed) put(change.time_ms);
  if (expires) put(change.until_ms);
  static_assert(sizeof head == MaxChangeBytes(0));
  out.append(head.data(), head_bytes);
  out.append(core::AsText(std::as_bytes(change.hashes)));
}

core::Status Decode(std::string_view& bytes, Record& record) {
  ByteReader frame(bytes);
  const auto length = frame.Get<uint32_t>();
  const std::string_view content = frame.GetBytes(length);
  if (!frame.ok()) {
    return Corrupt("is cut short: " + std::to_string(bytes.size()) + " bytes are left of it");
  }
  ByteReader in(content);
  core::Status status = GetFields(in, record);
  // Short before impossible: a field that is not there reads as 0.
  if (!in.ok()) return Corrupt("of " + std::to_string(length) + " bytes is too short for its kind");
  if (!status) return status;
  if (!in.AtEnd()) return Corrupt("of kind " + std::string(NameOf(KindOf(record))) + " is too long for its kind");
  bytes.remove_prefix(kLengthBytes + length);
  return {};
}

}  // namespace bitsieve::server::log
