// single_add.h: the short way of BF.ADD, the command that clients send most: of one item to a filter that is there and
// has room. It does what the long way does (command_adapter.h), without what other commands need. Confined to the
// engine's main thread.
#pragma once

#include "commands/command.h"
#include "module/engine_api.h"

namespace bitsieve::module {

// Whether commands of this row have a short way.
bool HasShortWay(const commands::CommandRow& row);

// True if the command was run. False, and nothing done, if it needs the long way: for a new key or another type, a
// filter that is to grow, or listeners to events.
bool AddByShortWay(engine::Context* context, engine::String** argv, int argc, const commands::CommandRow& row,
                   commands::Tally& tally);

}  // namespace bitsieve::module
