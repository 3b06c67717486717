// filter.h: the one interface of every filter type. It works on hashes, in batches; it knows no strings, no names and
// no protocol. A filter answers "definitely not" or "probably yes", and has no false negatives.
//
// Threads: thread-safe. MayContain and Prefetch take no lock; Add and Remove exclude each other, a batch at a time. If
// many threads add the same new item at once, Add returns kAdded to exactly one of them. Once a call has returned, its
// effect is visible to every thread that learnt of it through any synchronisation (a socket is one).
//
// Changes are numbered: each batch that changes something is reported to a listener under the next number. An image
// knows the number of the last change it includes, so an image and the log together give every change exactly once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/change_meter.h"
#include "core/base/intrusive_ptr.h"
#include "core/base/memory_budget.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/spin_lock.h"
#include "core/filter/change.h"
#include "core/filter/change_position.h"
#include "core/filter/false_positive_list.h"
#include "core/filter/filter_params.h"
#include "core/filter/item_expiry.h"
#include "core/filter/quick_add.h"
#include "core/filter/shared_params.h"
#include "core/filter/use_counters.h"
#include "core/hash/key_hash.h"
#include "core/memory/image_part.h"
#include "core/memory/memory_source.h"

namespace bitsieve::core {

class ChangeHistory;
class Clock;
class Staging;

enum class AddOutcome : uint8_t {
  kPresent,      // probably there before: nothing changed, except that a type which counts has counted it again
  kAdded,        // new
  kRenewed,      // probably there before, and expires later now
  kFull,         // the filter does not grow and has no room left
  kOutOfMemory,  // it would have to grow, and the memory budget refuses
  kCannotGrow,   // it would have to grow, and its next sub-filter's error rate would be too small to keep
  kFrozen,       // the filter takes nothing any more
  kWindowFull,  // more than a window of time can hold arrived within it: forgetting in time would mean forgetting early
};

// Returns whether the item was refused, and nothing changed.
constexpr bool IsRefused(AddOutcome outcome) { return outcome > AddOutcome::kRenewed; }

// The state of a filter that forgets.
struct WindowInfo {
  uint32_t generations = 0;    // that are remembered
  uint64_t oldest_items = 0;   // items put since, and with, the oldest one remembered
  uint64_t oldest_age_ms = 0;  // since the oldest one remembered was seen; only for windows of time
};

// The state of a filter that collects items until it is frozen.
enum class FreezeState : uint8_t { kStaging, kBuilding, kFrozen };
struct FreezeInfo {
  FreezeState state = FreezeState::kStaging;
  uint32_t percent = 0;      // of the building that is done; 100 when frozen
  std::string failure = {};  // why the last building failed; empty if it did not
};

struct FilterInfo {
  uint64_t capacity = 0;  // items, over all sub-filters
  uint64_t size_bytes = 0;
  uint32_t sub_filters = 0;
  uint64_t items = 0;             // as ItemCount
  double fill_ratio = 0;          // set bits over bits (counters that are not 0 over counters), over all sub-filters
  uint32_t hash_functions = 0;    // bits set, or counters raised, per item in the newest sub-filter
  double bits_per_item = 0;       // bits of the sub-filters over capacity
  WindowInfo window = {};         // only for the type `window`
  uint32_t fingerprint_bits = 0;  // of the newest sub-filter; of types that keep fingerprints
  FreezeInfo freeze = {};         // only for the type `ribbon`
  uint32_t false_positives = 0;   // that are known; of the types that deny them
  ExpiryInfo expiry = {};         // of the types whose items expire
};

struct SubFilterInfo {
  uint64_t bytes = 0;
  uint64_t bits = 0;
  uint32_t hash_functions = 0;
  uint64_t capacity = 0;
  uint64_t items = 0;
  double error_rate = 0;
};

// A point-in-time image of a filter, to be written elsewhere: a self-describing header and a body of raw bytes, both as
// of the call to Capture, regardless of later changes. The filter outlives it. Thread-compatible.
class FilterImage {
 public:
  virtual ~FilterImage() = default;
  virtual const std::string& header() const = 0;
  virtual uint64_t body_bytes() const = 0;
  // Copies body bytes [offset, offset + out.size()), which lie within the body and after everything read before:
  // reading goes forward. Returns kOutOfMemory once there is no memory to keep what is about to change: the image is
  // then lost. That cannot happen with a patient pool (image_part.h).
  virtual Status Read(uint64_t offset, std::span<std::byte> out) = 0;

