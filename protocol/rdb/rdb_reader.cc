#include "protocol/rdb/rdb_reader.h"

#include <liblzf/lzf.h>

#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"

namespace bitsieve::rdb {
namespace {

enum Type : uint8_t {
  kString = 0,
  kList = 1,
  kSet = 2,
  kZSet = 3,
  kHash = 4,
  kZSet2 = 5,
  kModule1 = 6,
  kHashZipmap = 9,
  kListZiplist = 10,
  kSetIntset = 11,
  kZSetZiplist = 12,
  kHashZiplist = 13,
  kQuicklist = 14,
  kStream = 15,
  kHashListpack = 16,
  kZSetListpack = 17,
  kQuicklist2 = 18,
  kStream2 = 19,
  kSetListpack = 20,
  kStream3 = 21,
  kHash2OrMetadata = 22,  // Valkey's, or that of release candidates of Redis 7.4
  kHashMetadata = 24,
  kHashListpackEx = 25,
};

// How a string is stored, if not plainly.
enum Form : uint8_t { kInt8 = 0, kInt16 = 1, kInt32 = 2, kLzf = 3 };

constexpr uint64_t kMaxGrowthOfLzf = 88;  // three bytes stand for at most 264

constexpr size_t kStreamIdBytes = 16;
constexpr size_t kTimeBytes = 8;

}  // namespace

void RdbReader::Fail(std::string why) {
  if (!failed()) failure_ = std::move(why) + " at byte " + std::to_string(position_);
}

std::string_view RdbReader::Take(uint64_t bytes) {
  if (failed()) return {};
  if (bytes > left()) {
    Fail("it ends too early");
    return {};
  }
  const std::string_view taken = bytes_.substr(position_, bytes);
  position_ += bytes;
  return taken;
}

uint8_t RdbReader::Byte() {
  const std::string_view taken = Take(1);
  return taken.empty() ? 0 : static_cast<uint8_t>(taken.front());
}

template <class Number>
Number RdbReader::Little() {
  const std::string_view taken = Take(sizeof(Number));
  Number number{};
  if (!taken.empty()) number = core::ByteReader(taken).Get<Number>();
  return number;
}
template uint16_t RdbReader::Little();
template uint32_t RdbReader::Little();
template uint64_t RdbReader::Little();

std::optional<uint64_t> RdbReader::LengthOr(uint8_t& form) {
  const uint8_t first = Byte();
  switch (first >> 6) {
    case 0:
      return first & 63;
    case 1:
      return uint64_t{first & 63U} << 8 | Byte();
    case 2: {
      // The only numbers of the format that are big-endian.
      const size_t bytes = first == 0x80 ? 4 : first == 0x81 ? 8 : 0;
      if (bytes == 0) Fail("a length of unknown form");
      uint64_t number = 0;
      for (const char each : Take(bytes)) number = number << 8 | static_cast<uint8_t>(each);
      return number;
    }
    default:
      form = first & 63;
      return std::nullopt;
  }
}

uint64_t RdbReader::Length() {
  uint8_t form = 0;
  const std::optional<uint64_t> length = LengthOr(form);
  if (!length) Fail("a length is missing");
  return failed() ? 0 : *length;
}

RdbReader::StoredString RdbReader::Stored() {
  uint8_t form = 0;
  if (const std::optional<uint64_t> length = LengthOr(form)) {
    const std::string_view stored = Take(*length);
    return {.stored = stored, .size = stored.size(), .form = StoredString::kPlain};
  }
  if (form <= kInt32) return {.stored = Take(size_t{1} << form), .size = 0, .form = StoredString::kInteger};
  if (form != kLzf) {
    Fail("a string of unknown form");
    return {.stored = {}, .size = 0, .form = StoredString::kPlain};
  }
  const uint64_t packed = Length();
  const uint64_t size = Length();
  const std::string_view stored = Take(packed);
  if (size > stored.size() * kMaxGrowthOfLzf || size > UINT_MAX || stored.size() > UINT_MAX) {
    Fail("a packed string with an impossible length");
  }
  return {.stored = stored, .size = size, .form = StoredString::kPacked};
}

ValueBytes RdbReader::Unpacked(const StoredString& string) {
  auto reservation = core::MemoryReservation::TryTake(memory_, string.size);
  ValueBytes bytes{.memory = {static_cast<char*>(std::malloc(string.size + 1)), std::free}};
  if (!reservation.held() || bytes.memory == nullptr) {
    Fail("out of memory for a string of " + std::to_string(string.size) + " bytes");
    return {};
  }
  unpacked_.push_back(std::move(reservation));
  const unsigned written = lzf_decompress(string.stored.data(), static_cast<unsigned>(string.stored.size()),
                                          bytes.memory.get(), static_cast<unsigned>(string.size));
  if (written != string.size) {
    Fail("a damaged packed string");
    return {};
  }
  bytes.bytes = {bytes.memory.get(), string.size};
  return bytes;
}

ValueBytes RdbReader::String() {
  const StoredString string = Stored();
  if (failed()) return {};
  if (string.form == StoredString::kPacked) return Unpacked(string);
  if (string.form == StoredString::kPlain) return {.bytes = string.stored};
  core::ByteReader reader(string.stored);
  const int64_t number = string.stored.size() == 1   ? static_cast<int8_t>(reader.Get<uint8_t>())
                         : string.stored.size() == 2 ? static_cast<int16_t>(reader.Get<uint16_t>())
                                                     : static_cast<int32_t>(reader.Get<uint32_t>());
  const std::string text = std::to_string(number);
  ValueBytes bytes{.memory = {strdup(text.c_str()), std::free}};
  if (bytes.memory == nullptr) {
    Fail("out of memory");
    return {};
  }
  bytes.bytes = {bytes.memory.get(), text.size()};
  return bytes;
}

void RdbReader::SkipString() { Stored(); }

void RdbReader::SkipStrings(uint64_t count) {
  for (uint64_t i = 0; i < count && !failed(); ++i) SkipString();
}

template <class Skip>
void RdbReader::Repeat(const Skip& skip) {
  const uint64_t count = Length();
  for (uint64_t i = 0; i < count && !failed(); ++i) skip();
}

// A length, of which the greatest stand for no number and the two infinities, and digits.
void RdbReader::SkipOldScore() {
  const uint8_t length = Byte();
  if (length < 253) Take(length);
}

void RdbReader::SkipModuleFields() {
  using enum FieldKind;
  while (!failed()) {
    switch (const FieldKind kind{Length()}; kind) {
      case kEnd:
        return;
      case kSigned:
      case kUnsigned:
        Length();
        break;
      case kFloat:
        Take(sizeof(float));
        break;
      case kDouble:
        Take(sizeof(double));
        break;
      case kBytes:
        SkipString();
        break;
      default:
        Fail("a module's field of unknown kind " + std::to_string(static_cast<uint64_t>(kind)));
    }
  }
}

void RdbReader::SkipConsumerGroup(uint8_t type) {
  SkipString();  // name
  Length();      // last ID, in two numbers
  Length();
  if (type >= kStream2) Length();  // entries read
  Repeat([this] {                  // pending
    Take(kStreamIdBytes + kTimeBytes);
    Length();
  });
  Repeat([this, type] {  // consumers
    SkipString();
    Take(kTimeBytes);
    if (type >= kStream3) Take(kTimeBytes);
    Repeat([this] { Take(kStreamIdBytes); });
  });
}

void RdbReader::SkipStream(uint8_t type) {
  Repeat([this] { SkipStrings(2); });
  Length();  // items
  Length();  // last ID, in two numbers
  Length();
  if (type >= kStream2) {
    for (int i = 0; i < 5; ++i) Length();  // first ID, greatest deleted ID, entries ever added
  }
  Repeat([this, type] { SkipConsumerGroup(type); });
}

void RdbReader::SkipValue(uint8_t type, Dialect dialect) {
  switch (type) {
    case kString:
    case kHashZipmap:
    case kListZiplist:
    case kSetIntset:
    case kZSetZiplist:
    case kHashZiplist:
    case kHashListpack:
    case kZSetListpack:
    case kSetListpack:
      return SkipString();
    case kList:
    case kSet:
    case kQuicklist:
      return Repeat([this] { SkipString(); });
    case kHash:
      return Repeat([this] { SkipStrings(2); });
    case kZSet:
      return Repeat([this] {
        SkipString();
        SkipOldScore();
      });
    case kZSet2:
      return Repeat([this] {
        SkipString();
        Take(sizeof(double));
      });
    case kQuicklist2:
      return Repeat([this] {
        Length();  // what holds the node
        SkipString();
      });
    case kStream:
    case kStream2:
    case kStream3:
      return SkipStream(type);
    case kModule2:
      Length();
      return SkipModuleFields();
    case kHash2OrMetadata:
      return Repeat([this, dialect] {
        if (dialect == Dialect::kRedis) Length();  // when the field ends
        SkipStrings(2);
        if (dialect == Dialect::kValkey) Take(kTimeBytes);
      });
    case kHashMetadata:
      Take(kTimeBytes);
      return Repeat([this] {
        Length();
        SkipStrings(2);
      });
    case kHashListpackEx:
      Take(kTimeBytes);
      return SkipString();
    case kModule1:
      return Fail("a value of a module for Redis 4.0 release candidates, which only that module can read,");
    default:
      return Fail("a value of unknown type " + std::to_string(type));
  }
}

// ---- fields of a module's value

bool RdbFields::Expect(FieldKind kind) {
  if (failed()) return false;
  if (FieldKind{reader_.Length()} == kind) return !failed();
  reader_.Fail("a field of an unexpected type");
  return false;
}

uint64_t RdbFields::Unsigned() { return Expect(FieldKind::kUnsigned) ? reader_.Length() : 0; }
double RdbFields::Double() {
  return Expect(FieldKind::kDouble) ? std::bit_cast<double>(reader_.Little<uint64_t>()) : 0;
}
ValueBytes RdbFields::Bytes() { return Expect(FieldKind::kBytes) ? reader_.String() : ValueBytes(); }
void RdbFields::End() { Expect(FieldKind::kEnd); }

}  // namespace bitsieve::rdb
