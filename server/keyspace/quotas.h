// quotas.h: limits for parts of the keyspace, each for the names that match a pattern: how many filters there may be,
// and how many bytes they and their names may take. A name counts for the first quota whose pattern it matches, from
// the moment it comes until it goes.
//
// Memory: each quota has a budget that is a part of the whole one, so that filters and names are made with the budget
//         of their name (MemoryOf) and need know nothing of quotas.
// Loading: the log has filters before it has their names. Each gets a budget of its own (ForUnnamed), which becomes a
//         part of the name's once that is known (Assign). These budgets stay for as long as the quotas.
// The patterns are set once, before there are names; the limits may change at any time. Thread-safe, except for Define,
// ForUnnamed and Assign, which one thread calls before others use it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/quotas.h"
#include "core/base/memory_budget.h"
#include "server/keyspace/keyspace.h"

namespace bitsieve::server {

class Quotas {
 public:
  // The number, from 1 on, of the quota that a name counts for.
  using Number = uint32_t;
  static constexpr Number kNone = 0;
  // Bounded so that a number fits into an entry together with the length of a name.
  static constexpr uint32_t kMax = 2047;

  // No quota: all names take from `whole`, which outlives this.
  explicit Quotas(core::MemoryBudget& whole) : whole_(whole) {}

  // Defines at most kMax quotas. There are no limits before SetLimits, so that everything on the disk can be loaded.
  void Define(std::span<const config::QuotaRow> quotas);
  // Sets the limits. The patterns are the same ones, in the same order.
  void SetLimits(std::span<const config::QuotaRow> quotas);
  bool HasPatternsOf(std::span<const config::QuotaRow> quotas) const;

  // Whether there are none.
  bool empty() const { return quotas_.empty(); }
  Number NumberOf(std::string_view name) const;
  core::MemoryBudget& whole() const { return whole_; }
  core::MemoryBudget& MemoryOf(Number number) { return number == kNone ? whole_ : At(number).memory; }
  core::MemoryBudget& MemoryOf(std::string_view name) { return MemoryOf(NumberOf(name)); }
  // Why one more name, or more memory, is refused to names of this quota, if it is the quota that does; filters take
  // from the whole budget as well, which may have less left.
  std::optional<QuotaRefusal> RefusalOf(Number number, bool is_new_name) const;

  // False, and nothing counted, if there are as many names as there may be.
  [[nodiscard]] bool TryAddName(Number number);
  void RemoveName(Number number);
  // No name comes or goes during the call.
  void RemoveAllNames();

  core::MemoryBudget& ForUnnamed();
  // Makes `memory`, if it is one of ForUnnamed, a part of the budget of the name's quota.
  void Assign(core::MemoryBudget& memory, std::string_view name);

  // In their order.
  std::vector<QuotaUse> Use() const;

 private:
  struct Quota {
    Quota(std::string text, core::MemoryBudget& whole) : pattern(std::move(text)), memory(0, &whole) {}

    const std::string pattern;
    core::MemoryBudget memory;
    // Relaxed: counters.
    std::atomic<uint64_t> names{0};
    std::atomic<uint64_t> most_names{0};  // 0: no limit
    std::atomic<uint64_t> refused_names{0};
  };

  Quota& At(Number number) { return quotas_[number - 1]; }
  const Quota& At(Number number) const { return quotas_[number - 1]; }

  core::MemoryBudget& whole_;
  std::deque<Quota> quotas_;
  std::deque<core::MemoryBudget> unnamed_;  // parts of the whole until they are assigned
};

}  // namespace bitsieve::server
