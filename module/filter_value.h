// filter_value.h: filters as values of the engine's keys: saved, loaded, rewritten, copied, digested and freed by it.
// Three data types. Two have RedisBloom's names: values that RedisBloom saved are read, too (module_value.h), and the
// encoding version of our own is far above RedisBloom's. The third has valkey-bloom's name and bytes.
// docs/formats/module.md has the bytes.
//
// Threads: Free is called from any thread, Save and RewriteAof in a forked child, too; all else by the engine's main
// thread. A child must find no lock of a filter taken, so other threads take one only under the engine's lock.
#pragma once

#include <cstdint>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/filter/filter_ptr.h"
#include "module/engine_api.h"

namespace bitsieve::module {

using core::FilterPtr;

// The value of a key. Its address stays while the key is renamed.
struct Slot {
  FilterPtr filter;
};

// Allocates the slot that a key stores.
Slot* NewSlot(FilterPtr filter);

engine::Type* TypeOf(const core::Filter& filter);
bool IsFilterType(const engine::Type* type);
bool CreateFilterTypes(engine::Context* context);

// Returns the number of filters stored in keys.
uint64_t FilterCount();
// The account of filters. It has no limit of its own: the engine has one, and content_limit.h has others.
core::MemoryBudget& Budget();
// The time by which filters age.
core::FilterClock& TheClock();

}  // namespace bitsieve::module
