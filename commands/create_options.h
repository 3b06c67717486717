// create_options.h: the options for creating a filter, as in BF.RESERVE, BF.INSERT and templates: read one at a time,
// in any order, and checked against each other at the end.
// Thread-safe: free functions on plain values.
#pragma once

#include <optional>
#include <string_view>

#include "commands/argument_reader.h"
#include "commands/type_options.h"
#include "core/filter/filter_params.h"

namespace bitsieve::commands {

// Error texts of the command or template that has the options.
struct OptionErrors {
  std::string_view missing;  // of any value; if empty, each option has one of its own
  std::string_view bad_expansion;
  std::string_view bad_capacity;
  std::string_view bad_error_rate;

  std::string_view Missing(std::string_view own) const { return missing.empty() ? own : missing; }
};

// Options that were given and are not, or not only, parameters.
struct GivenOptions {
  std::optional<int64_t> expansion;
  bool nonscaling = false;
  std::optional<uint64_t> seed;
  std::optional<std::string_view> own_seed;  // in its place one that is no number (core::OwnSeed)
  std::optional<int64_t> validate_to;        // VALIDATESCALETO
  bool type = false;
  bool capacity = false;
  bool tightening = false;
  GivenTypeOptions of_type = {};
  uint32_t overridden_expansion = 0;  // that NONSCALING took the place of
};

// Reads one option that BF.RESERVE has too; false if the next argument is none of them.
bool ReadCommonOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      GivenOptions& given);
// Reads one option of BF.INSERT and of templates: those, CAPACITY and ERROR.
bool ReadCreateOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      GivenOptions& given);

// Check what is out of range for every type: a rate outside (0, 1), a capacity below 1. SettleType bounds them further.
double CheckedErrorRate(ArgumentReader& reader, double rate, std::string_view out_of_range);
uint64_t CheckedCapacity(ArgumentReader& reader, int64_t capacity, std::string_view out_of_range);
bool ExpansionInRange(core::FilterType type, int64_t expansion);
// NONSCALING.
void StopGrowing(GivenOptions& given, core::FilterParams& params);

// To be called at the end of the options, before all else: settles the type, which a seed may name. Lowers a rate above
// the largest of the type to it; one below the smallest has a separate error.
void SettleType(ArgumentReader& reader, std::string_view bad_capacity, GivenOptions& given, core::FilterParams& params);
// To be called after it, once the expansion is settled, too: settles all that depends on the type.
void SettleTypeOptions(ArgumentReader& reader, const GivenOptions& given, bool capacity_given,
                       core::FilterParams& params);
// To be called at the end of BF.INSERT's or a template's options.
void SettleCreateOptions(ArgumentReader& reader, const OptionErrors& errors, GivenOptions& given,
                         core::FilterParams& params);

}  // namespace bitsieve::commands
