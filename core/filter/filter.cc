#include "core/filter/filter.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/base/change_meter.h"
#include "core/filter/change_history.h"
#include "core/filter/false_positive_codec.h"
#include "core/filter/filter_fold.h"

namespace bitsieve::core {

namespace {

constexpr size_t kChunk = ChangeListener::kMaxHashes;  // changed at a time

bool IsChange(AddOutcome outcome, bool repeats) {
  return outcome == AddOutcome::kAdded || outcome == AddOutcome::kRenewed ||
         (repeats && outcome == AddOutcome::kPresent);
}

// At most a chunk, so that a byte has room for the count: bytes are counted many at a time.
void CountChanges(std::span<const AddOutcome> outcomes, bool repeats) {
  static_assert(kChunk <= UINT8_MAX);
  uint8_t changes = 0;
  for (const AddOutcome outcome : outcomes)
    changes = static_cast<uint8_t>(changes + (IsChange(outcome, repeats) ? 1 : 0));
  if (changes != 0) ChangeMeter::Count(changes);
}

}  // namespace

// Neither is inlined: where GCC inlines only one of the two, it reports a mismatch.
[[gnu::noinline]] void* Filter::operator new(size_t bytes, Further further) {
  void* const block = ::operator new(NumbersBytes() + bytes + static_cast<size_t>(further));
  return static_cast<std::byte*>(block) + NumbersBytes();
}

[[gnu::noinline]] void Filter::operator delete(void* filter) {
  ::operator delete(static_cast<std::byte*>(filter) - NumbersBytes());
}

FilterParams Filter::params() const {
  FilterParams params = shared_->params;
  if (HasSeed(hash_)) params.seed = seed();
  return params;
}

Filter::~Filter() {
  if (passes_on_) [[unlikely]]
    FilterFold::Forget(*this);
  if (has_history_) [[unlikely]]
    ForgetHistoryOf(*this);
}

void Filter::HashOtherInto(KeyHash& hash, std::string_view item) const { HashItems({&item, 1}, {&hash, 1}); }

QuickAdd Filter::TryAddOne(const KeyHash&) noexcept { return QuickAdd::kDeclined; }

AddOutcome Filter::AddOneInGeneral(const KeyHash& hash) noexcept {
  AddOutcome outcome;
  Add({&hash, 1}, {&outcome, 1});
  return outcome;
}

size_t Filter::Add(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, const ItemTime& time) noexcept {
  {
    const LockGuard lock(writers_);
    if (!succeeded_) [[likely]] {
      const size_t done = AddHere(hashes, outcomes, time);
      if (passes_on_) [[unlikely]]
        PassOn(hashes.first(done), outcomes.first(done));
      return done;
    }
  }
  return FilterFold::SuccessorOf(*this)->Add(hashes, outcomes, time);
}

size_t Filter::AddHere(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, const ItemTime& time) noexcept {
  const bool repeats = capabilities().repeats;
  if (capabilities().expire) SetItemTime(time);
  size_t done = 0;
  while (done < hashes.size()) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    if (!ReserveReport(count)) {
      std::fill(outcomes.begin() + static_cast<ptrdiff_t>(done), outcomes.end(), AddOutcome::kOutOfMemory);
      return hashes.size();
    }
    const size_t added = DoAdd(hashes.subspan(done, count), outcomes.subspan(done, count));
    ReportAdded(hashes.subspan(done, added), outcomes.subspan(done, added), repeats, count);
    done += added;
    if (added < count || outcomes[done - 1] == AddOutcome::kFull) break;
  }
  return done;
}

void Filter::ReportAdded(std::span<const KeyHash> hashes, std::span<const AddOutcome> outcomes, bool repeats,
                         size_t reserved) noexcept {
  pristine_ = false;
  CountChanges(outcomes, repeats);
  if (!reports()) return;
  assert(hashes.size() <= kChunk);
  repeats |= united_ || unkept_rewrites_ != 0;
  std::array<uint8_t, kChunk> changed;
  for (size_t i = 0; i < hashes.size(); ++i) {
    changed[i] = IsChange(outcomes[i], repeats);
  }
  Notify(ChangeKind::kAdded, hashes, std::span(changed).first(hashes.size()), reserved);
}

