#include "core/families/bloom/hash_list.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <new>

namespace bitsieve::core {

namespace {

// Hashes beside the first one that a block has room for. With the word before them they fill what malloc hands out.
size_t RoomFor(size_t further) {
  return further <= 2 ? 2 : further <= 4 ? 4 : further <= 8 ? 8 : HashList::kMaxHashes - 1;
}

}  // namespace

// The hashes beside the first one follow it in memory.
struct HashList::Block {
  uint32_t room;
  std::atomic<uint32_t> count;  // released after the hash that it counts

  KeyHash* hashes() { return reinterpret_cast<KeyHash*>(this + 1); }
  std::span<const KeyHash> all() const {
    return {reinterpret_cast<const KeyHash*>(this + 1), count.load(std::memory_order_acquire)};
  }
  void Append(const KeyHash& hash) {
    const uint32_t at = count.load(std::memory_order_relaxed);
    new (hashes() + at) KeyHash(hash);
    count.store(at + 1, std::memory_order_release);
  }

  static uint64_t BytesFor(size_t room) { return sizeof(Block) + room * sizeof(KeyHash); }
  static Block* Make(size_t room) {
    return new (::operator new(BytesFor(room))) Block{static_cast<uint32_t>(room), {0}};
  }
  static void Free(Block* block) { ::operator delete(block); }
};

HashList::Block* HashList::OnlyFirst() {
  static constinit Block only_first{0, {0}};
  return &only_first;
}

HashList::~HashList() {
  Block* const block = block_.load(std::memory_order_relaxed);
  if (IsBlock(block)) Block::Free(block);
}

bool HashList::Holds(const Block* block, const KeyHash& hash) const {
  if (block == nullptr) return false;
  return first_ == hash || std::ranges::any_of(block->all(), [&](const KeyHash& each) { return each == hash; });
}

void HashList::MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present, ReaderPins& pins) const {
  const auto look = [&](const Block* block) {
    for (size_t i = 0; i < hashes.size(); ++i) present[i] |= Holds(block, hashes[i]) ? 1 : 0;
  };
  // Most lists have no block, and need no pin.
  const Block* const unpinned = block_.load(std::memory_order_acquire);
  if (!IsBlock(unpinned)) return look(unpinned);
  const ReaderPins::Pin pin(pins);
  look(block_.load(std::memory_order_seq_cst));
}

size_t HashList::size(ReaderPins& pins) const {
  const auto count = [](const Block* block) { return block == nullptr ? 0 : 1 + block->all().size(); };
  const Block* const unpinned = block_.load(std::memory_order_acquire);
  if (!IsBlock(unpinned)) return count(unpinned);
  const ReaderPins::Pin pin(pins);
  return count(block_.load(std::memory_order_seq_cst));
}

bool HashList::Contains(const KeyHash& hash) const { return Holds(block_.load(std::memory_order_relaxed), hash); }

std::vector<KeyHash> HashList::All() const {
  const Block* const block = block_.load(std::memory_order_seq_cst);
  if (block == nullptr) return {};
  std::vector<KeyHash> hashes{first_};
  hashes.insert(hashes.end(), block->all().begin(), block->all().end());
  return hashes;
}

void HashList::Add(const KeyHash& hash, const ReaderPins& pins) {
  Block* const block = block_.load(std::memory_order_relaxed);
  if (block == nullptr) {
    first_ = hash;
    return Publish(OnlyFirst());
  }
  const std::span<const KeyHash> before = block->all();
  assert(before.size() + 1 < kMaxHashes);
  if (before.size() < block->room) return block->Append(hash);
  Block* const larger = Block::Make(RoomFor(before.size() + 1));
  for (const KeyHash& each : before) larger->Append(each);
  larger->Append(hash);
  Publish(larger);
  if (!IsBlock(block)) return;
  pins.AwaitNone();
  Block::Free(block);
}

void HashList::Clear(const ReaderPins& pins) {
  Block* const block = block_.load(std::memory_order_relaxed);
  Publish(nullptr);
  if (!IsBlock(block)) return;
  pins.AwaitNone();
  Block::Free(block);
}

uint64_t HashList::BlockBytes(size_t hashes) { return hashes <= 1 ? 0 : Block::BytesFor(RoomFor(hashes - 1)); }

}  // namespace bitsieve::core
