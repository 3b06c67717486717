#include "core/filters/filter.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <mutex>

#include "core/base/change_meter.h"

namespace bitsieve::core {

namespace {

constexpr size_t kChunk = 64;  // changes told at a time

void CountChanges(std::span<const AddOutcome> outcomes, bool repeats) {
  auto changes = std::count(outcomes.begin(), outcomes.end(), AddOutcome::kAdded);
  if (repeats) changes += std::count(outcomes.begin(), outcomes.end(), AddOutcome::kPresent);
  if (changes != 0) ChangeMeter::Count(static_cast<uint64_t>(changes));
}

}  // namespace

size_t Filter::Add(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) {
  const bool repeats = capabilities().repeats;
  const std::lock_guard lock(writers_);
  const size_t done = DoAdd(hashes, outcomes);
  NoteAdded(hashes.first(done), outcomes.first(done), repeats);
  return done;
}

void Filter::NoteAdded(std::span<const KeyHash> hashes, std::span<const AddOutcome> outcomes, bool repeats) {
  pristine_ = false;
  CountChanges(outcomes, repeats);
  if (listener_ == nullptr) return;
  std::array<uint8_t, kChunk> changed;
  for (size_t begin = 0; begin < hashes.size(); begin += kChunk) {
    const size_t count = std::min(kChunk, hashes.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const AddOutcome outcome = outcomes[begin + i];
      changed[i] = outcome == AddOutcome::kAdded || (repeats && outcome == AddOutcome::kPresent);
    }
    Tell(&ChangeListener::OnAdded, hashes.subspan(begin, count), std::span(changed).first(count));
  }
}

void Filter::Remove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) {
  const std::lock_guard lock(writers_);
  DoRemove(hashes, removed);
  pristine_ = false;
  ChangeMeter::Count(hashes.size() - static_cast<size_t>(std::count(removed.begin(), removed.end(), uint8_t{0})));
  if (listener_ == nullptr) return;
  for (size_t begin = 0; begin < hashes.size(); begin += kChunk) {
    const size_t count = std::min(kChunk, hashes.size() - begin);
    Tell(&ChangeListener::OnRemoved, hashes.subspan(begin, count), removed.subspan(begin, count));
  }
}

void Filter::NoteChanged() {
  pristine_ = false;
  ChangeMeter::Count(1);
}

void Filter::Tell(void (ChangeListener::*what)(const Change&), std::span<const KeyHash> hashes,
                  std::span<const uint8_t> changed) {
  std::array<KeyHash, kChunk> told;
  size_t count = 0;
  // Without a branch, which of random items nobody could foretell.
  for (size_t i = 0; i < hashes.size(); ++i) {
    told[count] = hashes[i];
    count += changed[i] != 0;
  }
  if (count == 0) return;
  (listener_->*what)({id_, ++sequence_, TimeOfChange(), std::span(told).first(count)});
}

std::unique_ptr<FilterImage> Filter::Capture(const ImagePool& pool) const {
  const std::lock_guard lock(writers_);
  std::unique_ptr<FilterImage> image = DoCapture(pool);
  image->sequence_ = sequence_;
  image->change_count_ = ChangeCount();
  return image;
}

void Filter::Attach(ChangeListener* listener, uint64_t id, uint64_t sequence) {
  const std::lock_guard lock(writers_);
  listener_ = listener;
  id_.store(id, std::memory_order_relaxed);
  sequence_ = sequence;
}

uint64_t Filter::sequence() const {
  const std::lock_guard lock(writers_);
  return sequence_;
}

bool Filter::pristine() const {
  const std::lock_guard lock(writers_);
  return pristine_;
}

// Callers ask capabilities() first. With assertions off, nothing is removed and nothing is counted.

void Filter::DoRemove(std::span<const KeyHash>, std::span<uint8_t> removed) {
  assert(capabilities().remove && "this kind cannot remove items");
  std::fill(removed.begin(), removed.end(), uint8_t{0});
}

void Filter::Count(std::span<const KeyHash>, std::span<uint64_t> counts) const {
  assert(capabilities().count && "this kind cannot count items");
  std::fill(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace bitsieve::core
