// command_settings.h: the values that handlers read and that options may change at run time. The program that runs the
// commands fills them all.
// Thread-safe: each is read and written on its own; relaxed, since no value promises anything about another.
#pragma once

#include <atomic>
#include <cstdint>

#include "commands/filter_templates.h"
#include "core/filter/filter_type.h"

namespace bitsieve::commands {

struct CommandSettings {
  // Parameters of a filter that BF.ADD, BF.MADD or BF.INSERT creates.
  std::atomic<core::FilterType> default_type{};
  std::atomic<double> default_error_rate{0};
  std::atomic<uint64_t> default_capacity{0};
  std::atomic<uint32_t> default_expansion{0};  // also of BF.RESERVE without EXPANSION; 0: NONSCALING
  // Of a filter that CF.ADD, CF.ADDNX, CF.INSERT or CF.INSERTNX creates; all but the size also of CF.RESERVE.
  std::atomic<uint32_t> cf_bucket_size{0};
  std::atomic<uint64_t> cf_initial_size{0};
  std::atomic<uint32_t> cf_max_iterations{0};
  std::atomic<uint32_t> cf_expansion_factor{0};
  std::atomic<uint32_t> cf_max_expansions{0};  // sub-filters from which on CF.* adds nothing
  FilterTemplates templates;                   // set before the first command, constant from then on
  std::atomic<size_t> max_queued_bytes{0};     // all commands queued by one MULTI
};

}  // namespace bitsieve::commands
