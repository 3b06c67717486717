// bloom_options.h: what BF.RESERVE and BF.INSERT ask for, read from their arguments and from the defaults.
// Thread-safe: free functions on plain values.
#pragma once

#include <optional>
#include <string>

#include "commands/argument_reader.h"
#include "commands/command_settings.h"
#include "core/filter/filter_params.h"
#include "core/filter/item_expiry.h"

namespace bitsieve::commands {

struct ReserveRequest {
  core::FilterParams params;     // except for the seed
  std::optional<uint64_t> seed;  // a random one if not given
  bool tightening_given = false;
  bool if_not_exists = false;
};

// How a filter is made that comes to be by adding to a missing name.
struct CreateRequest {
  core::FilterParams params;  // except for the seed
  std::optional<uint64_t> seed;
};

struct InsertRequest {
  CreateRequest filter;  // to create if there is none
  bool create = true;
  core::ItemTime time;  // when the items expire, if that was stated
  Arguments items;      // at least one
};

// By the first template that describes the name, and the defaults.
CreateRequest RequestFor(const CommandSettings& settings, std::string_view name);

// Read from argument 2 on; errors are in the reader. BF.INSERT's own options override those of a template; its own TYPE
// overrides the template's type and all type options.
ReserveRequest ReadReserve(ArgumentReader& reader, const CommandSettings& settings);
// The error of a missing value or of missing items is wire::kArity.
InsertRequest ReadInsert(ArgumentReader& reader, const CommandSettings& settings, std::string_view name);

// Whether `have` is what BF.RESERVE with IFNOTEXISTS asks for; else the error that names the first difference. A seed
// or a tightening ratio that was not given is no difference.
std::optional<std::string> DifferenceFrom(const ReserveRequest& request, const core::FilterParams& have);

}  // namespace bitsieve::commands
