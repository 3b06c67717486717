// filter_type.h: a filter type is one row: its number on disk, its name, how filters of it are made and read back, and
// all that differs from type to type. The rows are listed in core/families/filter_types.cc; each is defined in the
// folder of its family. Everything else reads the rows: factories, options, BF.INFO, the configuration, inspect, tests
// and the documentation.
// Thread-safe: constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/filter/own_params.h"

namespace bitsieve::core {

class Clock;
class Filter;
class FilterDecoder;
class MemoryBudget;
struct FilterInfo;
struct FilterParams;
struct KeyHash;
struct Forecast;
struct SubFilterInfo;

// Persisted: a number is never reused.
enum class FilterType : uint16_t {};

inline constexpr FilterType kDefaultFilterType{2};  // blocked
// Types whose filters are RedisBloom's, byte for byte.
inline constexpr FilterType kRedisCuckooType{5};
inline constexpr FilterType kRedisBloomType{7};
inline constexpr FilterType kValkeyBloomType{11};  // valkey-bloom's

// Names of the values that hold filters: RedisBloom's and valkey-bloom's, by which clients recognise them.
inline constexpr std::string_view kBloomValueName = "MBbloom--";
inline constexpr std::string_view kCuckooValueName = "MBbloomCF";
inline constexpr std::string_view kValkeyBloomValueName = "bloomfltr";

// Operations that filters of a type support beyond adding and lookups.
struct Capabilities {
  bool grow = true;  // beyond its capacity, if it is asked to
  bool remove = false;
  bool count = false;
  bool freeze = false;
  bool repeats = false;  // adding what is there already changes something, too
  bool forget = false;   // additions push out the oldest items: it never fills up
  bool deny = false;     // false positives that are known, BF.FPADD
  bool expire = false;   // each item has a time of its own, after which it is gone: BF.TTL, BF.TOUCH
};

// How a filter of a type may come to be.
struct Creation {
  bool by_reserve = true;   // BF.RESERVE and BF.INSERT may name it
  bool by_default = false;  // default-type may name it: it needs no option of its own
  bool any_hash = false;    // any of kHashKinds; the others have a hash function of their own
  // Any error rate in (0, 1), any capacity and any expansion; the others' are bounded by kMinErrorRate, kMaxErrorRate,
  // kMaxCapacity and kMaxExpansion.
  bool unbounded = false;
};

// An option of BF.RESERVE and BF.INSERT that only some types take.
struct TypeOption {
  std::string_view word;         // on the wire
  std::string_view value;        // what follows it in a syntax: "size"
  std::string_view noun;         // "number of iterations"
  std::string_view name = noun;  // in errors: "max iterations"
  std::string_view notes = {};   // sentences for the documentation, beyond range and default
  // The parameter that is its value. Null: not one number, then it has `read`, `text` and perhaps `default_text`.
  const OwnParam* param = nullptr;
  // The message of kInvalidArgument names what would be right.
  Status (*read)(std::string_view text, FilterParams& params) = nullptr;
  std::string (*text)(const FilterParams& params) = nullptr;  // of the value
  std::string_view default_text = {};                         // empty: it must be given

