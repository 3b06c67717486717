// freezing.h: builds frozen filters on a thread of their own, and puts each in the place of the one that collected its
// items, while the engine holds still.
#pragma once

#include "module/filter_value.h"

namespace bitsieve::module {

// The slot's filter has a core::Staging, which is closed. On the engine's main thread. Throws as BackgroundThread::Run.
void Freeze(Slot& slot);
// Closes it first: one that was loaded or copied. Without memory for it, it stays open.
void CloseAndFreeze(Slot& slot);
// To be called before the slot dies: what is built for it is dropped. From any thread.
void StopFreezing(const Slot& slot);

}  // namespace bitsieve::module
