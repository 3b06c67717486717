// item_hashes.h: the items of a command as a filter knows them, some at a time. Thread-safe: a pure function.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "commands/argument_reader.h"
#include "core/filter/filter.h"

namespace bitsieve::commands {

// Items hashed and prefetched together within one command: as many cache misses overlap as the processor can hold.
inline constexpr size_t kItemChunk = 64;
using HashChunk = std::array<core::KeyHash, kItemChunk>;

// Hashes at most kItemChunk items into `room`, and starts loading what they will touch.
inline std::span<const core::KeyHash> HashItems(const core::Filter& filter, Arguments items, HashChunk& room) {
  for (size_t i = 0; i < items.size(); ++i) {
    room[i] = filter.HashOf(items[i]);
    filter.Prefetch(room[i]);
  }
  return {room.data(), items.size()};
}

}  // namespace bitsieve::commands
