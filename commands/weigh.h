// weigh.h: how long a command would hold its loop, worked out from its arguments and from the sizes of what they name:
// what the rows of commands have as `weigh`. Each takes well below a microsecond for a light command.
// Confined to the context's loop.
#pragma once

#include "commands/command.h"

namespace bitsieve::commands {

// A command with more arguments, or more bytes of them, is kMany. Measured: an item takes about 0.1 us, a byte of an
// item 0.1 ns.
inline constexpr size_t kManyArguments = 1024;
inline constexpr size_t kManyArgumentBytes = 256 * 1024;
// A filter of more bytes is large. Measured: a copy takes 0.3 to 2.5 ns a byte.
inline constexpr uint64_t kLargeFilterBytes = 256 * 1024;

// Items from which on a command runs aside if each may take 10 to 30 us: when a page of the filter is touched for the
// first time for each of its bits, or a chunk of it is copied for an image that is being written.
inline constexpr size_t kManyFreshItems = 256;
inline constexpr size_t kManyImagedItems = 32;

Weight WeighArguments(CommandContext& context);
// The same of items that change the filter named by argument 1.
Weight WeighChanges(CommandContext& context);
// The filter named by argument 1, or the arguments.
Weight WeighFilter(CommandContext& context);
// All filters that the row's key positions name, together.
Weight WeighFilters(CommandContext& context);
inline Weight WeighMany(CommandContext&) { return Weight::kMany; }

}  // namespace bitsieve::commands
