// window_filter.h: a filter that forgets: "seen within the last n items", or "seen within the last T". What is inside
// of the window is always found; what was never added is found at the requested rate at most; what has left the window
// is forgotten a third of a window later at the latest.
//
// Idea        a ring of generations, each a blocked Bloom filter for a third of the window (kGenerations = G = 3).
//             Items go into the current one. When it is full (or, in a window of time, T/G old) the turn comes to the
//             next: the one that is no longer needed is cleared and becomes the current one.
//
//                 oldest                          current
//               [ n/3 full ] [ n/3 full ] [ n/3 full ] [ n/3 filling ]       remembered: n to n (1 + 1/G)
//                    ^ is the next current one
//
// Sightings   an add of an item that only an older generation holds answers "known" and puts it into the current one,
//             so that its time in the window counts from the last sighting. Such a put takes a place as a new item
//             does. So a window of n items holds at least the last n adds of any stream; and the last n distinct items
//             of a stream whose items do not come back, or come back soon.
// Time        a generation is over when its last item was seen more than T ago. Lookups see that themselves; nothing
//             need run for it. When more arrives than the window was made for, generations fill early and more of them
//             must stay: up to 2G are made, when they are needed. That is room for the capacity however it is spread
//             within T, and for up to twice as much. Beyond, adds are refused (kWindowFull): nothing is
//             forgotten early.
// Clock       is read once per batch. Time that goes backwards stands still until it has caught up: items are kept
//             longer, never shorter. A clock that was put forward by mistake makes items older than they are.
// Cost        bits per item of the window, of items / of time: 17.8 / 19.2 at 1%, 26.1 / 25.1 at 0.1%: 1.8 and 1.9
//             times a blocked filter of the window's size at 1%, less at lower rates. A lookup reads G + 1 generations.
//             No add does more than a few thousand bytes' work besides its own (generation.h).
// Rate        each generation has the share p / (G + 1) of the requested rate, p / 2G in windows of time: all of them
//             may be full at once, and the sum is p.
// Threads     thread-safe. MayContain and Prefetch take no lock; a lookup during which the turn changed looks again.
// Persisted   type 6; docs/formats/filter.md.
// References  Metwally, Agrawal, El Abbadi, "Duplicate Detection in Click Streams", 2005 (jumping windows of Bloom
//             filters); Shtul, Baquero, Almeida, "Age-Partitioned Bloom Filters", 2020, which this is smaller than.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/clock.h"
#include "core/families/window/generation.h"
#include "core/families/window/window_codec.h"
#include "core/filter/filter.h"
#include "core/filter/forecast.h"

namespace bitsieve::core {

class WindowFilter final : public Filter {
 public:
  // Makes a filter as MakeFilter does.
  static Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget, const Clock& clock);
  // Makes a filter from generations that were read back as the header describes them, oldest first.
  static Result<std::unique_ptr<Filter>> FromGenerations(const WindowHeader& header,
                                                         std::vector<std::unique_ptr<Generation>> generations,
                                                         MemoryBudget& budget, const Clock& clock);

  // Returns a forecast as core::ForecastOf does, for a window in which `items` items were seen, evenly spread.
  static Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items);

  void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const override;
  // Items put into the generations that are remembered; one that was put into several counts in each.
  uint64_t ItemCount() const override;
  uint64_t ChangeCount() const override { return changes_.load(std::memory_order_relaxed); }
  FilterInfo Info() const override;
  uint64_t size_bytes() const override;
  bool ages() const override;
  std::optional<double> EstimatedErrorRate() const override;
  std::optional<FilterUse> Use() const override {
    FilterUse use;
    use_.Collect(use);
    return use;
  }

 protected:
  void PrefetchLines(std::span<const KeyHash> hashes) const override;
  UseCounters* use_counters() override { return &use_; }
  size_t DoAdd(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) noexcept override
      BITSIEVE_REQUIRES(writers());
  std::unique_ptr<FilterImage> DoCapture(const ImagePool& pool) const override BITSIEVE_REQUIRES(writers());
  uint64_t TimeOfChange() const override BITSIEVE_REQUIRES(writers()) { return add_ms_; }

 private:
  WindowFilter(const FilterParams& params, const WindowShape& shape, MemoryBudget& budget, const Clock& clock,
               MemoryReservation overhead);

  uint64_t Now() const;
  bool IsRemembered(const Generation& generation, uint64_t now) const;
  std::span<const std::unique_ptr<Generation>> generations() const {
    return {generations_.data(), generation_count_.load(std::memory_order_acquire)};
  }
  Generation& Own(std::unique_ptr<Generation> generation) BITSIEVE_REQUIRES(writers());
  Status MakeMissing() BITSIEVE_REQUIRES(writers());

  // Adds all of the hashes at the time add_ms_.
  void AddChunk(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) BITSIEVE_REQUIRES(writers());
  // Stops before the first item for which there is no room.
  size_t AddToCurrent(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) BITSIEVE_REQUIRES(writers());
  void RecordSighting() BITSIEVE_REQUIRES(writers());
  bool TurnIsDue() const BITSIEVE_REQUIRES(writers());
  // The current generation, which is full or old, gives way. kAdded, or why not.
  AddOutcome Turn() BITSIEVE_REQUIRES(writers());
  // Returns a generation that is no longer needed, or a new one; null, and `refusal` set, if there is none.
  Generation* FindFree(AddOutcome& refusal) BITSIEVE_REQUIRES(writers());
  void Begin(Generation& generation) BITSIEVE_REQUIRES(writers());
  void BumpChangeCount(uint64_t changes) BITSIEVE_REQUIRES(writers()) {
    changes_.store(ChangeCount() + changes, std::memory_order_relaxed);
  }

  const WindowShape shape_;
  const Clock& clock_;
  const MemoryReservation overhead_;

  // Entries are written once, before generation_count_ is released; never freed while the filter lives.
  std::array<std::unique_ptr<Generation>, kMaxGenerations> generations_;
  std::atomic<uint32_t> generation_count_{0};
  Generation* current_ BITSIEVE_GUARDED_BY(writers()) = nullptr;
  uint64_t add_ms_ BITSIEVE_GUARDED_BY(writers()) = 0;  // when the writer began to add
  // Grows before anything else that a change of turn does, so that a lookup that saw any of it sees this too.
  std::atomic<uint64_t> turn_{0};
  std::atomic<uint64_t> newest_ms_{0};  // the time never goes back before this one; relaxed, as is changes_
  std::atomic<uint64_t> changes_{0};
  UseCounters use_;
};

}  // namespace bitsieve::core
