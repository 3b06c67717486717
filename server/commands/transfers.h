// transfers.h: filters on their way out of the server, and into it, over several commands: dumps that are read piece
// by piece, and filters that arrive so. A filter on its way in is known to nobody but its loader: its name is published
// with the last byte. All of it is bounded in number and given back when abandoned (idle_table.h). Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/memory_budget.h"
#include "core/filters/filter_dump.h"
#include "core/filters/filter_factory.h"
#include "server/commands/idle_table.h"
#include "server/commands/keyspace.h"

namespace bitsieve::server {

// Whose header it was that a load began with: the pieces of another format do not continue it.
enum class LoadFormat : uint8_t { kBitsieve, kRedisBloom };

// A filter that arrives in pieces, in order; under its future name. Confined to who took it.
struct PendingLoad {
  LoadFormat format;
  core::MemoryReservation overhead;  // of the name and of this
  std::unique_ptr<core::FilterDecoder> decoder;
  uint64_t received = 0;     // bytes of the decoder's body
  uint64_t last_cursor = 0;  // that came with the last piece
};

using PendingLoads = IdleTable<PendingLoad>;

// An image that is read piece by piece; under its number. Confined to who took it.
struct OpenDump {
  FilterPtr filter;  // lives as long as the image: hence before the stream
  core::DumpStream stream;
  uint64_t pieces = 0;  // handed out so far
};

using OpenDumps = IdleTable<OpenDump>;

struct Transfers {
  // Never 0, and below 2^32.
  uint64_t NextDumpNumber() {
    uint32_t number;
    while ((number = last_dump.fetch_add(1, std::memory_order_relaxed) + 1) == 0) continue;
    return number;
  }

  PendingLoads loads;
  OpenDumps dumps;
  // From a random number on, so that no cursor of before a restart means a dump of after it.
  std::atomic<uint32_t> last_dump{static_cast<uint32_t>(core::RandomSeed())};
};

}  // namespace bitsieve::server