size_t Filter::Remove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept {
  const LockGuard lock(writers_);
  for (size_t done = 0; done < hashes.size(); done += kChunk) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    if (!ReserveReport(count)) return done;
    const std::span<uint8_t> here = removed.subspan(done, count);
    DoRemove(hashes.subspan(done, count), here);
    pristine_ = false;
    ChangeMeter::Count(count - static_cast<size_t>(std::count(here.begin(), here.end(), uint8_t{0})));
    if (!reports()) continue;
    Notify(ChangeKind::kRemoved, hashes.subspan(done, count), here, count);
  }
  return hashes.size();
}

size_t Filter::Touch(std::span<const KeyHash> hashes, std::span<uint8_t> touched, const ItemTime& time) noexcept {
  const LockGuard lock(writers_);
  SetItemTime(time);
  for (size_t done = 0; done < hashes.size(); done += kChunk) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    if (!ReserveReport(count)) return done;
    const std::span<uint8_t> here = touched.subspan(done, count);
    DoTouch(hashes.subspan(done, count), here);
    ChangeMeter::Count(count - static_cast<size_t>(std::count(here.begin(), here.end(), uint8_t{0})));
    if (!reports()) continue;
    Notify(ChangeKind::kRenewed, hashes.subspan(done, count), here, count);
  }
  return hashes.size();
}

void Filter::PassOn(std::span<const KeyHash> hashes, std::span<const AddOutcome> outcomes) noexcept {
  std::array<KeyHash, kChunk> added;
  std::array<AddOutcome, kChunk> passed_on;
  const FilterPtr successor = FilterFold::SuccessorOf(*this);
  for (size_t done = 0; done < hashes.size(); done += kChunk) {
    size_t count = 0;
    for (size_t i = done; i < std::min(hashes.size(), done + kChunk); ++i) {
      if (outcomes[i] == AddOutcome::kAdded) added[count++] = hashes[i];
    }
    successor->Add(std::span(added).first(count), std::span(passed_on).first(count));
  }
}

// Until it is logged what the successor is, it reports every addition: in a log, they are additions to this filter.
void Filter::HandOverTo(Filter& successor) noexcept {
  FalsePositiveSlot* const mine = false_positives();
  FalsePositiveSlot* const its = successor.false_positives();
  if (mine != nullptr && mine->get() != nullptr && its != nullptr && its->get() == nullptr) its->Set(mine->get());
  if (keeps_numbers_) {
    successor.numbers().listener = std::exchange(numbers().listener, nullptr);
    successor.numbers().sequence = numbers().sequence;
    successor.numbers().id.store(id(), std::memory_order_relaxed);
  }
  successor.unkept_rewrites_ = unkept_rewrites_;
  successor.MarkUnited();
  succeeded_ = true;
}

void Filter::RecordFalsePositives(std::span<const KeyHash> hashes, std::span<RecordOutcome> outcomes) noexcept {
  {
    const LockGuard lock(writers_);
    if (!succeeded_) return RecordHere(hashes, outcomes);
  }
  FilterFold::SuccessorOf(*this)->RecordFalsePositives(hashes, outcomes);
}

