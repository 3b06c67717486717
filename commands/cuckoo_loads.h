// cuckoo_loads.h: cuckoo filters on their way into the server, by the name that each is to have; each is published with
// its last byte and known to nobody before. Bounded in number and given back when abandoned (idle_table.h).
// Thread-safe; a load is confined to who took it.
#pragma once

#include <cstdint>
#include <memory>

#include "commands/idle_table.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::commands {

struct CuckooLoad {
  core::MemoryReservation overhead;  // of the name and of this
  std::unique_ptr<core::FilterDecoder> decoder;
  uint64_t received = 0;  // bytes of the decoder's body
};

struct CuckooLoads : IdleTable<CuckooLoad> {
  using IdleTable::IdleTable;
};

}  // namespace bitsieve::commands
