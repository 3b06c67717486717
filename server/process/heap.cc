#include "server/process/heap.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "core/base/thread_name.h"
#include "server/process/resident_memory.h"

namespace bitsieve::server {
namespace {

constexpr int kLargeBytes = 256 * 1024;     // blocks from here on are mapped one by one
constexpr int kMaxFreeBytes = 1024 * 1024;  // at the end of a heap
constexpr std::chrono::seconds kTrimInterval{1};

}  // namespace

void ConfigureHeap() {
  mallopt(M_MXFAST, 0);
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, kMaxFreeBytes);
}

bool Rush::IsOver(uint64_t clients) {
  most_ = std::max(most_, clients);
  if (most_ < kLeastClients || clients > most_ / 2) return false;
  most_ = clients;
  return true;
}

bool Slack::HasGrown(uint64_t resident_bytes, uint64_t used_bytes) {
  constexpr uint64_t kShare = 64;  // what the allocator adds to small blocks grows with them
  const uint64_t slack = resident_bytes - std::min(resident_bytes, used_bytes);
  least_ = std::min(least_, slack);
  return slack - least_ > kLeastBytes + used_bytes / kShare;
}

void Slack::RecordGivenBack(uint64_t resident_bytes, uint64_t used_bytes) {
  least_ = resident_bytes - std::min(resident_bytes, used_bytes);
}

HeapTrimmer::HeapTrimmer(Count clients, Count used_bytes)
    : clients_(std::move(clients)), used_bytes_(std::move(used_bytes)), thread_([this] { Run(); }) {}

HeapTrimmer::~HeapTrimmer() {
  {
    const core::LockGuard lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  thread_.join();
}

void HeapTrimmer::Run() {
  core::NameThread("heap");
  const core::LockGuard lock(mutex_);
  while (true) {
    const auto next = std::chrono::steady_clock::now() + kTrimInterval;
    while (!stopping_ && wake_.WaitUntil(mutex_, next)) continue;
    if (stopping_) return;
    const core::UnlockGuard unlocked(mutex_);
    try {
      Look();
    } catch (const std::bad_alloc&) {
      continue;  // pages that are not given back are no reason to end
    }
  }
}

void HeapTrimmer::Look() {
  const bool rush_is_over = rush_.IsOver(clients_());
  const bool has_grown = slack_.HasGrown(ResidentBytes(), used_bytes_());
  if (!rush_is_over && !has_grown) return;
  malloc_trim(0);
  slack_.RecordGivenBack(ResidentBytes(), used_bytes_());
}

}  // namespace bitsieve::server
