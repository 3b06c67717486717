#include "protocol/rdb/module_payload.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "core/base/bytes.h"

namespace bitsieve::rdb {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kNameLetters = 9;
constexpr unsigned kVersionBits = 10;

// Every engine that has modules' values of this form reads it.
constexpr uint16_t kRdbVersion = 9;

// The table holds the 64-bit CRC of each byte value: Jones' polynomial, lowest bit first, as in Redis.
constexpr std::array<uint64_t, 256> kChecksumTable = [] {
  constexpr uint64_t kPolynomial = 0x95ac9329ac4bc9b5;
  std::array<uint64_t, 256> table{};
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? kPolynomial : 0);
  }
  return table;
}();

// A number with its highest byte first.
template <class Number>
void AppendBigEndian(std::string& bytes, Number number) {
  for (unsigned shift = 8 * sizeof number; shift > 0;) {
    shift -= 8;
    bytes += static_cast<char>(number >> shift & 0xff);
  }
}

}  // namespace

ModuleId ModuleIdOf(uint64_t id) {
  ModuleId found{.name = std::string(kNameLetters, ' '), .version = static_cast<int>(id & 1023)};
  for (size_t i = 0; i < kNameLetters; ++i) found.name[i] = kLetters[id >> (58 - 6 * i) & 63];
  return found;
}

uint64_t NumberOf(std::string_view name, int version) {
  uint64_t id = 0;
  for (const char letter : name.substr(0, kNameLetters)) id = id << 6 | kLetters.find(letter);
  return id << kVersionBits | static_cast<uint64_t>(version);
}

uint64_t RdbChecksum(std::string_view bytes) {
  uint64_t sum = 0;
  for (const char byte : bytes) sum = kChecksumTable[(sum ^ static_cast<uint8_t>(byte)) & 0xff] ^ sum >> 8;
  return sum;
}

ModulePayload::ModulePayload(std::string_view name, int version) {
  Byte(kModule2);
  Length(NumberOf(name, version));
}

// A length has 6, 14, 32 or 64 bits.
void ModulePayload::Length(uint64_t number) {
  if (number < 1U << 6) return Byte(static_cast<uint8_t>(number));
  if (number < 1U << 14) return AppendBigEndian(bytes_, static_cast<uint16_t>(0x4000 | number));
  const bool wide = number > UINT32_MAX;
  Byte(wide ? 0x81 : 0x80);
  wide ? AppendBigEndian(bytes_, number) : AppendBigEndian(bytes_, static_cast<uint32_t>(number));
}

void ModulePayload::Unsigned(uint64_t value) {
  Mark(FieldKind::kUnsigned);
  Length(value);
}

void ModulePayload::Double(double value) {
  Mark(FieldKind::kDouble);
  core::ByteWriter(bytes_).Put(value);
}

void ModulePayload::Bytes(std::string_view bytes) {
  Mark(FieldKind::kBytes);
  Length(bytes.size());
  bytes_ += bytes;
}

std::string ModulePayload::Finish() && {
  Mark(FieldKind::kEnd);
  core::ByteWriter out(bytes_);
  out.Put(kRdbVersion);
  out.Put(RdbChecksum(bytes_));
  return std::move(bytes_);
}

}  // namespace bitsieve::rdb
