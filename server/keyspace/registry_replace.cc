// The part of the registry in which one filter takes the place of another one that is in use.
#include <optional>
#include <string>
#include <utility>

#include "server/keyspace/registry.h"
#include "server/keyspace/registry_parts.h"

namespace bitsieve::server {

using namespace commands;

bool Registry::Replace(std::string_view name, const FilterPtr& expected, FilterPtr filter) {
  Replacement replacement{expected, std::move(filter)};
  return Replace(name, replacement);
}

bool Registry::ReplaceAnywhere(const FilterPtr& expected, FilterPtr filter, std::string* name_found) {
  Replacement replacement{expected, std::move(filter)};
  return ReplaceAnywhere(replacement, name_found);
}

core::Result<bool> Registry::ReplaceFolded(std::string_view name, core::FilterFold& fold) {
  Replacement replacement{fold.filter(), fold.folded(), &fold};
  const bool found = Replace(name, replacement) || ReplaceAnywhere(replacement, nullptr);
  if (!replacement.status) return tl::unexpected(replacement.status.error());
  return found;
}

bool Registry::Replace(std::string_view text, Replacement& replacement) {
  const Name name = Hashed(text);
  Lock& lock = LockOf(name.shard);
  const core::LockGuard guard(lock.mutex);
  View view(*this, lock, name.shard);
  Entry* const found = view.Find(name);
  return found != nullptr && view.Replace(*found, replacement);
}

bool Registry::ReplaceAnywhere(Replacement& replacement, std::string* name_found) {
  const core::LockGuard one(seeking_);
  (void)SetSought(replacement.expected.get(), AllLocked(*this));
  bool replaced = false;
  for (size_t i = 0; i < kShards && !replaced; ++i) {
    Lock& lock = LockOf(i);
    const core::LockGuard guard(lock.mutex);
    View view(*this, lock, i);
    const Entry* const found = view.names().FindIf([&](Entry& entry) { return view.Replace(entry, replacement); });
    replaced = found != nullptr;
    if (replaced && name_found != nullptr) *name_found = found->name();
  }
  const AllLocked all(*this);
  const std::optional<std::string> renamed = SetSought(nullptr, all);
  if (replaced || !renamed) return replaced;
  const Name name = Hashed(*renamed);
  Lock& lock = LockOf(name.shard);
  lock.mutex.AssertHeld();  // as all are
  View view(*this, lock, name.shard);
  Entry* const found = view.Find(name);
  replaced = found != nullptr && view.Replace(*found, replacement);
  if (replaced && name_found != nullptr) *name_found = *renamed;
  return replaced;
}

// Returns the name that the previous filter was given in between.
std::optional<std::string> Registry::SetSought(const core::Filter* filter, const AllLocked& all) {
  for (Lock& lock : all) {
    lock.mutex.AssertHeld();
    lock.sought = filter;
  }
  const core::LockGuard handover(handover_);
  return std::exchange(sought_name_, std::nullopt);
}

}  // namespace bitsieve::server
