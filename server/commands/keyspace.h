// keyspace.h: what command handlers need from the place where filters live by name. The implementation is
// server/keyspace/registry; tests may use another. Thread-safe. Names are binary safe. A filter that somebody holds
// stays alive after it left the keyspace.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/memory_budget.h"
#include "core/filters/filter.h"

namespace bitsieve::server {

using FilterPtr = std::shared_ptr<core::Filter>;

enum class RenameOutcome { kRenamed, kNoSource, kTargetExists, kOutOfMemory };

class Keyspace {
 public:
  virtual ~Keyspace() = default;

  // Null if there is none of this name.
  virtual FilterPtr Find(std::string_view name) const = 0;
  // Publishes `filter` if the name is free. Returns what the name holds afterwards: `filter`, or the one that was
  // there first; null, and nothing published, if the memory budget refuses the name.
  virtual FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter) = 0;
  // Puts `replacement` where `expected` still is; false, and nothing done, if something else is there by now.
  virtual bool Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) = 0;
  virtual bool Remove(std::string_view name) = 0;
  // Atomic: at no moment does anybody, a snapshot included, see both names or neither. A filter under the target name
  // is replaced, unless `only_if_absent`. Renaming to itself is kRenamed if it exists (kTargetExists if
  // `only_if_absent`). kOutOfMemory, and nothing renamed, if the memory budget refuses the new name.
  virtual RenameOutcome Rename(std::string_view from, std::string_view to, bool only_if_absent) = 0;
  // Removes everything. Memory of what was removed is freed in the background if `background`.
  virtual void Flush(bool background) = 0;

  virtual uint64_t Size() const = 0;
  using Visitor = std::function<void(std::string_view name, const FilterPtr& filter)>;
  // Visits about `count` or more filters from `cursor` on (0: from the start) and returns the next cursor, 0 at the
  // end. What is there during a whole iteration is visited at least once. The visitor must not call the keyspace.
  virtual uint64_t Scan(uint64_t cursor, uint64_t count, const Visitor& visitor) const = 0;

  // The account that every filter of this keyspace takes its memory from.
  virtual core::MemoryBudget& memory() = 0;
};

}  // namespace bitsieve::server
