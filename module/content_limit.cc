#include "module/content_limit.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "module/engine_api.h"

namespace bitsieve::module {
namespace {

enum class Bound : uint8_t { kNone, kFilter, kEngine, kMachine };

struct LimitState {
  uint64_t filter_bytes = 0;
  ContentLimit::Applies applies = nullptr;  // null: nothing is limited
  void* data = nullptr;
  std::optional<EngineMemory> memory = {};  // if the engine can't be asked
  uint64_t command_filter = 0;              // bytes of the filter that the command found
  uint64_t held = 0;                        // bytes of the filter that contents are taken for
  uint64_t replaced = 0;                    // bytes that a new filter takes the place of
  uint64_t unasked = 0;                     // bytes granted since the engine was asked
  Bound reached = Bound::kNone;
  uint64_t refused = 0;  // bytes
  EngineMemory at = {};  // when they were refused
};
constinit thread_local LimitState limit_state;

// Whether a sum of both is more than `most`, which may be anything.
bool IsBeyond(uint64_t most, uint64_t base, uint64_t bytes) { return bytes > most || base > most - bytes; }

// With eviction other keys make room, so that a filter need only fit by itself.
Bound BoundOf(const EngineMemory& memory, uint64_t bytes) {
  const uint64_t kept = memory.used - std::min(memory.used, limit_state.replaced);
  if (memory.most != 0 && IsBeyond(memory.most, memory.evicts ? limit_state.held : kept, bytes)) return Bound::kEngine;
  if (memory.machine != 0 && IsBeyond(memory.machine, memory.used, bytes)) return Bound::kMachine;
  return Bound::kNone;
}

// Small blocks are granted unseen: the engine checks its memory before the next command.
Bound AskEngine(uint64_t bytes) {
  constexpr uint64_t kAskFrom = 1 << 20;
  limit_state.unasked += bytes;
  if (limit_state.unasked < kAskFrom) return Bound::kNone;
  limit_state.at = limit_state.memory ? *limit_state.memory : EngineMemory::Now();
  if (limit_state.memory) limit_state.memory->used += limit_state.unasked;
  limit_state.unasked = 0;
  return BoundOf(limit_state.at, bytes);
}

Bound Check(uint64_t bytes) {
  if (limit_state.filter_bytes != 0 && IsBeyond(limit_state.filter_bytes, limit_state.held, bytes))
    return Bound::kFilter;
  return AskEngine(bytes);
}

std::string Needs() { return "OOM the filter needs " + std::to_string(limit_state.refused) + " bytes more, "; }

}  // namespace

EngineMemory EngineMemory::Now() {
  engine::ServerInfo* const info = engine::GetServerInfo(nullptr, "memory");
  const auto number = [info](const char* field) { return engine::ServerInfoGetFieldUnsigned(info, field, nullptr); };
  const char* const policy = engine::ServerInfoGetFieldC(info, "maxmemory_policy");
  const uint64_t used = number("used_memory");
  const EngineMemory memory{.used = used - std::min<uint64_t>(used, number("mem_not_counted_for_evict")),
                            .most = number("maxmemory"),
                            .machine = number("total_system_memory"),
                            .evicts = policy != nullptr && std::string_view(policy) != "noeviction"};
  engine::FreeServerInfo(nullptr, info);
  return memory;
}

ContentLimit::ContentLimit(uint64_t filter_bytes, Applies applies, void* data, const EngineMemory* memory) {
  limit_state = {.filter_bytes = filter_bytes, .applies = applies, .data = data};
  if (memory != nullptr) limit_state.memory = *memory;
}
ContentLimit::~ContentLimit() { limit_state = {}; }

void ContentLimit::BeginWith(uint64_t bytes) { limit_state.command_filter = limit_state.held = bytes; }

void ContentLimit::BeginNew() {
  limit_state.held = 0;
  limit_state.replaced = limit_state.command_filter;
}

bool ContentLimit::Grant(uint64_t bytes) {
  if (limit_state.applies == nullptr) return true;
  const Bound bound = Check(bytes);
  limit_state.held += bytes;
  if (bound == Bound::kNone) return true;
  if (!limit_state.applies(limit_state.data)) {
    limit_state.applies = nullptr;
    return true;
  }
  limit_state.held -= bytes;
  limit_state.reached = bound;
  limit_state.refused = bytes;
  return false;
}

void ContentLimit::RecordRefusedBySystem(uint64_t bytes) {
  if (limit_state.applies == nullptr) return;
  limit_state.reached = Bound::kMachine;
  limit_state.refused = bytes;
}

std::string ContentLimit::Refusal() {
  switch (limit_state.reached) {
    case Bound::kNone:
      return {};
    case Bound::kFilter:
      return "OOM the filter would take more than bf.max-filter-bytes allows, which is " +
             std::to_string(limit_state.filter_bytes) + " bytes";
    case Bound::kEngine:
      return Needs() + "and the engine uses " + std::to_string(limit_state.at.used) + " of the " +
             std::to_string(limit_state.at.most) + " that maxmemory allows";
    case Bound::kMachine:
      return Needs() + "which this machine does not have";
  }
  return {};
}

}  // namespace bitsieve::module
