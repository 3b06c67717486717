#include "core/filter/filter_ptr.h"

#include <unordered_map>

#include "core/base/mutex.h"

namespace bitsieve::core {

struct FilterWatch {
  const Filter* filter;  // null once it is about to be destroyed; protected by the mutex of Watched
};

namespace {

// Filters that some weak pointer was made of.
struct Watched {
  Mutex mutex;
  std::unordered_map<const Filter*, std::shared_ptr<FilterWatch>> watches BITSIEVE_GUARDED_BY(mutex);
};

// Never destroyed: filters may outlive static objects.
Watched& AllWatched() {
  static auto& watched = *new Watched;
  return watched;
}

}  // namespace

WeakFilterPtr::WeakFilterPtr(const FilterPtr& filter) {
  if (filter == nullptr) return;
  Watched& all = AllWatched();
  const LockGuard lock(all.mutex);
  std::shared_ptr<FilterWatch>& watch = all.watches[filter.get()];
  if (watch == nullptr) watch = std::make_shared<FilterWatch>(filter.get());
  watch_ = watch;
  filter->is_watched_.store(true, std::memory_order_relaxed);  // before the owner that the caller holds lets go
}

FilterPtr WeakFilterPtr::lock() const {
  if (watch_ == nullptr) return nullptr;
  const LockGuard lock(AllWatched().mutex);
  const Filter* const filter = watch_->filter;
  if (filter == nullptr || !filter->AddOwnerUnlessGone()) return nullptr;
  return FilterPtr::Adopt(const_cast<Filter*>(filter));
}

void LetGo(const Filter* filter) {
  if (!filter->RemoveOwner()) return;
  if (filter->is_watched_.load(std::memory_order_relaxed)) {
    Watched& all = AllWatched();
    const LockGuard lock(all.mutex);
    const auto watch = all.watches.find(filter);
    watch->second->filter = nullptr;
    all.watches.erase(watch);
  }
  delete filter;
}

}  // namespace bitsieve::core
