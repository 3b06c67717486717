#include "server/keyspace/quotas.h"

#include <algorithm>
#include <optional>

#include "core/base/glob.h"

namespace bitsieve::server {

using namespace commands;

void Quotas::Define(std::span<const config::QuotaRow> quotas) {
  for (const config::QuotaRow& each : quotas) quotas_.emplace_back(each.pattern, whole_);
}

void Quotas::SetLimits(std::span<const config::QuotaRow> quotas) {
  for (size_t i = 0; i < quotas.size(); ++i) {
    quotas_[i].most_names.store(quotas[i].filters, std::memory_order_relaxed);
    quotas_[i].memory.set_limit_bytes(quotas[i].bytes);
  }
}

bool Quotas::HasPatternsOf(std::span<const config::QuotaRow> quotas) const {
  return std::ranges::equal(quotas_, quotas, {}, &Quota::pattern, &config::QuotaRow::pattern);
}

Quotas::Number Quotas::NumberOf(std::string_view name) const {
  for (Number number = 1; number <= quotas_.size(); ++number) {
    if (core::GlobMatch(At(number).pattern, name)) return number;
  }
  return kNone;
}

std::optional<QuotaRefusal> Quotas::RefusalOf(Number number, bool is_new_name) const {
  if (number == kNone) return std::nullopt;
  const Quota& quota = At(number);
  const uint64_t names = quota.names.load(std::memory_order_relaxed);
  const uint64_t most_names = quota.most_names.load(std::memory_order_relaxed);
  if (is_new_name && most_names != 0 && names >= most_names) {
    return QuotaRefusal{quota.pattern, QuotaRefusal::kFilters, names, most_names};
  }
  // Whichever has less left is the one that refused.
  if (quota.memory.free_bytes() >= whole_.free_bytes()) return std::nullopt;
  return QuotaRefusal{quota.pattern, QuotaRefusal::kBytes, quota.memory.used_bytes(), quota.memory.limit_bytes()};
}

bool Quotas::TryAddName(Number number) {
  if (number == kNone) return true;
  Quota& quota = At(number);
  const uint64_t most = quota.most_names.load(std::memory_order_relaxed);
  uint64_t names = quota.names.load(std::memory_order_relaxed);
  do {
    if (most != 0 && names >= most) {
      quota.refused_names.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!quota.names.compare_exchange_weak(names, names + 1, std::memory_order_relaxed));
  return true;
}

void Quotas::RemoveName(Number number) {
  if (number != kNone) At(number).names.fetch_sub(1, std::memory_order_relaxed);
}

void Quotas::RemoveAllNames() {
  for (Quota& quota : quotas_) quota.names.store(0, std::memory_order_relaxed);
}

core::MemoryBudget& Quotas::ForUnnamed() { return quotas_.empty() ? whole_ : unnamed_.emplace_back(0, &whole_); }

void Quotas::Assign(core::MemoryBudget& memory, std::string_view name) {
  const Number number = NumberOf(name);
  const bool is_part =
      &memory != &whole_ && std::ranges::none_of(quotas_, [&](const Quota& quota) { return &quota.memory == &memory; });
  if (is_part && number != kNone) memory.MoveTo(At(number).memory);
}

std::vector<QuotaUse> Quotas::Use() const {
  std::vector<QuotaUse> use;
  for (const Quota& quota : quotas_) {
    use.push_back({.pattern = quota.pattern,
                   .filters = quota.names.load(std::memory_order_relaxed),
                   .most_filters = quota.most_names.load(std::memory_order_relaxed),
                   .bytes = quota.memory.used_bytes(),
                   .most_bytes = quota.memory.limit_bytes(),
                   .refusals = quota.memory.refusals() + quota.refused_names.load(std::memory_order_relaxed)});
  }
  return use;
}

}  // namespace bitsieve::server
