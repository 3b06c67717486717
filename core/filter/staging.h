// staging.h: a filter that collects items until another one, which is final, is built of them (Filter::staging). Types
// with Capabilities::freeze have one.
//
// States      staging: items are added. Building: Close was called; what is there stays, nothing comes, and Build makes
//             the frozen filter of it, on the thread that calls it. The frozen filter is another object, which then
//             takes this one's place under its name; this one, with all of its memory, dies with its last holder. If
//             building fails it is staging again.
// Threads     thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/base/roll_back.h"

namespace bitsieve::core {

class Filter;

class Staging {
 public:
  // Changes from staging to building. Returns false if the filter is building already.
  virtual bool Close() = 0;
  // Changes back to staging; `failure` is what Info returns from now on.
  virtual void Reopen(std::string failure) = 0;
  // Builds the frozen filter of all that is here, while it is building. `keep_going` is called every few milliseconds;
  // once it returns false, the result is null. kOutOfMemory if the budget refuses.
  virtual Result<std::unique_ptr<Filter>> Build(MemoryBudget& budget, const std::function<bool()>& keep_going) = 0;
  // Records in `frozen`, which is to take this filter's place, the false positives that were recorded here. Returns
  // whether there were any that it did not know yet.
  virtual bool CopyFalsePositivesTo(Filter& frozen) const = 0;
  // Does the same for the last time: from now on nothing is recorded here, unless it is opened again.
  virtual bool HandOverTo(Filter& frozen) = 0;

 protected:
  ~Staging() = default;
};

// Closes the filter that `staging` belongs to and calls `build`, which has the frozen filter built in the background.
// If that throws, the filter collects items again. Does nothing for a filter that is closed already, or frozen (null).
template <class Build>
void BeginFreezing(Staging* staging, const Build& build) {
  if (staging == nullptr || !staging->Close()) return;
  RollBack reopened([staging] { staging->Reopen(""); });
  build();
  reopened.Dismiss();
}

}  // namespace bitsieve::core
