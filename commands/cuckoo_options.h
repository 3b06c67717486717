// cuckoo_options.h: what CF.RESERVE and CF.INSERT ask for, read from their arguments and from the options cf-*.
// Thread-safe: free functions on plain values.
#pragma once

#include "commands/argument_reader.h"
#include "commands/command_settings.h"
#include "core/filter/filter_params.h"

namespace bitsieve::commands {

struct CuckooInsertRequest {
  core::FilterParams params;  // of the filter to create if there is none
  bool create = true;
  Arguments items;  // at least one
};

// Parameters of a filter that comes to be by adding to a missing name.
core::FilterParams DefaultCuckooParams(const CommandSettings& settings);

// Read from argument 2 on; what went wrong is in the reader. An option's value is there, since the arguments are odd.
core::FilterParams ReadCuckooReserve(ArgumentReader& reader, const CommandSettings& settings);
// The error of a missing value or of missing items is wire::kArity.
CuckooInsertRequest ReadCuckooInsert(ArgumentReader& reader, const CommandSettings& settings);

}  // namespace bitsieve::commands
