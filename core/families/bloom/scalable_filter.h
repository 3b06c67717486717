// scalable_filter.h: a chain of sub-filters, each a Bloom filter of fixed size; when the newest is full, a further one
// is put before it. A filter that does not grow is a chain of one sub-filter.
//
// Idea        Almeida, Baquero, Preguica, Hutchison, "Scalable Bloom Filters", 2007. The rates of the sub-filters add
//             up, so each gets a share of the requested rate (see FilterParams) and their sum stays below it.
// Growth      a new sub-filter has `expansion` times the capacity of the one before, and at least a quarter of the
//             capacity of all before it. The quarter matters only for small expansions: with EXPANSION 1 a chain would
//             otherwise grow by equal sub-filters without end, each lookup reading all of them and each sub-filter
//             needing more bits than the last.
// Operations  MayContain looks into the sub-filters, newest first. Add looks into the older ones, then adds to the
//             newest. Only the newest ever changes: a sub-filter is followed by a next one only when every place in it
//             is taken. So the answers of the older sub-filters are final. (CountingFilter, whose sub-filters lose
//             items too, documents the rule that replaces this one.)
// Limits      a sub-filter's own rate never goes below kMinSubFilterRate: then growing is refused (kCannotGrow). With
//             the default ratio that is after more than a hundred sub-filters.
// Small       a filter of a type that may (ChainType::begins_as_list), that grows, and whose first sub-filter would be
//             small, begins without sub-filters: it keeps the hashes of its items, and is never wrong. It takes bits
//             when the hashes would need more memory (kMaxListedBytes, HashList::kMaxHashes).
// Images      are exact: they show the moment of capture, even while writers continue.
// Threads     thread-safe; MayContain and Prefetch take no lock.
// Persisted   docs/formats/filter.md.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/reader_pins.h"
#include "core/families/bloom/hash_list.h"
#include "core/families/bloom/sub_filter.h"
#include "core/filter/chain.h"
#include "core/filter/filter.h"
#include "core/filter/forecast.h"

namespace bitsieve::core {

struct SubFilterRecord {
  SubFilterShape shape;
  uint64_t items;
};

class ScalableFilter;

// The properties of a chain on which a further sub-filter depends.
struct ChainEnd {
  const SubFilterShape& newest;
  uint32_t sub_filters;
  uint64_t total_capacity;
  uint64_t hash_functions;  // of all sub-filters
};

// The differences between the filter types that are such chains.
struct ChainType {
  FilterType type;
  const SubFilterLayout& layout;
  // Makes an empty filter of this chain type.
  std::unique_ptr<ScalableFilter> (*make_empty)(const FilterParams& params, MemoryBudget& budget);
  // Returns the shape of the first sub-filter; kInvalidArgument if none is possible.
  Result<SubFilterShape> (*first_shape)(const ChainType& type, const FilterParams& params);
  // Returns the shape of the sub-filter after the newest one; nothing if the filter cannot grow further.
  std::optional<SubFilterShape> (*next_shape)(const ChainType& type, const FilterParams& params, const ChainEnd& end);
  // Return what FilterInfo::size_bytes counts for the filter itself, and for a sub-filter.
  uint64_t (*own_bytes)(uint32_t sub_filters);
  uint64_t (*sub_filter_bytes)(const SubFilterShape& shape);
  bool begins_as_list = false;
  // Makes the filter that holds such a chain. Null: it is the filter.
  Result<std::unique_ptr<Filter>> (*made_of)(std::unique_ptr<ScalableFilter> chain, MemoryBudget& budget) = nullptr;
};

class ScalableFilter : public Filter {
 public:
  static constexpr double kMinSubFilterRate = 1e-15;

  ScalableFilter(const FilterParams& params, MemoryBudget& budget) : Filter(params, budget) {}
  ~ScalableFilter() override;

  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const ChainType& type, const FilterParams& params, MemoryBudget& budget);
  // Makes a filter from sub-filters that were read back, oldest first, at least one. The overhead of all of them is
  // taken from the budget.
  static Result<std::unique_ptr<Filter>> FromSubFilters(const ChainType& type, const FilterParams& params,
                                                        std::vector<std::unique_ptr<SubFilter>> sub_filters,
                                                        MemoryBudget& budget);
  // Does the same without ChainType::made_of.
  static Result<std::unique_ptr<ScalableFilter>> MakeChain(const ChainType& type, const FilterParams& params,
                                                           std::vector<std::unique_ptr<SubFilter>> sub_filters,
                                                           MemoryBudget& budget);
  // Makes a filter without sub-filters from the hashes that were read back.
  static Result<std::unique_ptr<Filter>> FromHashes(const ChainType& type, const FilterParams& params,
                                                    std::span<const KeyHash> hashes, MemoryBudget& budget);
  // Returns how many hashes a filter of these parameters keeps before it takes bits; 0 if it has bits from the start.
  static size_t ListRoom(const ChainType& type, const FilterParams& params);
  static Result<SubFilterShape> FirstShape(const ChainType& type, const FilterParams& params);
  static std::optional<SubFilterShape> NextShape(const ChainType& type, const FilterParams& params,
                                                 const ChainEnd& end);
  // Returns a forecast as core::ForecastOf does.
  static Result<Forecast> ForecastOf(const ChainType& type, const FilterParams& params, uint64_t items);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override { return ItemCount() + united() + ListChanges(); }
  FilterInfo Info() const override;
  uint64_t size_bytes() const override;
  uint64_t heap_bytes() const override;
  // A list of hashes counts as one.
  uint32_t SubFilters() const override { return std::max(chain_.size(), uint32_t{1}); }
  std::vector<SubFilterInfo> DescribeSubFilters() const override;
  bool TouchesFreshPages(uint64_t items) const override;
  bool HasRoomForOne() const override {
    const SubFilter* const newest = chain_.newest();
    return newest != nullptr && newest->Room() > 0;
  }
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override { return chain_.Use(); }

