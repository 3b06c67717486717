// engine_heap.h: all memory of the module is the engine's: `operator new` and `delete` call its allocator, and so does
// the core's memory source. So the engine counts filters in used_memory, and evicts by them. A sanitizer keeps the
// heap's own `operator new`.
#pragma once

namespace bitsieve::module {

// To be called once, before the first filter is made.
void UseEngineHeap();

}  // namespace bitsieve::module
