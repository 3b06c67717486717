#include "server/heap.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <new>

namespace bitsieve::server {
namespace {

constexpr int kLargeBytes = 256 * 1024;      // blocks from here on are mapped one by one
constexpr int kMostFreeBytes = 1024 * 1024;  // at the end of a heap
constexpr std::chrono::seconds kInterval{1};

}  // namespace

void ConfigureHeap() {
  mallopt(M_MXFAST, 0);
  mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  mallopt(M_TRIM_THRESHOLD, kMostFreeBytes);
}

bool Rush::IsOver(uint64_t clients) {
  most_ = std::max(most_, clients);
  if (most_ < kLeastClients || clients > most_ / 2) return false;
  most_ = clients;
  return true;
}

void HeapTrimmer::Start() {
  timer_.expires_after(kInterval);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    if (rush_.IsOver(count_())) malloc_trim(0);
    try {
      Start();
    } catch (const std::bad_alloc&) {
      return;  // pages that are not given back are no reason to end
    }
  });
}

}  // namespace bitsieve::server