  // Return the filter's sequence() and ChangeCount() at the moment of the image.
  uint64_t sequence() const { return sequence_; }
  uint64_t change_count() const { return change_count_; }
  // Returns the position of the image in the filter's history; nowhere if the filter has none.
  const ChangePosition& position() const { return position_; }

 protected:
  // False while Capture fills it, with the lock of the filter's writers held.
  bool is_captured() const { return is_captured_; }

 private:
  friend class Filter;
  friend class FalsePositiveImage;
  bool is_captured_ = false;
  uint64_t sequence_ = 0;
  uint64_t change_count_ = 0;
  ChangePosition position_ = {};
};

class Filter : public OwnerCount {
 public:
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  virtual ~Filter();

  // Filters are made only by new. The numbers that Attach sets lie before the filter in the same block of memory: a
  // process that attaches no listener has no place for them (KeepNoNumbers). `further` bytes follow the object.
  enum class Further : size_t {};
  static void* operator new(size_t bytes) { return operator new (bytes, Further{}); }
  static void* operator new(size_t bytes, Further further);
  static void operator delete(void* filter);
  static void operator delete(void* filter, Further) { operator delete(filter); }  // if the constructor throws
  // For a process that calls Attach for no filter. To be called before the first filter is made.
  static void KeepNoNumbers() { keeps_numbers_ = false; }

  // Returns the parameters that the filter was made from, as a copy: all but the seed is shared with other filters.
  FilterParams params() const;
  KeyHash HashOf(std::string_view item) const {
    KeyHash hash;
    HashInto(hash, item);
    return hash;
  }
  // Does the same into memory, without the copy that a compiler may make of the result (HashItemInto).
  void HashInto(KeyHash& hash, std::string_view item) const {
    if (hash_ == HashKind::kXxh3) [[likely]]
      return HashItemInto(hash, item, seed());
    HashOtherInto(hash, item);
  }

  // Hashes each item, in order. The spans have equal lengths.
  void HashItems(std::span<const std::string_view> items, std::span<KeyHash> hashes) const {
    if (hash_ == HashKind::kValkeyBloom) return shared_->type.own_seed->hash(shared_params(), items, hashes);
    core::HashItems(hash_, items, seed(), hashes);
  }

  // Starts loading the cache lines that a lookup or add of these will touch. Only a hint; does nothing for a filter
  // so small that its lines are in the cache anyway, where a batch is faster without.
  void Prefetch(std::span<const KeyHash> hashes) const {
    if (beyond_cache_.load(std::memory_order_relaxed)) PrefetchLines(hashes);
  }

  // Does the same for a filter of any size, whose lines are not in the cache because many other ones were used since.
  void PrefetchCold(std::span<const KeyHash> hashes) const { PrefetchLines(hashes); }

  // Does what Prefetch does for an addition that follows at once, except for lines that it loads early enough itself.
  void PrefetchToAdd(std::span<const KeyHash> hashes) const {
    if (beyond_cache_.load(std::memory_order_relaxed)) PrefetchLinesToAdd(hashes);
  }

  // present[i] = 1 if hashes[i] is probably there, else 0. The spans have equal lengths.
  virtual void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const = 0;

  // Adds in order; outcomes[i] is the outcome of hashes[i]. Stops after the first kFull. Returns how many outcomes it
  // wrote. An item that is present is kPresent even in a full filter, unless the type stores repeated additions, too.
  // Never throws: an item for which memory is refused, be it for the filter or for its listener, is kOutOfMemory.
  //
  // In a filter whose items expire, they do so at `time`, and at the filter's own time to live at the latest; an item
  // that is present gets the later one of its time and this one, unless the filter does not renew.
  size_t Add(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, const ItemTime& time = {}) noexcept;

  // Adds one item as Add does. Where nothing receives changes, this is the shortest way for a program that adds items
  // one by one: a processor loads the memory of the next items while one waits for its own, but it looks ahead by only
  // some hundred instructions and stores, which the general way takes for one item.
  AddOutcome AddOne(const KeyHash& hash) noexcept {
    const QuickAdd quick = AddOneQuickly(hash);
    if (quick == QuickAdd::kDeclined) [[unlikely]]
      return AddOneInGeneral(hash);
    return quick == QuickAdd::kAdded ? AddOutcome::kAdded : AddOutcome::kPresent;
  }

