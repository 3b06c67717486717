// redis_bloom_header.h: headers as RedisBloom writes them, field by field, so that each field can be made wrong.
// Thread-compatible: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"

namespace bitsieve::test {

inline std::string FromHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}
inline std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) hex += {kDigits[static_cast<uint8_t>(c) >> 4], kDigits[static_cast<uint8_t>(c) & 15]};
  return hex;
}

struct RedisBloomSubFilterFields {
  uint64_t bytes = 8;
  uint64_t bits = 64;
  uint64_t items = 1;
  double error = 0.05;
  double bits_per_entry = 6.2352242295726885;
  uint32_t hashes = 5;
  uint64_t entries = 10;
  uint8_t n2 = 0;
};

// Header fields. The default values are those of `BF.RESERVE bf 0.1 10` with one item.
struct RedisBloomFields {
  uint64_t items = 1;
  uint32_t sub_filters = 1;
  uint32_t options = 5;
  uint32_t growth = 2;
  std::vector<RedisBloomSubFilterFields> sub_filter = std::vector<RedisBloomSubFilterFields>(1);

  std::string Encode() const { return Encode(false); }
  // Encodes the header as versions before 2.2 do.
  std::string EncodeOld() const { return Encode(true); }

 private:
  std::string Encode(bool old) const {
    std::string bytes;
    core::ByteWriter out(bytes);
    out.Put(items);
    out.Put(sub_filters);
    out.Put(options);
    if (!old) out.Put(growth);
    for (const RedisBloomSubFilterFields& each : sub_filter) {
      out.Put(each.bytes);
      out.Put(each.bits);
      out.Put(each.items);
      out.Put(each.error);
      out.Put(each.bits_per_entry);
      out.Put(each.hashes);
      old ? out.Put(static_cast<uint32_t>(each.entries)) : out.Put(each.entries);
      out.Put(each.n2);
    }
    return bytes;
  }
};

// `BF.RESERVE bf 0.1 10` and `BF.ADD bf item1`, as RedisBloom dumps them.
inline constexpr std::string_view kOneItemHeader =
    "01000000000000000100000005000000020000000800000000000000400000000000000001000000000000009a9999999999a93f"
    "4af7d49edef01840050000000a0000000000000000";
inline constexpr std::string_view kOneItemBits = "0108008000042000";
// `BF.RESERVE b 0.01 100` and the items bar and baz.
inline constexpr std::string_view kTwoItemsHeader =
    "0200000000000000010000000500000002000000900000000000000080040000000000000200000000000000"
    "7b14ae47e17a743fe9862fb2350e264008000000640000000000000000";
inline constexpr unsigned kTwoItemsBits[] = {67,  100, 131, 307, 371, 448, 508,  611,
                                             675, 696, 756, 816, 851, 915, 1004, 1064};

}  // namespace bitsieve::test