  // Read the value into `params`, and return it as text.
  Status Read(std::string_view text, FilterParams& params) const;
  std::string Text(const FilterParams& params) const;
};

// The options that BF.RESERVE or BF.INSERT stated beyond a type's own.
struct StatedOptions {
  bool capacity = false;
  bool expansion = false;  // other than 0
  bool seed = false;
  bool tightening = false;
  bool nonscaling = false;
  uint32_t overridden_expansion = 0;  // that NONSCALING took the place of
};

// How filters of a type are united: filter_union.h describes the functions, whose filters are all of the type.
struct UnionOperations {
  Result<double> (*estimate)(std::span<const Filter* const> filters);
  Result<std::unique_ptr<Filter>> (*make)(std::span<const Filter* const> filters, MemoryBudget& budget,
                                          const Clock& clock);
  Status (*into)(Filter& destination, std::span<const Filter* const> sources);
};

// The size that a filter is folded to.
struct FoldTarget {
  uint64_t capacity;
  const Filter* like = nullptr;  // null: as small as the capacity allows; else the size of this one, of that capacity
};

// A size that a filter can be folded to.
struct FoldStep {
  uint64_t divisor;     // of its size
  uint64_t capacity;    // the largest that keeps the error rate
  uint64_t size_bytes;  // then
};

// How the filters of a type are folded (filter_fold.h).
struct FoldOperations {
  // Makes an empty filter for the target, with the same parameters otherwise. kInvalidArgument, with what would be
  // right, if that cannot be; kOutOfMemory.
  Result<std::unique_ptr<Filter>> (*make)(const Filter& from, const FoldTarget& target, MemoryBudget& budget);
  // Returns the sizes that a filter of these parameters can be folded to, the largest first, down to the capacity
  // `smallest`. `bits` describes its only sub-filter. kInvalidArgument says why it cannot be folded.
  Result<std::vector<FoldStep>> (*steps)(const FilterParams& params, const SubFilterInfo& bits, uint64_t smallest);
  // Returns whether `from` can be folded to the size of another filter, of any type.
  bool (*folds_to)(const Filter& from, const Filter& other);
  // Copies to it what slices do not hold, and returns the number of slices; nothing is added to `from` meanwhile, so it
  // must be quick. Nothing if `from` has changed its form since `make`, which does not happen more than a few times.
  Result<std::optional<uint64_t>> (*begin)(const Filter& from, Filter& to);
  // Copies a slice. Takes well below a millisecond, unless the new filter is a thousand times smaller.
  void (*fold_slice)(const Filter& from, Filter& to, uint64_t index);
};

// A check of the item counts in RedisBloom's header. Neither value compares a count with the capacity of its sub-filter
// or with its set bits: RedisBloom's own counts may be wrong, and it keeps filters whose bits have not all arrived.
// They come in by RDB files and from masters, so that dumps and chunks of them must be readable, too.
enum class ItemCounts : uint8_t {
  kSummed,   // the total must be their sum, as RedisBloom requires of a client's header
  kDrifted,  // the total is ignored
};

// The form in which RedisBloom hands out filters of a type and takes them in: a header, and the bytes of the
// sub-filters end to end, oldest first, as a body.
struct RedisBloomForm {
  // Returns the header of the current content.
  std::string (*header)(const Filter& filter);
  // Returns the bytes of the body from `offset` on, as of now: at most `most`, none beyond the end of a sub-filter, and
  // none beyond the last.
  std::string (*read)(const Filter& filter, uint64_t offset, size_t most);
  // Puts bytes in place of those that `read` returns, as RedisBloom does when chunks arrive of a filter that is there.
  // False, and nothing done, if they are not all of one sub-filter.
  bool (*write)(Filter& filter, uint64_t offset, std::string_view bytes);
  // Opens a decoder of the body from a header of any of RedisBloom's versions. kCorrupt, kUnsupported or kOutOfMemory.
  // A cuckoo filter's items are counted in its body, whatever `counts` is.
  Result<std::unique_ptr<FilterDecoder>> (*open)(std::string_view header, ItemCounts counts, MemoryBudget& budget);
};

using InfoValue = std::variant<uint64_t, double, std::string>;
// A field of BF.INFO that only some types have.
struct InfoField {
  std::string_view selector;  // on the wire
  std::string_view label;
  std::string_view meaning;  // "the hash function": for the documentation
  // The parameter that it shows. Null: it has `value`.
  const OwnParam* param = nullptr;
  InfoValue (*value)(const Filter& filter, const FilterInfo& info) = nullptr;

  InfoValue Value(const Filter& filter, const FilterInfo& info) const;
};

// The summary that the header of a filter's image gives without the body.
struct ImageSummary {
  FilterType type = kDefaultFilterType;
  uint64_t capacity = 0;         // items, over all sub-filters; as in FilterInfo
  uint64_t items = 0;            // of a window, also those that time has taken since
  uint32_t false_positives = 0;  // that are known
};

// Returns the summary of a header that a type's decoder made of the fields, or the decoder's error. Header has
// Summary().
template <class Header>
Result<ImageSummary> SummaryOf(const Result<Header>& header) {
  if (!header) return tl::unexpected(header.error());
  return header->Summary();
}

// A seed of more than 64 bits, which a type keeps in own parameters of its filters. FilterParams::seed is then 0 in a
// filter; one that is not 0 is settled into such a seed.
struct OwnSeed {
  // Reads a seed other than a number; false if it is none.
  bool (*read)(std::string_view text, FilterParams& params);
  std::string (*text)(const FilterParams& params);  // for people
  void (*hash)(const FilterParams& params, std::span<const std::string_view> items, std::span<KeyHash> hashes);
};

struct FilterTypeRow {
  FilterType type;
  std::string_view name;     // as in TYPE name, default-type and BF.INFO
  std::string_view summary;  // one line for the documentation
  Capabilities can = {};
  Creation made = {};
  std::string_view value_name = kBloomValueName;  // which TYPE replies with
  std::span<const OwnParam> own_params = {};
  std::span<const TypeOption> options = {};
  std::span<const InfoField> info_fields = {};