void Filter::RecordHere(std::span<const KeyHash> hashes, std::span<RecordOutcome> outcomes) noexcept {
  for (size_t done = 0; done < hashes.size(); done += kChunk) {
    const size_t count = std::min(kChunk, hashes.size() - done);
    const std::span<RecordOutcome> here = outcomes.subspan(done, count);
    if (!ReserveReport(count)) {
      std::fill(outcomes.begin() + static_cast<ptrdiff_t>(done), outcomes.end(), RecordOutcome::kOutOfMemory);
      return;
    }
    std::array<uint8_t, kChunk> noted;
    for (size_t i = 0; i < count; ++i) {
      here[i] = RecordFalsePositive(hashes[done + i]);
      noted[i] = here[i] == RecordOutcome::kRecorded;
    }
    pristine_ = false;
    ChangeMeter::Count(static_cast<uint64_t>(std::ranges::count(here, RecordOutcome::kRecorded)));
    if (!reports()) continue;
    Notify(ChangeKind::kFalsePositives, hashes.subspan(done, count), std::span(noted).first(count), count);
  }
}

RecordOutcome Filter::RecordFalsePositive(const KeyHash& hash) noexcept {
  uint8_t present = 0;
  MayContain({&hash, 1}, {&present, 1});
  if (present == 0 || false_positives() == nullptr) return RecordOutcome::kNothing;
  return PutFalsePositive(hash);
}

RecordOutcome Filter::PutFalsePositive(const KeyHash& hash) noexcept {
  FalsePositiveSlot& slot = *false_positives();
  if (slot.get() == nullptr) {
    std::unique_ptr<FalsePositiveList> list = FalsePositiveList::Make(budget());
    if (list == nullptr) return RecordOutcome::kOutOfMemory;
    slot.Set(list.release());
  }
  return slot.get()->Add(hash);
}

std::vector<KeyHash> Filter::KnownFalsePositives() const {
  const LockGuard lock(writers_);
  const FalsePositiveSlot* const slot = false_positives();
  if (slot == nullptr || slot->get() == nullptr) return {};
  std::vector<KeyHash> hashes(slot->get()->size());
  slot->get()->CopyTo(hashes);
  return hashes;
}

void Filter::MarkChanged() {
  pristine_ = false;
  ChangeMeter::Count(1);
  if (has_history_) [[unlikely]]
    RestartHistory();
}

void Filter::Notify(ChangeKind kind, std::span<const KeyHash> hashes, std::span<const uint8_t> changed,
                    size_t reserved) noexcept {
  std::array<KeyHash, kChunk> changed_hashes;
  size_t count = 0;
  // Without a branch, since it would be unpredictable for random items.
  for (size_t i = 0; i < hashes.size(); ++i) {
    changed_hashes[count] = hashes[i];
    count += changed[i] != 0;
  }
  ChangeListener* const listener = this->listener();
  if (count == 0) {
    if (listener != nullptr) listener->Release(reserved);
    return;
  }
  const uint64_t time_ms = TimeOfChange();
  const bool lasts = kind == ChangeKind::kAdded || kind == ChangeKind::kRenewed;
  Change change{kind, 0, 0, time_ms, std::span(changed_hashes).first(count)};
  change.until_ms = time_ms != 0 && lasts ? UntilOfChange() : 0;
  if (has_history_) [[unlikely]]
    AddToHistory(change);
  if (listener == nullptr) return;
  change.filter_id = numbers().id;
  change.sequence = ++numbers().sequence;
  listener->OnChange(change, reserved);
}

void Filter::AddToHistory(const Change& change) noexcept {
  has_history_ = HistoryOf(*this)->Add(change);
  if (!has_history_) ForgetHistoryOf(*this);
}

void Filter::RestartHistory() noexcept {
  has_history_ = HistoryOf(*this)->Restart();
  if (!has_history_) ForgetHistoryOf(*this);
}

void Filter::SetHistory(std::shared_ptr<ChangeHistory> history) {
  const LockGuard lock(writers_);
  SetHistoryOf(*this, std::move(history));
  has_history_ = true;
}

std::shared_ptr<ChangeHistory> Filter::history() const {
  const LockGuard lock(writers_);
  if (!has_history_) return nullptr;
  std::shared_ptr<ChangeHistory> history = HistoryOf(*this);
  return history->has_ended() ? nullptr : history;
}

