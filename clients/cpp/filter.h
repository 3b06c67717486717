// filter.h: a membership filter inside a program. It can be saved to a file and read back, or mapped from a file. It is
// the same filter as in the server, and its files are those that `bitsieve export` writes and `bitsieve import` and
// `bitsieve inspect` read.
//
// A lookup returns "definitely not added" or "probably added". There are no false negatives; the share of false
// positives is the requested error rate. Items are arbitrary bytes.
//
// Threads: thread-safe, except that no other call may run at the same time as Fold, Freeze, a move or the destructor.
// If many threads add one new item at once, exactly one of them gets true.
//
// Errors are values: a Result has either its value or an Error with a code and a message. The only exception that can
// be thrown is std::bad_alloc, by the C++ library.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace bitsieve {

using core::Error;
using core::ErrorCode;
using core::Result;
using core::Status;

/// The options of BF.RESERVE, with the same defaults and ranges.
struct FilterOptions {
  /// blocked, classic, counting, cuckoo, window, expiring, fingerprint, ribbon or redisbloom.
  std::string type = "blocked";
  /// The requested error rate, from 1e-9 to 0.25.
  double error_rate = 0.01;
  /// Number of items that the filter is made for, from 1 to 2^30.
  uint64_t capacity = 100;
  /// Capacity of a further sub-filter divided by that of the previous one; 0: the filter does not grow. The default is
  /// 2, or 0 for a type that never grows.
  std::optional<uint32_t> expansion = {};
  /// Error rate of each further sub-filter divided by that of the previous one, between 0 and 1. The default is 0.8.
  std::optional<double> tightening_ratio = {};
  /// Seed of the hash function. Filters can be merged only if their seeds are equal. The default is a random seed.
  std::optional<uint64_t> seed = {};
  /// Options of the type, in the words of BF.RESERVE: {{"HASH", "sip"}}, {{"BUCKETSIZE", "2"}}, {{"WINDOW", "24h"}},
  /// {{"TTL", "24h"}}.
  std::vector<std::pair<std::string, std::string>> type_options = {};
  /// Maximum number of bytes that the filter may take; 0: no limit.
  uint64_t memory_limit_bytes = 0;
};

/// The parameters and the state of a filter, as of one moment.
struct FilterDescription {
  /// Filter type, as in FilterOptions.
  std::string type = {};
  /// Requested error rate.
  double error_rate = 0;
  /// Number of items that all sub-filters together are made for.
  uint64_t capacity = 0;
  /// Number of items counted as new; for types that can remove items, additions minus removals.
  uint64_t items = 0;
  /// Size of the filter in bytes; for a mapped filter, that of its file.
  uint64_t size_bytes = 0;
  /// Number of sub-filters: 1, and one more for each time that the filter grew.
  uint32_t sub_filters = 0;
  /// Number of known false positives; types blocked, classic and ribbon can have some.
  uint32_t false_positives = 0;
  /// Seed of the hash function.
  uint64_t seed = 0;
  /// Whether the filter is mapped from a file, and therefore cannot change.
  bool is_mapped = false;
};

/// A filter. A filter that was moved from may only be assigned to or destroyed.
class Filter {
 public:
  /// Makes an empty filter.
  /// @return kInvalidArgument, with a message that names the first option that is out of its range, and the range;
  /// kOutOfMemory if memory is refused.
  static Result<Filter> Make(const FilterOptions& options);
  /// Reads a filter of any type from a file into memory, and verifies it. The filter does not depend on the file
  /// afterwards. The file must not be truncated during the call.
  /// @return kIo if the file cannot be read; kCorrupt if it is damaged or not a filter; kUnsupported if it is of a
  /// newer version; kOutOfMemory.
  static Result<Filter> Load(const std::string& path);
  /// Maps a file, in which items are then looked up in place: the mapping is read-only, nothing is copied, and all
  /// processes that map the file share its pages. Supports the types blocked, classic, counting, cuckoo, fingerprint,
  /// and ribbon once frozen; the error for another type names these.
  ///
  /// The file's lengths and fields are checked, but its bits are not read: even if they are damaged, no lookup reads
  /// outside the file. Verify() finds damaged bits. A forged file may make a lookup in a fingerprint filter slow. As
  /// long as the filter exists, the file must not be truncated or overwritten (this would end the process with SIGBUS,
  /// or change the results of lookups); to replace it, rename a new file over it, as Save does.
  /// @return the errors of Load.
  static Result<Filter> Map(const std::string& path);
  /// Reads a filter from the bytes of a dump, as a server's BF.DUMP and ToBytes return them.
  /// @return the errors of Load, except for kIo.
  static Result<Filter> FromBytes(std::string_view dump);

  /// Moves the other filter into this one.
  Filter(Filter&& other) noexcept;
  /// Moves the other filter into this one, and frees the filter that was here.
  Filter& operator=(Filter&& other) noexcept;
  /// Frees the filter, or ends the mapping.
  ~Filter();

