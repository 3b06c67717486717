// turn.h: how much is done for one connection before the others of its loop have their turn.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace bitsieve::server {

// Work that has taken this long stops, and the rest follows in the next round of the loop.
inline constexpr std::chrono::milliseconds kTurn{1};
inline constexpr uint64_t kTurnNs = std::chrono::nanoseconds(kTurn).count();
// Once there are this many bytes of replies, they are sent before further commands run.
inline constexpr size_t kTurnBytes = 256 * 1024;

}  // namespace bitsieve::server
