// filter.h: the one interface of every filter family. It works on hashes, in batches; it knows no strings, no names and
// no protocol. A filter answers "definitely not" or "probably yes", never a false "not".
//
// Threads: thread-safe. MayContain and Prefetch take no lock. Add tells kAdded to exactly one of many threads that add
// the same new item at the same time. What one thread was told is seen by every thread that learnt of it through any
// synchronisation (a socket is one).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/memory_budget.h"
#include "core/base/result.h"
#include "core/filters/filter_params.h"
#include "core/hash/key_hash.h"

namespace bitsieve::core {

enum class AddOutcome : uint8_t {
  kPresent,      // probably there before: nothing changed, but that a kind which counts has counted it once more
  kAdded,        // new
  kFull,         // the filter does not grow and has no room left
  kOutOfMemory,  // it would have to grow, and the memory budget refuses
  kCannotGrow,   // it would have to grow, and its next link's error rate would be too small to keep
  kWindowFull,  // more than a window of time can hold arrived within it: forgetting in time would mean forgetting early
};

// Of a filter that forgets.
struct WindowInfo {
  uint32_t generations = 0;    // that are remembered
  uint64_t oldest_items = 0;   // items put since, and with, the oldest one remembered
  uint64_t oldest_age_ms = 0;  // since the oldest one remembered was seen; windows of time alone
};

// What a kind can do beyond adding and answering.
struct Capabilities {
  bool remove = false;
  bool count = false;
};

struct FilterInfo {
  uint64_t capacity = 0;  // items, over all links
  uint64_t size_bytes = 0;
  uint32_t links = 0;
  uint64_t items = 0;               // as ItemCount
  double estimated_error_rate = 0;  // of a lookup now, worked out from the fill
  double fill_ratio = 0;            // set bits over bits (counters that are not 0 over counters), over all links
  uint32_t hash_functions = 0;      // bits set, or counters raised, per item in the newest link
  double bits_per_item = 0;         // bits of the links over capacity
  WindowInfo window = {};           // of the kind `window` alone
  uint32_t fingerprint_bits = 0;    // of the newest link; of kinds that keep fingerprints
};

// One moment's image of a filter, to be written elsewhere: a self-describing header and a body of raw bytes.
// Holds the filter alive? No: the caller does. Body bytes may already show items that were added after the capture,
// never miss one that was added before and not removed until the last byte was read, but for items that a window
// forgot in between. Thread-compatible.
class FilterImage {
 public:
  virtual ~FilterImage() = default;
  virtual const std::string& header() const = 0;
  virtual uint64_t body_bytes() const = 0;
  // Copies body bytes [offset, offset + out.size()), which lie within the body and behind all that was read before:
  // reading goes forward. kOutOfMemory once what changes meanwhile can no longer be kept: the image is lost then.
  virtual Status Read(uint64_t offset, std::span<std::byte> out) = 0;
};

class Filter {
 public:
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  virtual ~Filter() = default;

  const FilterParams& params() const { return params_; }
  KeyHash HashOf(std::string_view item) const {
    if (params_.hash == HashKind::kXxh3) [[likely]]
      return HashItem(item, params_.seed);
    return HashItem(params_.hash, item, params_.seed);
  }

  // Starts loading the cache lines that a lookup or add of this hash will touch. Only a hint; does nothing for a filter
  // so small that its lines are in the cache anyway, where a batch is faster without.
  void Prefetch(const KeyHash& hash) const {
    if (beyond_cache_.load(std::memory_order_relaxed)) PrefetchLines(hash);
  }

  // present[i] = 1 if hashes[i] is probably there, else 0. The spans have equal lengths.
  virtual void MayContain(std::span<const KeyHash> hashes, std::span<uint8_t> present) const = 0;

  // Adds in order; outcomes[i] tells of hashes[i]. Stops after the first kFull. Returns how many outcomes it wrote.
  // An item that is present is kPresent even in a full filter, unless the kind stores repeated additions, too.
  virtual size_t Add(std::span<const KeyHash> hashes, std::span<AddOutcome> outcomes) = 0;

  virtual Capabilities capabilities() const { return {}; }

  // Takes one addition of each item back, in order. removed[i] = 1 if that was done, else 0: the item is not there, or
  // its counters are saturated, and nothing changed. The filter can remove; the spans have equal lengths.
  //
  // An item that was never added, but that the filter believes present, is removed as any other: that takes something
  // from items that are there, which may then be missed. Only what was added may be removed.
  virtual void Remove(std::span<const KeyHash> hashes, std::span<uint8_t> removed);

  // counts[i]: how many additions of hashes[i] there are, too high at times, too low only beyond a counter's largest
  // value. The filter can count; the spans have equal lengths.
  virtual void Count(std::span<const KeyHash> hashes, std::span<uint64_t> counts) const;

  // Items counted as newly added; of a kind that can remove, additions less removals.
  virtual uint64_t ItemCount() const = 0;
  // Grows with every change of content, so that equal counts mean equal content.
  virtual uint64_t ChangeCount() const = 0;
  virtual FilterInfo Info() const = 0;
  // The filter must outlive the image.
  virtual std::unique_ptr<FilterImage> Capture() const = 0;

 protected:
  explicit Filter(const FilterParams& params) : params_(params) {}

  virtual void PrefetchLines(const KeyHash& hash) const = 0;
  // To be told whenever the bits change their size.
  void NoteSizeBytes(uint64_t bytes) { beyond_cache_.store(bytes > kCachedBytes, std::memory_order_relaxed); }

 private:
  // Measured: below, lines come fast enough for the loop over a batch to hide it, and prefetching doubles the time.
  static constexpr uint64_t kCachedBytes = 4 << 20;

  const FilterParams params_;
  std::atomic<bool> beyond_cache_{true};  // relaxed: only a hint
};

}  // namespace bitsieve::core
