#include "server/persistence/log/log_record.h"

#include <array>
#include <cassert>
#include <cstring>
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
    "made",    "image",  "added",   "removed",   "freezing", "named",          "unnamed",
    "renamed", "expiry", "flushed", "rewritten", "content",  "false positives"};

// The number of a record kind on disk.
template <class T, size_t index = 0>
constexpr uint8_t KindOf() {
  if constexpr (std::is_same_v<T, std::variant_alternative_t<index, Record>>) {
    return index + 1;
  } else {
    return KindOf<T, index + 1>();
  }
}
static_assert(KindOf<Made>() == 1 && KindOf<Added>() == 3 && KindOf<Named>() == 6 && KindOf<Flushed>() == 10 &&
              KindOf<Content>() == 12 && KindOf<FalsePositives>() == 13);
constexpr uint8_t kTimed = 0x80;  // with the number of Added: a time follows the sequence

tl::unexpected<core::Error> Corrupt(const std::string& what) {
  return core::Fail(core::ErrorCode::kCorrupt, "a record " + what);
}

// Validate does not check the hash of some filter types, and HashItem supports no others.
bool IsKnown(core::HashKind hash) { return hash >= core::HashKind::kXxh3 && hash <= core::HashKind::kRedisBloom32; }

void Put(ByteWriter& out, const Made& made) {
  out.Put(made.id);
  core::PutAllParams(out, made.params);
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
void Put(ByteWriter& out, const Rewritten& rewritten) {
  out.Put(rewritten.id);
  out.Put(rewritten.sequence);
}
void Put(ByteWriter& out, const Content& content) {
  out.Put(content.id);
  out.Put(content.sequence);
  out.PutString(content.header);
  out.PutBytes(content.body);
}

// Two pieces: growing field by field would cost more than the fields.
void EncodeChange(uint8_t kind, const core::Change& change, std::string& out) {
  assert(!change.hashes.empty() && change.hashes.size() <= kMaxHashes);
  const bool timed = change.time_ms != 0;
  std::array<char, kLengthBytes + 1 + 3 * sizeof(uint64_t)> head;
  char* at = head.data();
  const auto put = [&at](auto field) {
    std::memcpy(at, &field, sizeof field);
    at += sizeof field;
  };
  const size_t head_bytes = timed ? head.size() : head.size() - sizeof(uint64_t);
  put(static_cast<uint32_t>(head_bytes - kLengthBytes + change.hashes.size_bytes()));
  put(static_cast<uint8_t>(timed ? kind | kTimed : kind));
  put(change.filter_id);
  put(change.sequence);
  if (timed) put(change.time_ms);
  static_assert(sizeof head == MaxChangeBytes(0));
  out.append(head.data(), head_bytes);
  out.append(core::AsText(std::as_bytes(change.hashes)));
}

core::Change Untimed(core::Change change) {
  change.time_ms = 0;
  return change;
}

template <class T>
void EncodeOther(const T& record, std::string& out) {
  const size_t begin = out.size();
  ByteWriter writer(out);
  writer.Put(uint32_t{0});
  writer.Put(KindOf<T>());
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
  return Corrupt("of filter " + std::to_string(id) + ", an id that none has");
}

core::Status CheckExpiry(int64_t expires_ms) {
  if (expires_ms >= 0) return {};
  return Corrupt("with an expiry before 1970");
}

core::Status Get(ByteReader& in, Made& made) {
  made.id = in.Get<uint64_t>();
  made.params = core::GetAllParams(in);
  if (!in.ok()) return {};
  if (!IsKnown(made.params.hash)) return Corrupt("of a new filter: its hash function is not known");
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
    return Corrupt("of an image in file " + std::to_string(image.file_id) + ", an id that none has");
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

core::Status GetAdded(ByteReader& in, bool timed, Added& added) {
  added.id = in.Get<uint64_t>();
  added.sequence = in.Get<uint64_t>();
  added.time_ms = timed ? in.Get<uint64_t>() : 0;
  if (in.ok() && timed && added.time_ms == 0) return Corrupt("of a change at no time");
  if (const core::Status status = GetHashes(in, added.hashes); !status) return status;
  return CheckChange(added.id, added.sequence);
}
core::Status Get(ByteReader& in, Added& added) { return GetAdded(in, false, added); }

// Removed and FalsePositives: a filter type that forgets by the clock supports neither, so they have no time.
template <class T>
core::Status GetUntimed(ByteReader& in, T& change) {
  change.id = in.Get<uint64_t>();
  change.sequence = in.Get<uint64_t>();
  if (const core::Status status = GetHashes(in, change.hashes); !status) return status;
  return CheckChange(change.id, change.sequence);
}
core::Status Get(ByteReader& in, Removed& removed) { return GetUntimed(in, removed); }
core::Status Get(ByteReader& in, FalsePositives& false_positives) { return GetUntimed(in, false_positives); }

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
core::Status Get(ByteReader& in, Rewritten& rewritten) {
  rewritten.id = in.Get<uint64_t>();
  rewritten.sequence = in.Get<uint64_t>();
  return CheckChange(rewritten.id, rewritten.sequence);
}
core::Status Get(ByteReader& in, Content& content) {
  content.id = in.Get<uint64_t>();
  content.sequence = in.Get<uint64_t>();
  content.header = in.GetString();
  content.body = in.GetBytes(in.remaining());
  return CheckId(content.id);
}

template <class T>
core::Status GetAs(ByteReader& in, Record& record) {
  return Get(in, Become<T>(record));
}

template <size_t... kinds>
core::Status GetOfKind(size_t index, ByteReader& in, Record& record, std::index_sequence<kinds...>) {
  using Reader = core::Status (*)(ByteReader&, Record&);
  static constexpr Reader kReaders[]{GetAs<std::variant_alternative_t<kinds, Record>>...};
  return kReaders[index](in, record);
}

core::Status GetFields(ByteReader& in, Record& record) {
  const auto kind = in.Get<uint8_t>();
  if (kind == (KindOf<Added>() | kTimed)) return GetAdded(in, true, Become<Added>(record));
  if (kind < 1 || kind > kRecordKinds) return Corrupt("of kind " + std::to_string(kind) + ", which is not known");
  return GetOfKind(kind - 1, in, record, std::make_index_sequence<kRecordKinds>());
}

}  // namespace

std::string_view NameOf(const Record& record) { return NameOfKind(record.index()); }
std::string_view NameOfKind(size_t index) { return kNames[index]; }

void Encode(const Record& record, std::string& out) {
  std::visit(
      [&out](const auto& each) {
        using T = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<T, Added>) {
          EncodeAdded({each.id, each.sequence, each.time_ms, each.hashes}, out);
        } else if constexpr (std::is_same_v<T, Removed>) {
          EncodeRemoved({each.id, each.sequence, 0, each.hashes}, out);
        } else if constexpr (std::is_same_v<T, FalsePositives>) {
          EncodeFalsePositives({each.id, each.sequence, 0, each.hashes}, out);
        } else {
          EncodeOther(each, out);
        }
      },
      record);
}

void EncodeAdded(const core::Change& change, std::string& out) { EncodeChange(KindOf<Added>(), change, out); }

void EncodeRewritten(const Rewritten& rewritten, std::string& out) { EncodeOther(rewritten, out); }

void EncodeRemoved(const core::Change& change, std::string& out) {
  EncodeChange(KindOf<Removed>(), Untimed(change), out);
}

void EncodeFalsePositives(const core::Change& change, std::string& out) {
  EncodeChange(KindOf<FalsePositives>(), Untimed(change), out);
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
  if (!in.AtEnd()) return Corrupt("of kind " + std::string(NameOf(record)) + " is too long for its kind");
  bytes.remove_prefix(kLengthBytes + length);
  return {};
}

}  // namespace bitsieve::server::log
