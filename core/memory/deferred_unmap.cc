#include "core/memory/deferred_unmap.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <utility>

namespace bitsieve::core {
namespace {

constexpr size_t kSliceBytes = 8 << 20;  // half a millisecond
// Between two slices, so that others get at the address space, and at the core: the kernel does not stop in a slice.
constexpr std::chrono::microseconds kUnmapPause{100};

struct Waiting {
  Waiting* next;
  size_t bytes;
};

std::atomic<Waiting*> stack{nullptr};  // released with the fields of a waiting one
std::atomic<uint64_t> stack_bytes{0};  // relaxed: a bound, give or take what several threads add at a time
std::atomic<int> servers{0};           // relaxed: what is handed over too late waits for the next server, or the end
std::atomic<uint32_t> wakes{0};

// The end first, so that the chain is there until the last slice; at boundaries that divide no huge page.
void UnmapInSlices(Waiting* waiting) {
  const auto begin = reinterpret_cast<uintptr_t>(waiting);
  for (uintptr_t end = begin + waiting->bytes; end > begin;) {
    const uintptr_t from = std::max(begin, (end - 1) / kSliceBytes * kSliceBytes);
    munmap(reinterpret_cast<void*>(from), end - from);
    stack_bytes.fetch_sub(end - from, std::memory_order_relaxed);
    end = from;
    if (end > begin) std::this_thread::sleep_for(kUnmapPause);
  }
}

}  // namespace

bool DeferredUnmap::HandOver(void* mapping, size_t bytes) {
  if (bytes < kLeastBytes || servers.load(std::memory_order_relaxed) == 0) return false;
  if (stack_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes > kMaxBytes) {
    stack_bytes.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  auto* const waiting = new (mapping) Waiting{stack.load(std::memory_order_relaxed), bytes};
  while (!stack.compare_exchange_weak(waiting->next, waiting, std::memory_order_release, std::memory_order_relaxed)) {
  }
  Wake();
  return true;
}

void DeferredUnmap::BeginServing() { servers.fetch_add(1, std::memory_order_relaxed); }
void DeferredUnmap::EndServing() { servers.fetch_sub(1, std::memory_order_relaxed); }

void DeferredUnmap::UnmapAll() {
  Waiting* waiting = stack.exchange(nullptr, std::memory_order_acquire);
  while (waiting != nullptr) UnmapInSlices(std::exchange(waiting, waiting->next));
}

uint32_t DeferredUnmap::Wakes() { return wakes.load(std::memory_order_acquire); }

void DeferredUnmap::AwaitWake(uint32_t seen) { wakes.wait(seen, std::memory_order_acquire); }

void DeferredUnmap::Wake() {
  wakes.fetch_add(1, std::memory_order_release);
  wakes.notify_all();
}

}  // namespace bitsieve::core
