// cuckoo_errors.h: the error texts of CF.*, RedisBloom's to the letter where it has them, "ERR " or not, since clients
// match on them. Thread-safe: constants.
#pragma once

#include <string_view>

#include "commands/wire_errors.h"
#include "core/filter/filter_params.h"

namespace bitsieve::commands::wire {

inline constexpr std::string_view kBadCuckooIterations = "Couldn't parse MAXITERATIONS";
inline constexpr Composed kMaxIterationsRange{"MAXITERATIONS: value must be in the range [1, ",
                                              core::kMaxRedisCuckooIterations, "]"};
inline constexpr std::string_view kBadCuckooBucketSize = "Couldn't parse BUCKETSIZE";
inline constexpr Composed kBucketSizeRange{"BUCKETSIZE: value must be in the range [1, ",
                                           core::kMaxRedisCuckooBucketSize, "]"};
inline constexpr std::string_view kBadCuckooExpansion = "Couldn't parse EXPANSION";
inline constexpr Composed kCuckooExpansionRange{"EXPANSION: value must be in the range [0, ", core::kMaxExpansion, "]"};
inline constexpr Composed kCuckooCapacityRange{"Capacity must be in the range [2 * BUCKETSIZE, ", core::kMaxCapacity,
                                               "]"};
inline constexpr Composed kCuckooInsertCapacityRange{"Capacity must be in the range [cf-bucket-size * 2, ",
                                                     core::kMaxCapacity, "]"};
inline constexpr std::string_view kNoMemoryForCuckoo = "ERR Insufficient memory to create filter";
inline constexpr std::string_view kNoMemoryForItem = "ERR Insufficient memory";
inline constexpr std::string_view kCuckooFull = "Filter is full";
inline constexpr std::string_view kMaxExpansionsReached = "Maximum expansions reached";
inline constexpr std::string_view kNothingToDelete = "Not found";
inline constexpr std::string_view kNothingToCompact = "Cuckoo filter was not found";
inline constexpr std::string_view kInvalidPosition = "Invalid position";
inline constexpr std::string_view kInvalidHeader = "Invalid header";
inline constexpr std::string_view kInvalidHeaderOf20 =
    "Invalid header: RedisBloom 2.0 wrote it, and it hashed items differently from all later versions; load the filter "
    "into a later version and dump it again";
inline constexpr std::string_view kHeaderRefused = "Couldn't create filter!";
inline constexpr std::string_view kChunkRefused = "Couldn't load chunk!";
inline constexpr std::string_view kTooManyCuckooLoads =
    "ERR too many filters are being loaded at once: try again when another load has ended";
inline constexpr std::string_view kCuckooNotReserved =
    "ERR the error rate of a rediscuckoo filter cannot be chosen: create it with CF.RESERVE, CF.ADD or CF.INSERT";

}  // namespace bitsieve::commands::wire
