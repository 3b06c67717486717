#include "module/freezing.h"

#include <atomic>
#include <exception>
#include <list>
#include <memory>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/out_of_memory.h"
#include "core/filter/staging.h"
#include "module/background_thread.h"

namespace bitsieve::module {
namespace {

struct Building {
  Slot* slot;  // guarded by the list's mutex; null once it is gone
  FilterPtr closed;
  std::atomic<bool> wanted{true};  // relaxed: seen late, some more is built
};

// All that wait or are being built.
class Buildings {
 public:
  std::shared_ptr<Building> Add(Slot& slot) {
    auto building = std::make_shared<Building>(&slot, slot.filter);
    const core::LockGuard lock(mutex_);
    all_.push_back(building);
    count_.fetch_add(1, std::memory_order_relaxed);
    return building;
  }
  // The slot is about to be destroyed, by whichever thread. Most have nothing here: one load.
  void Forget(const Slot& slot) {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    const core::LockGuard lock(mutex_);
    for (const std::shared_ptr<Building>& each : all_) {
      if (each->slot != &slot) continue;
      each->slot = nullptr;
      each->wanted.store(false, std::memory_order_relaxed);
    }
  }
  // Puts `frozen` (null: nothing) where the closed filter still is. What it replaces is returned, to die elsewhere.
  FilterPtr End(const std::shared_ptr<Building>& building, FilterPtr frozen) {
    const core::LockGuard lock(mutex_);
    all_.remove(building);
    count_.fetch_sub(1, std::memory_order_relaxed);
    Slot* const slot = building->slot;
    if (slot == nullptr || frozen == nullptr || slot->filter != building->closed) return frozen;
    return std::exchange(slot->filter, std::move(frozen));
  }

 private:
  core::Mutex mutex_;
  std::list<std::shared_ptr<Building>> all_ BITSIEVE_GUARDED_BY(mutex_);
  // Relaxed: a slot is known here before the engine can free it.
  std::atomic<size_t> count_{0};
};

Buildings& TheBuildings() {
  static Buildings& buildings = *new Buildings;
  return buildings;
}

// Every step that takes a lock of the filter runs under the engine's lock (filter_value.h).
void BuildAndSwap(engine::Context* context, const std::shared_ptr<Building>& building) {
  core::Staging& staging = *building->closed->staging();
  const auto is_wanted = [&building] { return building->wanted.load(std::memory_order_relaxed); };
  auto frozen = core::OrOutOfMemory([&] { return staging.Build(Budget(), is_wanted); });
  FilterPtr replaced;
  const EngineLock lock(context);
  if (frozen && *frozen != nullptr) {
    (*frozen)->TakeUseOf(*building->closed);
    const core::Status handed = core::OrOutOfMemory([&]() -> core::Status {
      staging.HandOverTo(**frozen);
      return {};
    });
    if (!handed) frozen = tl::unexpected(handed.error());
  }
  if (!frozen) staging.Reopen(frozen.error().message);
  replaced = TheBuildings().End(building, frozen ? FilterPtr(std::move(*frozen)) : nullptr);
}

}  // namespace

void Freeze(Slot& slot) {
  static BackgroundThread& thread = *new BackgroundThread;
  const std::shared_ptr<Building> building = TheBuildings().Add(slot);
  try {
    thread.Run([building](engine::Context* context) { BuildAndSwap(context, building); });
  } catch (...) {
    TheBuildings().End(building, nullptr);
    throw;
  }
}

void CloseAndFreeze(Slot& slot) {
  core::Staging* const staging = slot.filter->staging();
  try {
    core::BeginFreezing(staging, [&slot] { Freeze(slot); });
  } catch (const std::exception&) {
    staging->Reopen(core::kOutOfMemoryText);  // which BF.INFO shows: no client got an error
  }
}

void StopFreezing(const Slot& slot) { TheBuildings().Forget(slot); }

}  // namespace bitsieve::module
