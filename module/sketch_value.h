// sketch_value.h: RedisBloom's sketches as values of the engine's keys: saved, loaded, rewritten, copied, digested and
// freed by it. Three data types, under RedisBloom's names and with its bytes (sketch_value.h of rdb).
//
// Threads: Free is called from any thread, Save and RewriteAof in a forked child, too; all else by the engine's main
// thread.
#pragma once

#include <cstdint>

#include "commands/sketch_keyspace.h"
#include "core/base/memory_budget.h"
#include "module/engine_api.h"

namespace bitsieve::module {

engine::Type* TypeOf(const commands::Sketch& sketch);
bool IsSketchType(const engine::Type* type);
bool CreateSketchTypes(engine::Context* context);

// Allocates the sketch that a key stores.
commands::Sketch* NewSketch(commands::Sketch sketch);

// Returns the number of sketches stored in keys.
uint64_t SketchCount();
// The account of sketches' counters. It has no limit of its own, as that of filters.
core::MemoryBudget& SketchBudget();

}  // namespace bitsieve::module