  // Lets those items that are there expire at `time`, unless they expire later anyway. touched[i] = 1 for those that
  // are there, else 0. The filter's items expire; the spans have equal lengths. Returns how many of the items it
  // processed: fewer than all if the listener refuses further ones for want of memory.
  size_t Touch(std::span<const KeyHash> hashes, std::span<uint8_t> touched, const ItemTime& time = {}) noexcept;
  // Sets left_ms[i] to the time for which hashes[i] will be found, kNoTimeToLive if it is not. The filter's items
  // expire; the spans have equal lengths.
  virtual void TimeToLive(std::span<const KeyHash> hashes, std::span<int64_t> left_ms) const;
  // Returns the longest time for which an item is kept; 0 unless items expire.
  virtual uint64_t ttl_ms() const { return 0; }

  // Returns the part of a filter that collects items until it is frozen; null if this one does not.
  virtual Staging* staging() { return nullptr; }

  const FilterTypeRow& type() const { return shared_->type; }
  const Capabilities& capabilities() const { return shared_->type.can; }

  // Takes back one addition of each item, in order. removed[i] = 1 if that was done, else 0: the item is not there, or
  // its counters are saturated, and nothing changed. The filter can remove; the spans have equal lengths.
  //
  // An item that was never added, but that the filter believes present, is removed as any other: that takes something
  // from items that are there, which may then be missed. Only what was added may be removed.
  //
  // Returns how many of the items it processed: fewer than all if the listener refuses further ones for want of memory.
  size_t Remove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept;

  // Notes that these were never added: lookups deny them from now on, until they are added. The filter denies false
  // positives; the spans have equal lengths. An item that was added must not be noted: it would be missed.
  void RecordFalsePositives(std::span<const KeyHash> hashes, std::span<RecordOutcome> outcomes) noexcept;
  // Returns the false positives that are known now.
  std::vector<KeyHash> KnownFalsePositives() const;

  // Sets counts[i] to the number of additions of hashes[i], too high at times, too low only beyond a counter's largest
  // value. The filter can count; the spans have equal lengths.
  virtual void Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const;

  // Returns the items counted as newly added; for a type that can remove, additions less removals.
  virtual uint64_t ItemCount() const = 0;
  // Returns a count that grows with every change of content, so that equal counts mean equal content.
  virtual uint64_t ChangeCount() const = 0;
  virtual FilterInfo Info() const = 0;
  // Returns FilterInfo::size_bytes in constant time; for RedisBloom's Bloom type, in a few additions per sub-filter.
  virtual uint64_t size_bytes() const = 0;
  // Returns the process memory of the filter, with what the allocator rounds up; in constant time, or a few
  // additions per sub-filter.
  virtual uint64_t heap_bytes() const { return size_bytes(); }
  // Returns FilterInfo::sub_filters in constant time.
  virtual uint32_t SubFilters() const { return 1; }
  // Describes the sub-filters, oldest first. Types that do not distinguish them return one for all of them.
  virtual std::vector<SubFilterInfo> DescribeSubFilters() const;
  // Returns whether adding this many items touches pages of memory for the first time, several per item, and so takes
  // long.
  virtual bool TouchesFreshPages(uint64_t /*items*/) const { return false; }
  // Returns whether adding one more item takes no memory, as far as is known at once.
  virtual bool HasRoomForOne() const { return false; }
  // Returns whether the filter forgets by the clock, so that what it holds depends on when items were added.
  virtual bool ages() const { return false; }
  // Returns the error rate of a lookup now, worked out from what the filter holds; nothing if it is not known to within
  // a tenth. Takes up to some milliseconds for some filters, such as small ones made by RedisBloom.
  virtual std::optional<double> EstimatedErrorRate() const = 0;
  // Counts what commands did with the filter, unless it is so small that there is no place for the counters.
  void CountUse(uint64_t hits, uint64_t misses, uint64_t added) {
    if (UseCounters* const counters = use_counters()) counters->Count(hits, misses, added);
  }
  // Adds the use of a filter whose place this one takes.
  void TakeUseOf(const Filter& other) {
    const std::optional<FilterUse> use = other.Use();
    UseCounters* const counters = use_counters();
    if (use && counters != nullptr) counters->Add(*use);
  }
  // Returns the use since the filter was made or loaded; nothing if it is not counted.
  virtual std::optional<FilterUse> Use() const = 0;
  // Captures an image. Content that changes while the image is read is first copied to memory from `pool`; without one,
  // to memory of the filter's budget. Takes no longer for a large filter than for a small one.
  std::unique_ptr<FilterImage> Capture(const ImagePool& pool) const;
  std::unique_ptr<FilterImage> Capture() const { return Capture(ImagePool{budget(), Patience::kLose}); }
  // The same after a change by other means than Add and Remove, which gets its number here; the listener is notified.
  // The caller stores the image where the changes are kept, and then calls ConfirmRewrite. If it throws
  // std::bad_alloc, the listener was not notified.
  std::unique_ptr<FilterImage> CaptureRewritten(const ImagePool& pool);
  void ConfirmRewrite();

