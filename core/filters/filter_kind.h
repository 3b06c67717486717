// filter_kind.h: the families a user can choose from, by number on disk and by name on the wire.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bitsieve::core {

// Persisted: a number is never reused.
enum class FilterKind : uint16_t {
  kClassic = 1,
  kBlocked = 2,
  kCounting = 3,
  kCuckoo = 4,
  kRedisCuckoo = 5,
  kWindow = 6,
  kRedisBloom = 7,
  kFingerprint = 8,
  kRibbon = 9,
};

struct FilterKindRow {
  FilterKind kind;
  std::string_view name;     // as in TYPE name, default-type and BF.INFO
  std::string_view summary;  // one line for the documentation
};

inline constexpr std::array kFilterKinds{
    FilterKindRow{FilterKind::kBlocked, "blocked", "one or two cache lines per item: the fastest, and the default"},
    FilterKindRow{FilterKind::kClassic, "classic", "the textbook Bloom filter: the smallest of the Bloom kinds"},
    FilterKindRow{FilterKind::kCounting, "counting", "classic with counters in place of bits: items can be removed"},
    FilterKindRow{FilterKind::kCuckoo, "cuckoo", "fingerprints: items can be removed, and small at low rates"},
    FilterKindRow{FilterKind::kWindow, "window", "forgets: seen within the last so many items, or within a time"},
    FilterKindRow{FilterKind::kFingerprint, "fingerprint", "a table of signatures: one cache line, small at low rates"},
    FilterKindRow{FilterKind::kRibbon, "ribbon", "for frozen sets, the smallest: collects exactly until BF.FREEZE"},
    FilterKindRow{FilterKind::kRedisBloom, "redisbloom",
                  "the hashes, sizes and bytes of RedisBloom: for moving to it and from it"},
    FilterKindRow{FilterKind::kRedisCuckoo, "rediscuckoo", "RedisBloom's cuckoo filter, byte for byte; made by CF.*"},
};

std::string_view FilterKindName(FilterKind kind);
// Case-insensitive; nothing for an unknown name.
std::optional<FilterKind> FilterKindFromName(std::string_view name);
// "blocked, classic": for error texts and help.
std::string_view FilterKindNames();

}  // namespace bitsieve::core