  const OwnSeed* own_seed = nullptr;

  // Returns whether it holds what CF.* works on.
  bool is_cuckoo_value() const { return value_name == kCuckooValueName; }

  // Puts values that the type has of its own in the place of parameters that every type has, regardless of what was
  // asked for. Null: nothing.
  void (*settle)(FilterParams& params) = nullptr;
  // Called once all options are read: puts what follows from them into `params`. kInvalidArgument if they don't fit the
  // type. Null: nothing follows.
  Status (*settle_options)(const StatedOptions& stated, FilterParams& params) = nullptr;
  // Checks that filters of the parameters, which scale, can grow to so many items. kInvalidArgument. Null: the type
  // does not have VALIDATESCALETO.
  Status (*check_growth)(const FilterParams& params, uint64_t items) = nullptr;
  // kInvalidArgument names the first parameter that is out of its range. Those of own_params are in theirs.
  Status (*validate)(const FilterParams& params);
  // Makes an empty filter from valid parameters, as MakeFilter.
  Result<std::unique_ptr<Filter>> (*make)(const FilterParams& params, MemoryBudget& budget, const Clock& clock);
  // Opens a decoder from the fields of an image's header, as FilterDecoder::Open.
  Result<std::unique_ptr<FilterDecoder>> (*open)(std::string_view fields, MemoryBudget& budget, const Clock& clock);
  // Makes, from the same fields and the image's whole body, a filter for lookups in place, where the body lies. The
  // caller keeps the body as long as the filter, and 8 readable bytes before it and after it; its begin is aligned as
  // in a dump that is aligned to words of 64 bits. No more of the body is read than lookups need to be safe, so
  // FilterInfo::fill_ratio and EstimatedErrorRate hold only for the type ribbon. kCorrupt, kUnsupported or
  // kOutOfMemory. Null: the type does not support lookups in place.
  Result<std::unique_ptr<Filter>> (*map)(std::string_view fields, std::span<const std::byte> body,
                                         MemoryBudget& budget) = nullptr;
  // Summarizes an image from the same fields; kCorrupt or kUnsupported.
  Result<ImageSummary> (*summarize)(std::string_view fields);
  // Null: RedisBloom has no filters of the type, and a dump (filter_dump.h) is all that they can be handed out as.
  const RedisBloomForm* redisbloom_form = nullptr;
  // Forecasts a filter of valid parameters, as ForecastOf. Null: for types that BF.RESERVE does not make.
  Result<Forecast> (*forecast)(const FilterParams& params, uint64_t items) = nullptr;
  // Unites filters for BF.MERGE and BF.ESTIMATE. Null: they cannot be united.
  const UnionOperations* unite = nullptr;
  // Folds filters. Null: they cannot be folded.
  const FoldOperations* fold = nullptr;
  // Returns the name of the instruction set that lookups and additions use on this processor. Null: they use none in
  // particular.
  std::string_view (*kernel)() = nullptr;
};

// All rows, in the order of error texts and documentation.
std::span<const FilterTypeRow* const> FilterTypes();

// Null for an unknown type.
const FilterTypeRow* FindFilterType(FilterType type);
// Case-insensitive.
const FilterTypeRow* FindFilterType(std::string_view name);
// Returns the first row that fits; null if none does.
const FilterTypeRow* FindFilterType(bool (*fits)(const FilterTypeRow& row));
std::string_view FilterTypeName(FilterType type);  // "unknown" for an unknown type
// Returns "a cuckoo filter" or "an expiring filter".
std::string AFilterOf(const FilterTypeRow& type);

// "blocked, classic": for error texts and help.
std::string_view FilterTypeNames();
// Names of those that fit, joined.
std::string FilterTypeNames(std::string_view separator, bool (*fits)(const FilterTypeRow& row));
// Returns the error for a filter of `type`, which cannot do `what`. It names the types that can.
std::string CannotText(const FilterTypeRow& type, std::string_view what, bool (*can)(const FilterTypeRow& row));

}  // namespace bitsieve::core