  // From now on `listener` (null: none) receives every change; the next one's number is `sequence` + 1. The listener
  // outlives the filter, or is replaced before it ends.
  void Attach(ChangeListener* listener, uint64_t id, uint64_t sequence);
  // Returns the ID given to Attach; 0 before.
  uint64_t id() const { return keeps_numbers_ ? numbers().id.load(std::memory_order_relaxed) : 0; }
  // Returns the number of the last change.
  uint64_t sequence() const;
  // From now on `history` receives every change, too, until it ends; in place of one that was set before. Not null.
  void SetHistory(std::shared_ptr<ChangeHistory> history);
  // Returns the history that was set, if it has not ended; else null.
  std::shared_ptr<ChangeHistory> history() const;
  // Returns whether the filter is as MakeFilter(params()) makes it.
  bool pristine() const;
  // Returns whether a folded filter has taken this one's place (filter_fold.h).
  bool succeeded() const;

 protected:
  // The type of `params` is known.
  Filter(const FilterParams& params, MemoryBudget& budget)
      : hash_(params.hash), shared_(SharedParams::Of(params, budget)), seed_or_own_(params.seed) {
    if (keeps_numbers_) new (&numbers()) Numbers;
  }

  MemoryBudget& budget() const { return shared_->budget; }
  // Returns params(), except for the seed, which is 0.
  const FilterParams& shared_params() const { return shared_->params; }
  virtual void PrefetchLines(std::span<const KeyHash> hashes) const = 0;
  virtual void PrefetchLinesToAdd(std::span<const KeyHash> hashes) const { PrefetchLines(hashes); }
  // Returns null if there is no place to count.
  virtual UseCounters* use_counters() = 0;
  // Returns a word in which a type whose hash has no seed may keep what it likes.
  std::atomic<uint64_t>& own_word() { return seed_or_own_; }
  const std::atomic<uint64_t>& own_word() const { return seed_or_own_; }
  // Returns the heap bytes of a block of memory that begins with the filter's numbers and holds `bytes` further bytes.
  static uint64_t BlockBytes(uint64_t bytes) { return core::BlockBytes(NumbersBytes() + bytes); }
  // To be called whenever the size of the bits changes.
  void SetSizeBytes(uint64_t bytes) { beyond_cache_.store(bytes > kCachedBytes, std::memory_order_relaxed); }

  // Held while content is changed, a batch at a time, and for the moment in which an image opens or closes.
  SpinLock& writers() const BITSIEVE_RETURN_CAPABILITY(writers_) { return writers_; }

