// content_limit.h: what a client's command may take for the contents of filters: what bf.max-filter-bytes allows one
// filter, what the engine's maxmemory leaves, and what the machine has. The engine compares memory with maxmemory only
// before a command, and one command can take any amount: so what is beyond is refused here before anything is taken.
// Content from a master or a file is never refused.
//
// A limit is the calling thread's alone.
#pragma once

#include <cstdint>
#include <string>

namespace bitsieve::module {

// The engine's memory at one moment.
struct EngineMemory {
  uint64_t used = 0;     // as the engine compares it with maxmemory
  uint64_t most = 0;     // maxmemory; 0: no limit
  uint64_t machine = 0;  // 0: unknown
  bool evicts = false;   // other keys make room for what is new

  // To be called on the engine's main thread. Takes some 10 us.
  static EngineMemory Now();
};

// While it lives, memory for contents that this thread takes is limited. One at a time.
class ContentLimit {
 public:
  // Returns whether a limit that was reached is to hold. It is called at most once; if it returns false, nothing is
  // limited from then on.
  using Applies = bool (*)(void* data);

  // `filter_bytes` is what one filter may take; 0 is no limit. On a thread other than the main one, `memory` is the
  // engine's of the moment at which the command came; else it is null, and the engine is asked.
  ContentLimit(uint64_t filter_bytes, Applies applies, void* data, const EngineMemory* memory = nullptr);
  ContentLimit(const ContentLimit&) = delete;
  ContentLimit& operator=(const ContentLimit&) = delete;
  ~ContentLimit();

  // Contents that are taken from now on belong to the command's filter, which has so many bytes.
  static void BeginWith(uint64_t bytes);
  // Contents that are taken from now on belong to a new filter, in place of the command's.
  static void BeginNew();

  // Whether so many bytes more may be taken. Counts them.
  static bool Grant(uint64_t bytes);
  // To be called if the system refused so many bytes that were granted.
  static void RecordRefusedBySystem(uint64_t bytes);

  // The error to reply with; empty if nothing was refused.
  static std::string Refusal();
};

}  // namespace bitsieve::module