std::unique_ptr<FilterImage> Filter::CaptureAll(const ImagePool& pool) const {
  const FalsePositiveSlot* const slot = false_positives();
  if (slot == nullptr || slot->get() == nullptr || slot->get()->empty()) return DoCapture(pool);
  auto image = std::make_unique<FalsePositiveImage>(*slot->get());
  image->AddTo(DoCapture(pool));
  return image;
}

std::unique_ptr<FilterImage> Filter::Capture(const ImagePool& pool) const {
  const LockGuard lock(writers_);
  std::unique_ptr<FilterImage> image = CaptureAll(pool);
  image->sequence_ = keeps_numbers_ ? numbers().sequence : 0;
  image->change_count_ = ChangeCount();
  if (has_history_) image->position_ = HistoryOf(*this)->position();
  image->is_captured_ = true;
  return image;
}

std::unique_ptr<FilterImage> Filter::CaptureRewritten(const ImagePool& pool) {
  std::unique_ptr<FilterImage> image;  // outlives the lock, which it takes when it dies
  const LockGuard lock(writers_);
  image = CaptureAll(pool);
  image->is_captured_ = true;
  image->change_count_ = ChangeCount();
  if (ChangeListener* const listener = this->listener()) {
    if (!listener->Reserve(1)) throw std::bad_alloc();
    listener->OnChange({ChangeKind::kRewritten, numbers().id, ++numbers().sequence, 0, {}}, 1);
    // Other rewrites of a filter, such as compacting it, add no items that later additions would find present.
    const bool adds_items = united_ || unkept_rewrites_ != 0;
    united_ = false;
    if (adds_items && unkept_rewrites_ != kManyRewrites) ++unkept_rewrites_;
  }
  image->sequence_ = keeps_numbers_ ? numbers().sequence : 0;
  return image;
}

void Filter::ConfirmRewrite() {
  const LockGuard lock(writers_);
  if (unkept_rewrites_ != 0 && unkept_rewrites_ != kManyRewrites) --unkept_rewrites_;
}

void Filter::Attach(ChangeListener* listener, uint64_t id, uint64_t sequence) {
  const LockGuard lock(writers_);
  assert(keeps_numbers_ && "this process attaches no listener");
  if (!keeps_numbers_) return;
  numbers().listener = listener;
  numbers().id.store(id, std::memory_order_relaxed);
  numbers().sequence = sequence;
  united_ = false;
  unkept_rewrites_ = 0;
}

std::vector<SubFilterInfo> Filter::DescribeSubFilters() const {
  const FilterInfo info = Info();
  return {{info.size_bytes, info.size_bytes * 8, info.hash_functions, info.capacity, info.items,
           shared_params().error_rate}};
}

uint64_t Filter::sequence() const {
  const LockGuard lock(writers_);
  return keeps_numbers_ ? numbers().sequence : 0;
}

bool Filter::succeeded() const {
  const LockGuard lock(writers_);
  return succeeded_;
}

bool Filter::pristine() const {
  const LockGuard lock(writers_);
  return pristine_;
}

// Callers check capabilities() first. With assertions off, nothing is removed and nothing is counted.

void Filter::DoRemove(std::span<const KeyHash>, std::span<uint8_t> removed) noexcept {
  assert(capabilities().remove && "this type cannot remove items");
  std::fill(removed.begin(), removed.end(), uint8_t{0});
}

void Filter::DoTouch(std::span<const KeyHash>, std::span<uint8_t> touched) noexcept {
  assert(capabilities().expire && "items of this type do not expire");
  std::fill(touched.begin(), touched.end(), uint8_t{0});
}

void Filter::TimeToLive(std::span<const KeyHash>, std::span<int64_t> left_ms) const {
  assert(capabilities().expire && "items of this type do not expire");
  std::fill(left_ms.begin(), left_ms.end(), kNoTimeToLive);
}

void Filter::Count(std::span<const KeyHash>, std::span<uint64_t> counts) const {
  assert(capabilities().count && "this type cannot count items");
  std::fill(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace bitsieve::core
