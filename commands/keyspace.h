// keyspace.h: what filter commands need from the place where filters live by name. The implementations are
// server/keyspace/registry and those of other hosts of the commands; tests use a plain map. Thread-safe. Names are
// binary safe. A filter that is still referenced stays alive after it left the keyspace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filter/filter_fold.h"
#include "core/filter/filter_ptr.h"
#include "core/memory/memory_source.h"

namespace bitsieve::commands {

using core::FilterPtr;

// The content of a filter that has no name yet, where the log can refer to it. Of use for as long as it is held.
class PreparedContent {
 public:
  virtual ~PreparedContent() = default;
};

// Longer names are refused, so that a change of one always has room in a frame of the log.
inline constexpr size_t kMaxNameBytes = 1 << 20;

// Bytes that a name takes besides its own: its entry, bucket and expiry, and what the heap adds, rounded up.
inline constexpr uint64_t kNameOverheadBytes = 96;

// The heap bytes of a name: of its entry, which ends with the name, and of its bucket on average.
inline constexpr size_t kNameEntryBytes = 40;
inline uint64_t NameHeapBytes(size_t name_bytes) {
  constexpr uint64_t kBucketBytes = 12;  // a pointer; there are as many buckets as names, or up to twice as many
  return core::BlockBytes(kNameEntryBytes + name_bytes) + kBucketBytes;
}

// Why a quota refuses a name, or memory for what has it.
struct QuotaRefusal {
  enum Of { kFilters, kBytes };

  std::string pattern;
  Of of = kFilters;
  uint64_t used = 0;
  uint64_t most = 0;
};

// A function that throws std::bad_alloc has changed nothing.
class FilterKeyspace {
 public:
  virtual ~FilterKeyspace() = default;

  // To be called for a filter that is not as it was made, before it gets its first name, and held until it has it; from
  // now on it is not changed. Without it a name would wait for the disk. Takes as long as the disk to make a large
  // filter durable; null if there is nothing to do. An error: the disk or the memory refuses it.
  virtual core::Result<std::unique_ptr<PreparedContent>> Prepare(const FilterPtr& filter) = 0;
  // A filter has one name. Null if there is none of this name.
  virtual FilterPtr Find(std::string_view name) const = 0;
  // Publishes `filter` if the name is free. Returns what the name holds afterwards: `filter`, or the one that was
  // there first; null, and nothing published, if the name is refused: by the memory budget, a quota or the system.
  virtual FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t expires_ms = 0) = 0;
  // Publishes `filter`, replacing any filter under the name. False, and nothing done, if the name is refused.
  virtual bool Put(std::string_view name, FilterPtr filter, int64_t expires_ms) = 0;
  // Puts `replacement` where `expected` still is; false, and nothing done, if something else is there by now. The name
  // keeps its expiry.
  virtual bool Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) = 0;
  // Puts a folded filter where the one that it was folded from still is, under the name or under the one that this was
  // renamed to in between, and calls TakeOver in the same moment. The name keeps its expiry. False, and nothing done,
  // if there is none any more; an error, and nothing done, if TakeOver returns it.
  virtual core::Result<bool> ReplaceFolded(std::string_view name, core::FilterFold& fold) = 0;
  // Call it for a filter whose content was changed by other means than Add and Remove, after the change and before it
  // is acknowledged. Takes as long as the disk needs to make a large filter durable. On an error the disk or the memory
  // refused it, and the change is durable from the next snapshot on.
  virtual core::Status LogRewrite(const FilterPtr& filter) = 0;

  // The account that all memory of this keyspace's filters is taken from.
  virtual core::MemoryBudget& memory() = 0;
  // Returns the account of a filter of this name and of what belongs to it: the same as memory(), or a part of it.
  virtual core::MemoryBudget& MemoryOf(std::string_view) { return memory(); }
  // To be called after memory or the name was refused. Returns the refusal if it was by the name's quota, and not by
  // the whole budget or the system.
  virtual std::optional<QuotaRefusal> QuotaRefusalOf(std::string_view) const { return std::nullopt; }
  // The time by which filters of this keyspace age. It outlives them.
  virtual const core::Clock& clock() const = 0;
};

// Builds frozen filters in the background. Thread-safe.
class FreezeQueue {
 public:
  virtual ~FreezeQueue() = default;
  // Builds the frozen filter of one that was closed, in the background, and puts it in its place: under the name, or
  // under the one it was renamed to in between. If that fails, it is opened again, and BF.INFO shows why.
  virtual void Freeze(std::string_view name, const FilterPtr& closed) = 0;
};

}  // namespace bitsieve::commands
