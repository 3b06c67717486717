#include "server/auth/access_log.h"

#include <algorithm>
#include <utility>

namespace bitsieve::server {
namespace {

bool Alike(const AccessRefusal& a, const AccessRefusal& b) {
  return a.reason == b.reason && a.in_transaction == b.in_transaction && a.object == b.object &&
         a.username == b.username;
}

}  // namespace

void AccessLog::Add(AccessRefusal refusal, int64_t now_ms) {
  refused_[static_cast<size_t>(refusal.reason)].fetch_add(1, std::memory_order_relaxed);
  const core::LockGuard lock(mutex_);
  ++(refusal.reason == AccessRefusal::Reason::kPassword ? summary_.passwords : summary_.commands);
  summary_.latest = refusal;
  for (size_t i = 0; i < std::min(kSearched, entries_.size()); ++i) {
    AccessLogEntry& entry = entries_[i];
    if (!Alike(entry.refusal, refusal) || now_ms - entry.created_ms > kGroupingMs) continue;
    ++entry.count;
    entry.updated_ms = now_ms;
    entry.refusal.client = std::move(refusal.client);
    std::rotate(entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(i),
                entries_.begin() + static_cast<ptrdiff_t>(i) + 1);
    return;
  }
  entries_.push_front({std::move(refusal), next_id_++, 1, now_ms, now_ms});
  if (entries_.size() > most_entries_) entries_.pop_back();
}

std::vector<AccessLogEntry> AccessLog::Entries(size_t most) const {
  const core::LockGuard lock(mutex_);
  return {entries_.begin(), entries_.begin() + static_cast<ptrdiff_t>(std::min(most, entries_.size()))};
}

void AccessLog::Clear() {
  const core::LockGuard lock(mutex_);
  entries_.clear();
}

void AccessLog::set_most_entries(size_t most) {
  const core::LockGuard lock(mutex_);
  most_entries_ = most;
  if (entries_.size() > most) entries_.resize(most);
}

AccessLog::Summary AccessLog::TakeSummary() {
  const core::LockGuard lock(mutex_);
  return std::exchange(summary_, {});
}

}  // namespace bitsieve::server
