// transfers.h: filters on their way out of the server, and into it, over several commands: dumps that are read chunk by
// chunk, and filters that arrive so. A filter on its way in is known only to its loader: its name is published with the
// last byte. All of it is bounded in number and given back when abandoned (idle_table.h). Thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "commands/idle_table.h"
#include "commands/keyspace.h"
#include "core/base/bytes.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::commands {

// The format of the header that a load began with: chunks of another format do not continue it.
enum class LoadFormat : uint8_t { kBitsieve, kRedisBloom, kRedisCuckoo };

// A filter that arrives in chunks, in order, by BF.LOADCHUNK or CF.LOADCHUNK; under its future name. Confined to the
// thread that took it.
struct PendingLoad {
  LoadFormat format;
  core::MemoryReservation overhead;  // of the name and of this
  std::unique_ptr<core::FilterDecoder> decoder;
  uint64_t received = 0;     // bytes of the decoder's body
  uint64_t last_cursor = 0;  // that came with the last chunk, of BF.LOADCHUNK

  core::Status Append(std::string_view bytes) {
    if (core::Status status = decoder->Append(core::AsBytes(bytes)); !status) return status;
    received += bytes.size();
    return {};
  }
  bool IsWhole() const { return received == decoder->body_bytes(); }
};

using PendingLoads = IdleTable<PendingLoad>;

// An image that is read chunk by chunk; under its number. The image goes forward only, so the latest chunk is kept for
// a client that asks for it again. Confined to the thread that took it.
struct OpenDump {
  FilterPtr filter;  // lives as long as the image: hence before the stream
  core::DumpStream stream;
  core::ChangePosition position = {};              // of the image, for BF.FOLLOW; nowhere for BF.SCANDUMP
  uint64_t pieces = 0;                             // handed out so far
  std::shared_ptr<const std::string> latest = {};  // null if there was no memory to keep it
  core::MemoryReservation latest_memory = {};
};

using OpenDumps = IdleTable<OpenDump>;

// The last cursors of dumps that were read to their end, the latest of them: a repeated request for such an end gets
// the same reply. Thread-safe.
class EndedDumps {
 public:
  void Add(uint64_t cursor) {
    cursors_[next_.fetch_add(1, std::memory_order_relaxed) % kKept].store(cursor, std::memory_order_relaxed);
  }
  bool Contains(uint64_t cursor) const {
    return std::ranges::any_of(cursors_,
                               [cursor](const auto& ended) { return ended.load(std::memory_order_relaxed) == cursor; });
  }

 private:
  static constexpr size_t kKept = 256;

  std::atomic<size_t> next_{0};
  std::array<std::atomic<uint64_t>, kKept> cursors_{};  // 0 is no such cursor
};

struct Transfers {
  // Never 0, and below 2^32.
  uint64_t NextDumpNumber() {
    uint32_t number;
    while ((number = last_dump.fetch_add(1, std::memory_order_relaxed) + 1) == 0) continue;
    return number;
  }

  PendingLoads loads;
  OpenDumps dumps;
  EndedDumps ended;
  // From a random number on, so that no cursor of before a restart means a dump of after it.
  std::atomic<uint32_t> last_dump{static_cast<uint32_t>(core::RandomSeed())};
};

}  // namespace bitsieve::commands
