#include "cli/migrate/filter_source.h"

#include "commands/keyspace.h"
#include "core/filter/filter_type.h"

namespace bitsieve::cli {

FilterSize SizeOf(const core::Filter& filter, std::string_view name) {
  return {.type = std::string(filter.type().name), .after = commands::NameHeapBytes(name.size()) + filter.heap_bytes()};
}

}  // namespace bitsieve::cli
