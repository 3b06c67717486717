// fold_commands.h: folding of a filter that is in use, for BF.FOLD and for what folds first. Confined to the context's
// thread.
#pragma once

#include "commands/command.h"
#include "core/filter/filter_fold.h"

namespace bitsieve::commands {

// Folds the filter, which argument 1 names, and logs it. Returns false, after an error reply, if that cannot be; then
// nothing was changed, unless the log refuses.
bool FoldFilter(CommandContext& context, const FilterPtr& filter, const core::FoldTarget& target);

}  // namespace bitsieve::commands
