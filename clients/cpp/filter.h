// filter.h: a membership filter in a program of its own: made, filled, looked up, saved to a file and read back, or
// mapped from one. It is the server's filter, and its files are those that `bitsieve export` writes and
// `bitsieve import` and `bitsieve inspect` read.
//
// A filter answers "definitely not added" or "probably added". It has no false negatives; the share of false positives
// is the error rate that was requested. Items are bytes, whatever they mean.
//
// Threads: thread-safe, except that no other call may run beside Freeze, moving and destruction. If many threads add
// one new item at once, exactly one of them gets true.
//
// Errors are values: a Result has either its value or an Error with a code and a message. std::bad_alloc passes
// through where the C++ library throws it; nothing else is thrown.
#pragma once

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

/// What BF.RESERVE takes, with the same defaults and ranges.
struct FilterOptions {
  /// blocked, classic, counting, cuckoo, window, fingerprint, ribbon or redisbloom.
  std::string type = "blocked";
  /// Share of false positives that is requested, from 1e-9 to 0.25.
  double error_rate = 0.01;
  /// Items that the filter is made for, from 1 to 2^30.
  uint64_t capacity = 100;
  /// Capacity of a further sub-filter over that of the one before; 0: the filter does not grow. If not given, 2, and 0
  /// for a type that never grows.
  std::optional<uint32_t> expansion = {};
  /// How much smaller the share of the error rate is that each further sub-filter gets, between 0 and 1. If not given,
  /// 0.8.
  std::optional<double> tightening_ratio = {};
  /// Filters to be merged have the same seed. If not given, one that cannot be foreseen.
  std::optional<uint64_t> seed = {};
  /// Options of the type, by the words of BF.RESERVE: {{"HASH", "sip"}}, {{"BUCKETSIZE", "2"}}, {{"WINDOW", "24h"}}.
  std::vector<std::pair<std::string, std::string>> type_options = {};
  /// Most bytes that the filter may take; 0: no limit.
  uint64_t memory_limit_bytes = 0;
};

/// What a filter is and holds, as of one moment.
struct FilterDescription {
  /// As in FilterOptions.
  std::string type = {};
  /// As requested.
  double error_rate = 0;
  /// Items, over all sub-filters.
  uint64_t capacity = 0;
  /// Items counted as new; of a type that can remove, additions less removals.
  uint64_t items = 0;
  /// Bytes that it takes; of a mapped filter, of its file.
  uint64_t size_bytes = 0;
  /// 1, and one more for each time that it grew.
  uint32_t sub_filters = 0;
  /// That are known, of a filter of type blocked, classic or ribbon.
  uint32_t false_positives = 0;
  /// Of its hash function.
  uint64_t seed = 0;
  /// Whether it is mapped from a file, and so cannot change.
  bool is_mapped = false;
};

/// A filter. One that was moved from may only be assigned to or destroyed.
class Filter {
 public:
  /// An empty filter.
  /// @return kInvalidArgument names the first option that is out of its range, and the range; kOutOfMemory if the
  /// memory is refused.
  static Result<Filter> Make(const FilterOptions& options);
  /// A filter from a file, of any type: read whole, verified, and independent of the file from then on. The file must
  /// not be shortened during the call.
  /// @return kIo if the file cannot be read; kCorrupt if it is damaged or no filter; kUnsupported if it is of a newer
  /// version; kOutOfMemory.
  static Result<Filter> Load(const std::string& path);
  /// A filter to look items up in, in place: the file is mapped read-only, nothing is copied, and all processes that
  /// map it share its pages. Types blocked, classic, counting, cuckoo, fingerprint, and ribbon once frozen; the error
  /// for another type names these.
  ///
  /// The file's lengths and fields are checked, its bits are not read: whatever they are, no lookup leaves the file.
  /// Verify() finds damaged bits. A file that was forged may make a lookup in a fingerprint filter slow. As long as the
  /// filter lives the file must not be shortened or overwritten (that ends the process with SIGBUS, or changes
  /// answers); to replace it, rename a new file over it, as Save does.
  /// @return as Load.
  static Result<Filter> Map(const std::string& path);
  /// A filter from the bytes of a dump, as BF.DUMP of a server and ToBytes give them.
  /// @return as Load, except for kIo.
  static Result<Filter> FromBytes(std::string_view dump);

