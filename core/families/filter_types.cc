// The list of all filter types: a type that is not in it does not exist.
#include <array>

#include "core/families/bloom/bloom_types.h"
#include "core/families/cuckoo/cuckoo_type.h"
#include "core/families/expiring/expiring_type.h"
#include "core/families/fingerprint/fingerprint_type.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/ribbon/ribbon_type.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"
#include "core/families/window/window_type.h"

namespace bitsieve::core {

std::span<const FilterTypeRow* const> FilterTypes() {
  static constexpr std::array kTypes{
      &kBlockedRow,     &kClassicRow, &kCountingRow,   &kCuckooRow,      &kWindowRow,      &kExpiringRow,
      &kFingerprintRow, &kRibbonRow,  &kRedisBloomRow, &kRedisCuckooRow, &kValkeyBloomRow,
  };
  return kTypes;
}

}  // namespace bitsieve::core
