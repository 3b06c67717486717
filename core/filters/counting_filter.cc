#include "core/filters/counting_filter.h"

#include <sched.h>

#include "core/bits/stripe_locks.h"

namespace bitsieve::core {

size_t CountingFilter::StripeOf(const KeyHash& hash) const {
  return StripeLocks::OfHash(hash.low ^ reinterpret_cast<uintptr_t>(this));
}

void CountingFilter::TellChanges(uint64_t changes) {
  if (changes != 0) changes_.fetch_add(changes, std::memory_order_release);
}

// Either an adder sees that the link is closed, or who closes it sees the adder: both write before they read.
ScalableFilter::Node& CountingFilter::Enter() {
  while (true) {
    if (!closed_.load(std::memory_order_relaxed)) {
      adders_.fetch_add(1, std::memory_order_seq_cst);
      if (!closed_.load(std::memory_order_seq_cst)) return *newest();
      Leave();
    }
    sched_yield();
  }
}

void CountingFilter::CloseNewest() {
  closed_.store(true, std::memory_order_seq_cst);
  while (adders_.load(std::memory_order_seq_cst) != 0) sched_yield();
}

CountingBloom* CountingFilter::OldestHolder(const KeyHash& hash) const {
  CountingBloom* oldest = nullptr;
  for (const Node* node = newest(); node != nullptr; node = node->older) {
    if (LinkOf(*node).Contains(hash)) oldest = &LinkOf(*node);
  }
  return oldest;
}

bool CountingFilter::AddAgain(const KeyHash& hash) {
  while (CountingBloom* holder = OldestHolder(hash)) {
    const CounterChange change = holder->RaiseIfThere(hash);
    // Where it is not there any more it was so only by chance, and whatever that came from has just been removed.
    if (!change.there) {
      holder->CountFill(change.bits_set);
      continue;
    }
    if (change.changed) holder->CountAgain();
    TellChanges(change.changed ? 1 : 0);
    return true;
  }
  return false;
}

LinkProgress CountingFilter::AddEntered(Node& newest, std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes,
                                        uint64_t room) {
  LinkProgress progress{0, 0, 0};
  for (; progress.done < hashes.size(); ++progress.done) {
    const KeyHash& hash = hashes[progress.done];
    const StripeGuard guard(StripeOf(hash));
    outcomes[progress.done] = AddOutcome::kPresent;
    if (AddAgain(hash)) continue;
    if (progress.added == room) break;
    outcomes[progress.done] = AddOutcome::kAdded;
    progress.bits_set += LinkOf(newest).Raise(hash).bits_set;
    ++progress.added;
  }
  return progress;
}

size_t CountingFilter::AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal) {
  size_t done = 0;
  while (done < hashes.size()) {
    Node& node = Enter();
    const uint64_t room = node.link->Reserve(hashes.size() - done);
    const LinkProgress progress = AddEntered(node, hashes.subspan(done), outcomes.subspan(done), room);
    if (room != 0) node.link->Commit(room, progress);
    Leave();
    TellChanges(progress.added);
    done += progress.done;
    if (done == hashes.size()) break;

    if (!IsRefusal(refusal)) refusal = MakeRoom(&node);
    if (!IsRefusal(refusal)) continue;
    outcomes[done++] = refusal;
    if (refusal == AddOutcome::kFull) break;
  }
  return done;
}

bool CountingFilter::RemoveOne(const KeyHash& hash) {
  const StripeGuard guard(StripeOf(hash));
  CountingBloom* const holder = OldestHolder(hash);
  if (holder == nullptr) return false;
  const CounterChange change = holder->Lower(hash);
  holder->CountFill(change.bits_set);
  if (change.changed) holder->CountRemoved();
  return change.changed;
}

void CountingFilter::Remove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) {
  uint64_t changes = 0;
  for (size_t i = 0; i < hashes.size(); ++i) {
    removed[i] = RemoveOne(hashes[i]) ? 1 : 0;
    changes += removed[i];
  }
  TellChanges(changes);
}

void CountingFilter::Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const CountingBloom* const holder = OldestHolder(hashes[i]);
    counts[i] = holder == nullptr ? 0 : holder->Count(hashes[i]);
  }
}

}  // namespace bitsieve::core