  /// Takes the other filter's place.
  Filter(Filter&& other) noexcept;
  /// Takes the other filter's place; what was here is freed.
  Filter& operator=(Filter&& other) noexcept;
  /// Frees it, or ends the mapping.
  ~Filter();

  /// Adds an item.
  /// @return true if it is new, false if it was probably there. kFull if the filter takes nothing further,
  /// kOutOfMemory if it would have to grow and is refused memory, kUnsupported if it is mapped or frozen.
  Result<bool> Add(std::string_view item);
  /// Adds items in order: faster than one by one, since their memory is loaded together.
  /// @param items what to add.
  /// @param added gets for each item 1 if it is new, else 0; of equal length.
  /// @return the first error, as Add's; then the items that `added` has as 1 were added, and some others were not.
  Status Add(std::span<const std::string_view> items, std::span<uint8_t> added);

  /// Whether the item was probably added; false: it definitely was not.
  bool MayContain(std::string_view item) const;
  /// Looks items up together: faster than one by one.
  /// @param items what to look up.
  /// @param present gets for each item 1 if it was probably added, else 0; of equal length.
  void MayContain(std::span<const std::string_view> items, std::span<uint8_t> present) const;

  /// Takes one addition of the item back. Only what was added may be removed: removing another item that is taken for
  /// present can make items be missed that were added.
  /// @return false if the item is not there. kUnsupported for a type that cannot remove, and if the filter is mapped.
  Result<bool> Remove(std::string_view item);
  /// The same for items in order.
  /// @param items what to remove.
  /// @param removed gets for each item 1 if it was removed, else 0; of equal length.
  /// @return as for one.
  Status Remove(std::span<const std::string_view> items, std::span<uint8_t> removed);

  /// Notes that the item is a false positive: MayContain is false for it from now on, until it is added. Only what was
  /// never added may be noted: an item that was added would be missed. Up to 65536 are kept, exactly, and saved with
  /// the filter.
  /// @return false if MayContain is false anyway, except that a ribbon filter notes whatever was not added until it is
  /// frozen. kFull if there are too many; kOutOfMemory; kUnsupported for a type that cannot note them (blocked, classic
  /// and ribbon can), and if the filter is mapped.
  Result<bool> RecordFalsePositive(std::string_view item);

  /// How often the item was added, less removals; too high at times.
  /// @return kUnsupported for a type that cannot count.
  Result<uint64_t> Count(std::string_view item) const;

  /// Adds all that the other filter holds. Both have the same type, seed, error rate and capacity.
  /// @return kInvalidArgument names what differs, or the type, if that cannot be merged (blocked, classic
  /// and counting can); kUnsupported if this filter is mapped.
  Status Merge(const Filter& other);

  /// Turns a ribbon filter that collects items into its smallest form, which takes no further ones. Does nothing if it
  /// is frozen already. Takes about a second for ten million items.
  /// @return kUnsupported for another type, and if the filter is mapped; kOutOfMemory.
  Status Freeze();

  /// Writes the filter, as it is at one moment of the call, to a file that appears under its name when it is whole and
  /// on the disk. A file that has the name is replaced in one step. Others may add meanwhile.
  /// @return kIo, or kOutOfMemory if what changed meanwhile could not be kept.
  Status Save(const std::string& path) const;
  /// The same bytes in memory, for BF.RESTORE of a server and FromBytes.
  /// @return kOutOfMemory as above.
  Result<std::string> ToBytes() const;

  /// Reads the whole file of a mapped filter, which leaves it in the system's cache, and checks its checksum. Any other
  /// filter was verified when it was read.
  /// @return kCorrupt if it is damaged.
  Status Verify() const;

  /// What it is and holds.
  FilterDescription Describe() const;

 private:
  struct State;
  explicit Filter(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;  // null after it was moved from
};

}  // namespace bitsieve