  /// Adds an item.
  /// @return true if the item is new, false if it was probably there. kFull if the filter accepts no further items,
  /// kOutOfMemory if it had to grow and memory was refused, kUnsupported if it is mapped or frozen.
  Result<bool> Add(std::string_view item);
  /// Adds items in order, which is faster than one by one, since memory accesses overlap.
  /// @param items the items to add.
  /// @param added receives for each item 1 if it is new, else 0; of equal length.
  /// @return the first error, as of Add; items for which `added` is 1 were then added, and some of the others were not.
  Status Add(std::span<const std::string_view> items, std::span<uint8_t> added);
  /// Adds an item that expires after this time, which is at most the filter's TTL. If it was probably there, it expires
  /// at the later one of the two times, unless the filter has the option RENEW no.
  /// @return as Add above; kInvalidArgument if items cannot have this time, kUnsupported for a type whose items do not
  /// expire.
  Result<bool> Add(std::string_view item, std::chrono::milliseconds time_to_live);
  /// Adds items in order, all with the same time to live.
  /// @param items the items to add.
  /// @param added receives for each item 1 if it is new, else 0; of equal length.
  /// @param time_to_live the time after which they expire.
  /// @return the first error, as of Add for one item with a time.
  Status Add(std::span<const std::string_view> items, std::span<uint8_t> added, std::chrono::milliseconds time_to_live);

  /// Returns the time for which the item will be found: an epoch more than what is left of its own time at most, a
  /// fourteenth of the filter's TTL, or a 250th with the option EPOCHBITS 8.
  /// @return nothing if the item is not there. kUnsupported for a type whose items do not expire.
  Result<std::optional<std::chrono::milliseconds>> TimeToLive(std::string_view item) const;
  /// Lets the item, if it is there, expire a whole TTL of the filter from now.
  /// @return whether it was there. kUnsupported for a type whose items do not expire; kOutOfMemory.
  Result<bool> Touch(std::string_view item);

  /// Returns whether the item was probably added; false means that it definitely was not.
  bool MayContain(std::string_view item) const;
  /// Looks up items together, which is faster than one by one.
  /// @param items the items to look up.
  /// @param present receives for each item 1 if it was probably added, else 0; of equal length.
  void MayContain(std::span<const std::string_view> items, std::span<uint8_t> present) const;

  /// Removes one addition of the item. Remove only items that were added: removing another item that looks present can
  /// cause false negatives for items that were added.
  /// @return false if the item is not there. kUnsupported for a type that cannot remove, and if the filter is mapped.
  Result<bool> Remove(std::string_view item);
  /// Removes items in order.
  /// @param items the items to remove.
  /// @param removed receives for each item 1 if it was removed, else 0; of equal length.
  /// @return the first error, as of Remove for one item.
  Status Remove(std::span<const std::string_view> items, std::span<uint8_t> removed);

  /// Records the item as a known false positive: MayContain returns false for it until it is added. Record only items
  /// that were never added: an item that was added would be missed. Up to 65536 are stored exactly, and are saved with
  /// the filter.
  /// @return false if MayContain returns false anyway, except that a ribbon filter that is not frozen records every
  /// item that was not added. kFull if there are too many; kOutOfMemory; kUnsupported for a type without known false
  /// positives (blocked, classic and ribbon have them), and if the filter is mapped.
  Result<bool> RecordFalsePositive(std::string_view item);

  /// Returns how often the item was added minus how often it was removed; the number may be too high.
  /// @return kUnsupported for a type that cannot count.
  Result<uint64_t> Count(std::string_view item) const;

  /// Adds all items of the other filter. Both must have the same type, seed, error rate and capacity.
  /// @return kInvalidArgument, with a message that names what differs, or the type if it cannot be merged (blocked,
  /// classic and counting can); kUnsupported if this filter is mapped.
  Status Merge(const Filter& other);

  /// Makes the filter smaller, for `capacity` items, without losing any: for one that was made for more items than will
  /// come. The result is that of a filter of the new size to which the same items were added. Filters of the types
  /// blocked and classic that have not grown can be folded, if blocked from an error rate of 0.00025 on.
  /// @return kInvalidArgument, with a message that says what would be right, if the filter cannot be folded or holds
  /// more items; kUnsupported if it is mapped; kOutOfMemory: for a moment there are both.
  Status Fold(uint64_t capacity);

  /// Converts a ribbon filter that collects items into its smallest form, which accepts no further items. Does nothing
  /// if the filter is already frozen. Takes about a second for ten million items.
  /// @return kUnsupported for another type, and if the filter is mapped; kOutOfMemory.
  Status Freeze();

  /// Writes the filter, as it is at one moment during the call, to a file that appears under its name when it is
  /// complete and durable. An existing file is replaced in one step. Other threads may add items during the call.
  /// @return kIo, or kOutOfMemory if there was no memory for copies of what changed during the call.
  Status Save(const std::string& path) const;
  /// Returns the bytes that Save writes, for a server's BF.RESTORE and for FromBytes.
  /// @return kOutOfMemory, as for Save.
  Result<std::string> ToBytes() const;

  /// Reads the whole file of a mapped filter, which leaves it in the system's cache, and checks its checksum. All other
  /// filters were verified when they were read.
  /// @return kCorrupt if the file is damaged.
  Status Verify() const;

  /// Returns the parameters and the state of the filter.
  FilterDescription Describe() const;

 private:
  struct State;
  explicit Filter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;  // null after a move
};

}  // namespace bitsieve
