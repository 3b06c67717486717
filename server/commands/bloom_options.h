// bloom_options.h: what BF.RESERVE and BF.INSERT ask for, read from their arguments and from the defaults.
// Thread-safe: free functions on plain values.
#pragma once

#include <optional>
#include <string>

#include "core/filters/filter_params.h"
#include "server/commands/argument_reader.h"
#include "server/commands/command_settings.h"

namespace bitsieve::server {

struct ReserveRequest {
  core::FilterParams params;     // but for the seed
  std::optional<uint64_t> seed;  // a random one if not given
  bool tightening_given = false;
  bool if_not_exists = false;
};

struct InsertRequest {
  core::FilterParams params;  // of the filter to create if there is none, but for the seed
  std::optional<uint64_t> seed;
  bool create = true;
  Arguments items;  // at least one
};

// Parameters of a filter that comes to be by adding to a missing name, but for the seed.
core::FilterParams DefaultParams(const CommandSettings& settings);

// Read from argument 2 on; what went wrong is in the reader.
ReserveRequest ReadReserve(ArgumentReader& reader, const CommandSettings& settings);
InsertRequest ReadInsert(ArgumentReader& reader, const CommandSettings& settings);

// Whether `have` is what BF.RESERVE with IFNOTEXISTS asks for; else the error that names the first difference. A seed
// or a tightening ratio that was not given is no difference.
std::optional<std::string> DifferenceFrom(const ReserveRequest& request, const core::FilterParams& have);

}  // namespace bitsieve::server