  // Implement Add, Remove and Capture. Adding and removing cannot throw, since what was done by then must be reported:
  // code in them that allocates turns a refusal into kOutOfMemory, and has then changed nothing.
  virtual size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept
      BITSIEVE_REQUIRES(writers_) = 0;
  // Adds one item if that takes neither growing nor keeping anything for an image. By default it declines.
  virtual QuickAdd TryAddOne(const KeyHash& hash) noexcept BITSIEVE_REQUIRES(writers_);
  virtual void DoRemove(std::span<const KeyHash> hashes, std::span<uint8_t> removed) noexcept
      BITSIEVE_REQUIRES(writers_);
  virtual void DoTouch(std::span<const KeyHash> hashes, std::span<uint8_t> touched) noexcept
      BITSIEVE_REQUIRES(writers_);
  virtual std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const BITSIEVE_REQUIRES(writers_) = 0;
  // Sets when the items of the additions and renewals that follow expire, for the types whose items do.
  virtual void SetItemTime(const ItemTime& /*time*/) BITSIEVE_REQUIRES(writers_) {}
  // Returns where the list of known false positives belongs, for types that deny them. Null: there is no place for one
  // yet.
  virtual FalsePositiveSlot* false_positives() const { return nullptr; }
  // Notes one false positive. By default it is noted if lookups find it, since they can be wrong.
  virtual RecordOutcome RecordFalsePositive(const KeyHash& hash) noexcept BITSIEVE_REQUIRES(writers_);
  // Puts a hash that is not there on that list. There is a place for the list.
  RecordOutcome PutFalsePositive(const KeyHash& hash) noexcept BITSIEVE_REQUIRES(writers_);
  // Returns the time of the latest DoAdd, DoRemove or DoTouch, by the type's clock. A replay sets the clock to it.
  virtual uint64_t TimeOfChange() const BITSIEVE_REQUIRES(writers_) { return 0; }
  // Returns when the items of the latest DoAdd or DoTouch expire; 0 for types whose items do not.
  virtual uint64_t UntilOfChange() const BITSIEVE_REQUIRES(writers_) { return 0; }

  // For a change by other means than Add and Remove. The caller must notify the listener.
  void MarkChanged() BITSIEVE_REQUIRES(writers_);
  // The same if the change may have added items. Until an image that shows them is kept, every addition is reported to
  // the listener: one that changes nothing now would be missing if the change by other means were lost.
  void MarkUnited() BITSIEVE_REQUIRES(writers_) {
    MarkChanged();
    united_ = true;
  }
  // Called before and after an addition of at most kMaxHashes hashes: ReserveReport returns whether the report is sure
  // to be delivered, ReportAdded delivers it. `repeats`: kPresent is a change, too. `reserved`: how many hashes were
  // reserved.
  [[nodiscard]] bool ReserveReport(size_t hashes) noexcept BITSIEVE_REQUIRES(writers_) {
    ChangeListener* const listener = this->listener();
    return listener == nullptr || listener->Reserve(hashes);
  }
  void ReportAdded(std::span<const KeyHash> hashes, std::span<const AddOutcome> outcomes, bool repeats,
                   size_t reserved) noexcept BITSIEVE_REQUIRES(writers_);
  // Returns kOutOfMemory if make() cannot allocate, else what make() returns. Not analysed, since make() requires a
  // lock that belongs to its maker.
  template <class Make>
  static AddOutcome UnlessMemoryIsRefused(const Make& make) noexcept BITSIEVE_NO_THREAD_SAFETY_ANALYSIS {
    try {
      return make();
    } catch (const std::bad_alloc&) {
      return AddOutcome::kOutOfMemory;
    }
  }

  // Calls store(), which returns whether there was room, and grow() until there is. An addition whose search for room
  // is refused memory is refused: if it grew instead, a replay, which has the memory, would give other content.
  // `refusal` is kAdded at first; once growing failed, it says why, and growing is not tried again. Returns kAdded or
  // the refusal.
  template <class Store, class Grow>
  static AddOutcome StoreOrGrow(const Store& store, const Grow& grow,
                                AddOutcome& refusal) noexcept BITSIEVE_NO_THREAD_SAFETY_ANALYSIS {
    for (bool is_stored = false;;) {
      const auto search = [&]() BITSIEVE_NO_THREAD_SAFETY_ANALYSIS { return is_stored = store(), AddOutcome::kAdded; };
      const AddOutcome searched = UnlessMemoryIsRefused(search);
      if (is_stored || IsRefused(searched)) return searched;
      if (!IsRefused(refusal)) refusal = UnlessMemoryIsRefused(grow);
      if (IsRefused(refusal)) return refusal;
    }
  }

 private:
  // Half of the cache that a core of today's servers has for itself: requests and replies take their share. Measured:
  // with 1.2 MB prefetching saves a tenth to a fourth of the time; below, the loop over a batch hides the loading as
  // well.
  static constexpr uint64_t kCachedBytes = 512 << 10;

  friend void LetGo(const Filter* filter);
  friend class FilterFold;
  friend class WeakFilterPtr;
  friend class FalsePositiveDecoder;
  friend Result<std::unique_ptr<Filter>> MakeFilter(const FilterParams& params, MemoryBudget& budget,
                                                    const Clock& clock);

