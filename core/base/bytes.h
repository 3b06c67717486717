// bytes.h: numbers to little-endian bytes and back, field by field, for everything that is persisted.
// ByteReader never reads past its span: the first short read makes it fail for good, so a parser may read all fields
// and ask ok() once. Thread-compatible.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace bitsieve::core {

static_assert(std::endian::native == std::endian::little, "persisted numbers are stored as they lie in memory");

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  template <std::integral T>
  void Put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Put(double value) { Put(std::bit_cast<uint64_t>(value)); }
  void PutBytes(std::string_view bytes) { out_.append(bytes); }
  // A u32 length, then the bytes.
  void PutString(std::string_view bytes) {
    Put(static_cast<uint32_t>(bytes.size()));
    PutBytes(bytes);
  }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral T>
  T Get() {
    T value{};
    const std::string_view bytes = GetBytes(sizeof value);
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  // Reads a number of 64 bits. Returns UINT32_MAX for larger ones.
  uint32_t GetClamped() { return static_cast<uint32_t>(std::min<uint64_t>(Get<uint64_t>(), UINT32_MAX)); }
  double GetDouble() { return std::bit_cast<double>(Get<uint64_t>()); }
  std::string_view GetBytes(uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::string_view GetString() { return GetBytes(Get<uint32_t>()); }

  // For what is read but cannot be: ok() is false from then on.
  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }
  size_t remaining() const { return rest_.size(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> AsBytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace bitsieve::core
