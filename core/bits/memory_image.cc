#include "core/bits/memory_image.h"

#include <sched.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include "core/bits/bit_memory.h"

namespace bitsieve::core {

MemoryImage::MemoryImage(BitMemory& memory, MemoryBudget& budget)
    : memory_(memory),
      budget_(budget),
      states_((memory.size_bytes() + kChunkBytes - 1) / kChunkBytes),
      kept_(states_.size()),
      next_(memory.images_) {
  memory.images_ = this;
}

MemoryImage::~MemoryImage() {
  MemoryImage** at = &memory_.images_;
  while (*at != this) at = &(*at)->next_;
  *at = next_;
}

uint64_t MemoryImage::BytesOf(uint64_t chunk) const {
  return std::min(kChunkBytes, memory_.size_bytes() - chunk * kChunkBytes);
}

bool MemoryImage::Claim(uint64_t chunk) {
  while (true) {
    State state = states_[chunk].load(std::memory_order_acquire);
    if (state == State::kBusy) {
      sched_yield();
      continue;
    }
    if (state != State::kInPlace) return false;
    if (states_[chunk].compare_exchange_weak(state, State::kBusy, std::memory_order_acquire)) return true;
  }
}

void MemoryImage::Keep(uint64_t chunk) {
  if (!Claim(chunk)) return;
  Kept& kept = kept_[chunk];
  kept.reservation = MemoryReservation::TryTake(budget_, BytesOf(chunk));
  if (kept.reservation.held()) kept.bytes.reset(new (std::nothrow) std::byte[BytesOf(chunk)]);
  if (kept.bytes == nullptr) {
    lost_.store(true, std::memory_order_release);
    states_[chunk].store(State::kDone, std::memory_order_release);
    return;
  }
  memory_.CopyOut(chunk * kChunkBytes, {kept.bytes.get(), BytesOf(chunk)});
  states_[chunk].store(State::kKept, std::memory_order_release);
}

// A chunk is done with once its last byte was read; what is left of one read in part stays guarded.
void MemoryImage::ReadChunk(uint64_t chunk, uint64_t within, std::span<std::byte> out) {
  const State after = within + out.size() == BytesOf(chunk) ? State::kDone : State::kInPlace;
  if (Claim(chunk)) {
    memory_.CopyOut(chunk * kChunkBytes + within, out);
    states_[chunk].store(after, std::memory_order_release);
    return;
  }
  Kept& kept = kept_[chunk];
  if (kept.bytes == nullptr) return;  // lost
  std::memcpy(out.data(), kept.bytes.get() + within, out.size());
  if (after == State::kDone) kept = Kept();
}

Status MemoryImage::Read(uint64_t offset, std::span<std::byte> out) {
  assert(offset + out.size() <= memory_.size_bytes());
  while (!out.empty()) {
    const uint64_t within = offset % kChunkBytes;
    const uint64_t chunk = offset / kChunkBytes;
    const size_t count = std::min<uint64_t>(out.size(), BytesOf(chunk) - within);
    ReadChunk(chunk, within, out.first(count));
    out = out.subspan(count);
    offset += count;
  }
  if (!lost_.load(std::memory_order_acquire)) return {};
  return Fail(ErrorCode::kOutOfMemory, "no memory for what changes while a filter's image is read");
}

}  // namespace bitsieve::core