  size_t AddHere(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, const ItemTime& time) noexcept
      BITSIEVE_REQUIRES(writers_);
  QuickAdd AddOneQuickly(const KeyHash& hash) noexcept {
    const LockGuard lock(writers_);
    if (succeeded_ || passes_on_ || reports()) return QuickAdd::kDeclined;
    const QuickAdd quick = TryAddOne(hash);
    if (quick != QuickAdd::kAdded) return quick;
    pristine_ = false;
    ChangeMeter::Count(1);
    return quick;
  }
  void HashOtherInto(KeyHash& hash, std::string_view item) const;
  AddOutcome AddOneInGeneral(const KeyHash& hash) noexcept;
  void RecordHere(std::span<const KeyHash> hashes, std::span<RecordOutcome> outcomes) noexcept
      BITSIEVE_REQUIRES(writers_);
  // Adds what was new here to the filter that is being folded from this one.
  void PassOn(std::span<const KeyHash> hashes, std::span<const AddOutcome> outcomes) noexcept
      BITSIEVE_REQUIRES(writers_);
  // Lets the successor continue this filter's numbers and its list of known false positives.
  void HandOverTo(Filter& successor) noexcept BITSIEVE_REQUIRES(writers_, successor.writers_);

  std::unique_ptr<FilterImage> CaptureAll(const ImagePool& pool) const BITSIEVE_REQUIRES(writers_);

  // Returns whether anything receives changes.
  bool reports() const BITSIEVE_REQUIRES(writers_) { return has_history_ || listener() != nullptr; }
  // Adds the change to the history; forgets a history that has ended. `RestartHistory` does so for a rewrite.
  void AddToHistory(const Change& change) noexcept BITSIEVE_REQUIRES(writers_);
  void RestartHistory() noexcept BITSIEVE_REQUIRES(writers_);
  // Reports the hashes whose `changed` is not 0, if there are any.
  void Notify(ChangeKind kind, std::span<const KeyHash> hashes, std::span<const uint8_t> changed,
              size_t reserved) noexcept BITSIEVE_REQUIRES(writers_);

  static constexpr uint8_t kManyRewrites = UINT8_MAX;

  // The numbers of a filter that has a listener.
  struct Numbers {
    ChangeListener* listener = nullptr;
    uint64_t sequence = 0;
    std::atomic<uint64_t> id{0};  // relaxed: written under writers_, before the filter is known to others
  };
  static size_t NumbersBytes() { return keeps_numbers_ ? sizeof(Numbers) : 0; }
  Numbers& numbers() const {
    auto* const self = reinterpret_cast<std::byte*>(const_cast<Filter*>(this));
    return *reinterpret_cast<Numbers*>(self - sizeof(Numbers));
  }
  ChangeListener* listener() const BITSIEVE_REQUIRES(writers_) { return keeps_numbers_ ? numbers().listener : nullptr; }

  uint64_t seed() const { return seed_or_own_.load(std::memory_order_relaxed); }

  static inline bool keeps_numbers_ = true;

  // A server may hold millions of filters: the order leaves no gaps, together with the owners' count before and derived
  // classes after.
  const HashKind hash_;
  std::atomic<bool> beyond_cache_{true};  // relaxed: only a hint
  mutable SpinLock writers_;
  const IntrusivePtr<const SharedParams> shared_;
  std::atomic<uint64_t> seed_or_own_;  // constant if it is the seed
  bool pristine_ : 1 BITSIEVE_GUARDED_BY(writers_) = false;
  bool united_ : 1 BITSIEVE_GUARDED_BY(writers_) = false;     // since the last CaptureRewritten
  bool passes_on_ : 1 BITSIEVE_GUARDED_BY(writers_) = false;  // what is added, to a folded filter
  bool succeeded_ : 1 BITSIEVE_GUARDED_BY(writers_) = false;  // by that one
  bool has_history_ : 1 BITSIEVE_GUARDED_BY(writers_) = false;
  // Calls of CaptureRewritten, less those of ConfirmRewrite; once it is kManyRewrites, it stays.
  uint8_t unkept_rewrites_ BITSIEVE_GUARDED_BY(writers_) = 0;
  // Set if a WeakFilterPtr was ever made of the filter. Relaxed: ordered by the owners' count.
  mutable std::atomic<bool> is_watched_{false};
};

}  // namespace bitsieve::core
