// filter_ptr.h: shared ownership of filters. The keyspace owns each, and so does a command that uses one outside of all
// locks. Thread-safe as std::shared_ptr and std::weak_ptr are.
#pragma once

#include <memory>

#include "core/base/intrusive_ptr.h"
#include "core/filter/filter.h"

namespace bitsieve::core {

using FilterPtr = IntrusivePtr<Filter>;

struct FilterWatch;

// Tells whether a filter still has owners, and keeps none alive. It costs memory of its own for each filter that it is
// made of, so it is for few.
class WeakFilterPtr {
 public:
  WeakFilterPtr() = default;
  WeakFilterPtr(const FilterPtr& filter);

  // Null if the filter is gone.
  FilterPtr lock() const;
  bool expired() const { return lock() == nullptr; }
  // Whether both are of one filter, be it gone or not.
  bool operator==(const WeakFilterPtr&) const = default;

 private:
  std::shared_ptr<FilterWatch> watch_;  // the same in all weak pointers to one filter
};

}  // namespace bitsieve::core
