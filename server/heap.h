// heap.h: memory that was freed goes back to the system, so that after a rush the process takes what it took before.
//
// Large blocks (long arguments, replies that are not read): at once. Left alone, the allocator takes the first of them
// that is freed as a reason to keep up to 64 MB of free memory for each thread.
// Small ones: the allocator gives back the free end of a heap alone, and that ends with whatever still lives there. So
//             when clients have left in numbers, the free pages in between are given back, too.
// Blocks of up to 128 bytes are joined with their free neighbours as they are freed. Left alone, the allocator puts
// that off until some thread asks for a large block; after a million names have gone, that thread pays for all of it at
// once.
// ConfigureHeap and Rush are thread-compatible; HeapTrimmer is confined to its context's thread.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <utility>

namespace bitsieve::server {

// For blocks of both sizes; once, before there are threads.
void ConfigureHeap();

// Knows when a rush of clients is over.
class Rush {
 public:
  static constexpr uint64_t kLeastClients = 100;  // fewer leave little to give back

  // Called at intervals with the number of clients: true once half of them, or more, have left since the last time.
  bool IsOver(uint64_t clients);

 private:
  uint64_t most_ = 0;  // clients since the last rush was over
};

// For small ones: gives pages back after each rush. That takes some milliseconds of its thread, which must have them.
class HeapTrimmer {
 public:
  using CountClients = std::function<uint64_t()>;

  HeapTrimmer(asio::io_context& context, CountClients count) : timer_(context), count_(std::move(count)) {}
  void Start();

 private:
  asio::steady_timer timer_;
  const CountClients count_;
  Rush rush_;
};

}  // namespace bitsieve::server
