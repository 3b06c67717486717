#include "core/filter/content_turn.h"

#include <unordered_set>

#include "core/base/mutex.h"

namespace bitsieve::core {

namespace {

struct Turns {
  Mutex mutex;
  ConditionVariable ended;
  std::unordered_set<const Filter*> held BITSIEVE_GUARDED_BY(mutex);
};

Turns& AllTurns() {
  static Turns& turns = *new Turns;
  return turns;
}

}  // namespace

ContentTurn::ContentTurn(const Filter& filter) : filter_(&filter) {
  Turns& turns = AllTurns();
  const LockGuard lock(turns.mutex);
  while (!turns.held.insert(filter_).second) turns.ended.Wait(turns.mutex);
}

ContentTurn::~ContentTurn() {
  Turns& turns = AllTurns();
  const LockGuard lock(turns.mutex);
  turns.held.erase(filter_);
  turns.ended.NotifyAll();
}

}  // namespace bitsieve::core
