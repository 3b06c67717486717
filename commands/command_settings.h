// command_settings.h: the values that handlers read and that options may change at run time. The program that runs the
// commands fills them all.
// Thread-safe: each is read and written on its own; relaxed, since no value promises anything about another.
#pragma once

#include <atomic>
#include <cstdint>

#include "commands/filter_templates.h"
#include "commands/keyspace.h"
#include "core/base/glob.h"
#include "core/filter/filter_type.h"

namespace bitsieve::commands {

struct CommandSettings {
  // Parameters of a filter that BF.ADD, BF.MADD or BF.INSERT creates.
  std::atomic<core::FilterType> default_type{};
  std::atomic<double> default_error_rate{0};
  std::atomic<uint64_t> default_capacity{0};
  std::atomic<uint32_t> default_expansion{0};  // also of BF.RESERVE without EXPANSION; 0: NONSCALING
  // Parameters of a filter that CF.ADD, CF.ADDNX, CF.INSERT or CF.INSERTNX creates; all except the size are also those
  // of CF.RESERVE.
  std::atomic<uint32_t> cf_bucket_size{0};
  std::atomic<uint64_t> cf_initial_size{0};
  std::atomic<uint32_t> cf_max_iterations{0};
  std::atomic<uint32_t> cf_expansion_factor{0};
  std::atomic<uint32_t> cf_max_expansions{0};  // sub-filters from which on CF.* adds nothing
  CurrentTemplates templates;
  std::atomic<size_t> max_queued_bytes{0};  // all commands queued by one MULTI
  // The limits apply to what clients send; longer names that exist already stay.
  std::atomic<size_t> max_name_bytes{kMaxNameBytes};
  std::atomic<size_t> max_pattern_bytes{core::kMaxSearchedPattern};
};

// Sets those that begin with default_ or cf_ from a host's options, which have them by the same names and are checked.
template <class Options>
void FillFilterSettings(CommandSettings& settings, const Options& options) {
  settings.default_type = core::FindFilterType(options.default_type)->type;
  settings.default_error_rate = options.default_error_rate;
  settings.default_capacity = options.default_capacity;
  settings.default_expansion = options.default_expansion;
  settings.cf_bucket_size = options.cf_bucket_size;
  settings.cf_initial_size = options.cf_initial_size;
  settings.cf_max_iterations = options.cf_max_iterations;
  settings.cf_expansion_factor = options.cf_expansion_factor;
  settings.cf_max_expansions = options.cf_max_expansions;
}

}  // namespace bitsieve::commands