  // Returns the current sub-filters, oldest first; they live as long as the filter. A list of hashes has none.
  std::vector<const SubFilter*> AllSubFilters() const;
  // Returns the sub-filter that the filter would have if it took bits now, with `more` hashes. kOutOfMemory if the
  // budget refuses.
  Result<std::unique_ptr<SubFilter>> BitsOfList(std::span<const KeyHash> more) const;

  using Filter::budget;
  // Return the sub-filter that was made last, and the hashes of a list: null, and none, for the other form.
  const SubFilter* NewestSubFilter() const { return chain_.newest(); }
  std::vector<KeyHash> ListedHashes() const;

  // Makes an empty filter of the same chain type: with this sub-filter, or null for a list.
  Result<std::unique_ptr<Filter>> MakeAlike(const FilterParams& params, std::unique_ptr<SubFilter> first,
                                            MemoryBudget& budget) const;

  // Prepares a union with other filters before their bits are added: forgets some known false positives, and notes
  // others, unless the filter shows them, or there is no room or memory for them.
  void ChangeFalsePositives(std::span<const KeyHash> forgotten, std::span<const KeyHash> noted) noexcept;

  // Calls `unite` with the sub-filters, oldest first, while no other thread changes them, so it must be quick: it
  // unites a part. The number that it returns counts as changes of content. A filter without sub-filters takes bits
  // first; kOutOfMemory if the budget refuses.
  Status Unite(const std::function<Result<uint64_t>(std::span<SubFilter* const> sub_filters)>& unite);

  // Adds what `other` holds in some words of its memory to the sub-filter at `index`, 0 for the oldest, and counts the
  // bits. Lets waiting writers in first.
  void UniteSubFilter(size_t index, const SubFilter& other, WordRange words) noexcept;
  // Does the same with words of the oldest sub-filter, from `first` on, and counts items that they hold. The filter's
  // sub-filters are of bits.
  void OrIntoOldest(uint64_t first, std::span<const uint64_t> words, uint64_t items = 0) noexcept;

  // Return what is taken from the budget for the filter itself, and for each sub-filter besides its bits.
  static uint64_t OwnBytes();
  static uint64_t OverheadBytes();
  static uint64_t TotalBytes(const SubFilterShape& shape) { return shape.SizeBytes() + OverheadBytes(); }

 protected:
  virtual const ChainType& chain_type() const = 0;
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  void PrefetchLinesToAdd(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return chain_.use_counters(); }
  FalsePositiveSlot* false_positives() const override {
    SubFilter* const newest = chain_.newest();
    return newest == nullptr ? nullptr : &newest->false_positives();
  }

  // Returns null if there is none.
  const FalsePositiveList* false_positive_list() const {
    const SubFilter* const newest = chain_.newest();
    return newest == nullptr ? nullptr : newest->false_positives().get();
  }
  uint64_t ListChanges() const {
    const FalsePositiveList* const list = false_positive_list();
    return list == nullptr ? 0 : list->changes();
  }
  uint64_t united() const {
    return chain_.Sum([](const SubFilter& sub_filter) { return sub_filter.united(); });
  }
  static bool IsRefusal(AddOutcome outcome) { return outcome > AddOutcome::kAdded; }
  const Chain<SubFilter>& chain() const { return chain_; }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  // A type that overrides AddChunk overrides this function, too.
  QuickAdd TryAddOne(const KeyHash& hash) noexcept override BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());
  // Adds up to a chunk of hashes; returns how many outcomes it wrote. `refusal` is why growing failed in this call, if
  // it did.
  virtual size_t AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal)
      BITSIEVE_REQUIRES(writers());
  // Puts a further sub-filter before the newest, which is full. kAdded, or why not.
  AddOutcome MakeRoom() BITSIEVE_REQUIRES(writers());
  virtual std::string EncodeHeader(const std::vector<SubFilterRecord>& records) const;

 private:
  static Result<std::unique_ptr<ScalableFilter>> MakeWithout(const ChainType& type, const FilterParams& params,
                                                             MemoryBudget& budget);
  FilterInfo ListInfo() const;
  // Takes added hashes off the list of known false positives; one that changed nothing else counts as new.
  void TakeOffAdded(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept
      BITSIEVE_REQUIRES(writers());
  // Adds the first of the hashes, as long as there are no sub-filters; returns how many.
  size_t AddToList(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes, AddOutcome& refusal)
      BITSIEVE_REQUIRES(writers());
  AddOutcome AddToList(const KeyHash& hash) BITSIEVE_REQUIRES(writers());
  AddOutcome TurnIntoBits(std::span<const KeyHash> added) BITSIEVE_REQUIRES(writers());
  Status Append(std::unique_ptr<SubFilter> sub_filter) BITSIEVE_REQUIRES(writers());

  // A server may hold millions: the order leaves no gaps.
  mutable ReaderPins pins_;
  Chain<SubFilter> chain_;
  HashList list_;  // empty once there are sub-filters
};

}  // namespace bitsieve::core
