// wire_errors.h: the error texts of BF.* and of what BF.* and CF.* have in common, and what error texts are made of;
// those of the options that only some filter types take are with the types (core::TypeOption). Texts that RedisBloom or
// Redis has are theirs to the letter, "ERR " or not, since clients match on them. Thread-safe: constants and pure
// functions.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/error_rates.h"
#include "core/filter/false_positive_list.h"
#include "core/filter/filter_params.h"
#include "core/filter/filter_type.h"

namespace bitsieve::commands::wire {

// A text of words and numbers that the compiler puts together.
class Composed {
 public:
  template <class... Parts>
  consteval explicit Composed(const Parts&... parts) {
    (Append(parts), ...);
  }
  constexpr operator std::string_view() const { return {bytes_, size_}; }  // NOLINT: a text like the others

 private:
  consteval void Append(std::string_view words) {
    for (const char c : words) bytes_[size_++] = c;
  }
  consteval void Append(uint64_t number) {
    if (number >= 10) Append(number / 10);
    bytes_[size_++] = static_cast<char>('0' + number % 10);
  }

  char bytes_[160] = {};
  size_t size_ = 0;
};

// Errors that are not particular to filters.
inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kArity = "ERR wrong number of arguments";  // ErrorOf() adds for which command
inline constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

// BF.*
inline constexpr std::string_view kNotFound = "ERR not found";
inline constexpr std::string_view kItemExists = "ERR item exists";
inline constexpr std::string_view kBadErrorRate = "ERR bad error rate";
// RedisBloom's text, then the range as core states it.
inline constexpr Composed kErrorRateRange{"ERR error rate must be in the range (0.000000, 1.000000): ",
                                          core::kErrorRates};
inline constexpr std::string_view kBadCapacity = "ERR bad capacity";
inline constexpr Composed kCapacityRange{"ERR capacity must be in the range [1, ", core::kMaxCapacity, "]"};
inline constexpr std::string_view kNoExpansion = "ERR no expansion";
inline constexpr std::string_view kBadExpansion = "ERR bad expansion";
inline constexpr std::string_view kNonscalingExpands = "Nonscaling filters cannot expand";
inline constexpr Composed kExpansionRange{"ERR expansion must be in the range [0, ", core::kMaxExpansion, "]"};
inline constexpr std::string_view kNoType = "ERR no type";
// Those of BF.LOAD are valkey-bloom's.
inline constexpr std::string_view kBusyKey = "BUSYKEY Target key name already exists.";
inline constexpr std::string_view kLoadFailed = "ERR bloom object decoding failed";
inline constexpr std::string_view kLoadUnsupported = "ERR bloom object decoding failed. Unsupported version";
inline constexpr std::string_view kNoSeed = "ERR no seed";
inline constexpr std::string_view kBadSeed =
    "ERR bad seed: it must be an integer in the range [0, 18446744073709551615], or for TYPE valkeybloom 32 bytes";
inline constexpr std::string_view kNoTightening = "ERR no tightening ratio";
inline constexpr std::string_view kBadTightening =
    "ERR bad tightening ratio: it must be a number in the range (0.000000, 1.000000)";
inline constexpr std::string_view kWindowFull = "ERR window is full: more than its capacity arrived within the window";
inline constexpr std::string_view kFull = "ERR non scaling filter is full";
inline constexpr std::string_view kFrozen =
    "ERR the filter is frozen: a ribbon filter accepts no items after BF.FREEZE";
inline constexpr std::string_view kBeingFrozen = "ERR the filter is being frozen: try again";
inline constexpr Composed kTooManyFalsePositives{"ERR too many false positives: a filter can record at most ",
                                                 core::FalsePositiveList::kMaxHashes};
inline constexpr std::string_view kCannotGrow =
    "ERR problem inserting into filter: it is full, and the error rate of another sub-filter would be too small";
inline constexpr std::string_view kInsertBadErrorRate = "Bad error rate";
inline constexpr std::string_view kInsertBadExpansion = "Bad expansion";
inline constexpr std::string_view kInsertBadCapacity = "Bad capacity";
inline constexpr std::string_view kInsertUnknownArgument = "Unknown argument received";
inline constexpr std::string_view kBadItemTime =
    "ERR bad time of items: EX, PX and EXAT take a positive integer, and only one of them may be given";
inline constexpr std::string_view kScanCursorNotNumeric = "Second argument must be numeric";
inline constexpr std::string_view kLoadCursorNotNumeric = "ERR Second argument must be numeric";
inline constexpr std::string_view kBadData = "ERR received bad data";
inline constexpr std::string_view kInvalidOffset = "ERR invalid offset - no link found";
inline constexpr std::string_view kInvalidChunk = "ERR invalid chunk - Too big for current filter";
inline constexpr std::string_view kChunkNotNext =
    "ERR received bad data: this is not the next chunk; load the chunks in order";
inline constexpr std::string_view kNoSuchDump =
    "ERR no such dump: it has ended or timed out; begin again with iterator 0";
inline constexpr std::string_view kBadPosition =
    "ERR bad position: it must be one that BF.FOLLOW or BF.CHANGES returned";
inline constexpr std::string_view kBadChangeCount = "ERR bad count: it must be an integer in the range [1, 65536]";
inline constexpr std::string_view kGap =
    "GAP the changes since this position are not in memory: read the filter again with BF.FOLLOW";
inline constexpr std::string_view kTooManyDumps = "ERR too many dumps in progress: try again when another has ended";
inline constexpr std::string_view kTooManyLoads = "ERR too many loads in progress: try again when another has ended";
inline constexpr std::string_view kInvalidInformation = "Invalid information value";

// CF.*
inline constexpr std::string_view kWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

// Bytes of a client that an error may quote.
inline constexpr size_t kMaxQuotedBytes = 128;
inline std::string Joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}
inline std::string Quoted(std::string_view bytes) { return Joined({"'", bytes.substr(0, kMaxQuotedBytes), "'"}); }
// An error from core, such as one about an option of a filter type.
inline std::string Error(std::string_view reason) { return Joined({"ERR ", reason}); }
// Redis' text to the letter: clients look up that of AUTH as a whole.
inline std::string WrongArity(std::string_view command) {
  return Joined({"ERR wrong number of arguments for '", command, "' command"});
}
inline std::string CannotLog(std::string trouble) {
  std::ranges::replace_if(
      trouble, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');  // names may have any
  return Joined({"MISCONF Errors writing to the disk: ", trouble,
                 ". Commands that change data are refused until the disk can be written again; lookups still work. See "
                 "the server's log."});
}
inline std::string TooManyForQuota(std::string_view pattern, uint64_t there, uint64_t most) {
  return Joined({"QUOTA there are ", std::to_string(there), " filters with names like ", Quoted(pattern),
                 ", and the quota allows ", std::to_string(most), ": delete some, or raise the option quota"});
}
inline std::string TooLargeForQuota(std::string_view pattern, uint64_t used, uint64_t most) {
  return Joined({"QUOTA filters with names like ", Quoted(pattern), " take ", std::to_string(used),
                 " bytes, and the quota allows ", std::to_string(most),
                 " bytes: this command needs more than is left; delete some, or raise the option quota"});
}
// Returns the error of a command whose filter content could not be logged.
inline std::string NotLogged(const core::Error& error) {
  return error.code == core::ErrorCode::kOutOfMemory ? std::string(kOutOfMemory) : CannotLog(error.message);
}
inline std::string UnknownOption(std::string_view option) { return Joined({"ERR unknown option ", Quoted(option)}); }
inline std::string UnknownType(std::string_view type, std::string_view known) {
  return Joined({"ERR unknown type ", Quoted(type), ", must be one of: ", known});
}
inline std::string OptionOfTypes(std::string_view option, std::string_view types) {
  return Joined({"ERR ", option, " is for TYPE ", types, " only"});
}
inline std::string ExistsWithOther(std::string_view parameter, std::string_view its, std::string_view asked) {
  return Joined({"ERR item exists with a different ", parameter, ": it has ", its, ", not ", asked});
}
inline std::string CannotRemove(const core::FilterTypeRow& type) {
  return Error(core::CannotText(type, "remove items", [](const core::FilterTypeRow& row) { return row.can.remove; }));
}
inline std::string CannotDeny(const core::FilterTypeRow& type) {
  return Error(
      core::CannotText(type, "record false positives", [](const core::FilterTypeRow& row) { return row.can.deny; }));
}
inline std::string CannotFreeze(const core::FilterTypeRow& type) {
  return Error(core::CannotText(type, "be frozen", [](const core::FilterTypeRow& row) { return row.can.freeze; }));
}
inline std::string CannotCount(const core::FilterTypeRow& type) {
  return Error(core::CannotText(type, "count items", [](const core::FilterTypeRow& row) { return row.can.count; }));
}
inline std::string CannotExpire(const core::FilterTypeRow& type) {
  return Error(core::CannotText(type, "expire items", [](const core::FilterTypeRow& row) { return row.can.expire; }));
}
// Returns the error of a time that items cannot have: `from_now_ms` from now on.
inline std::string ItemTimeRange(int64_t from_now_ms, uint64_t ttl_ms) {
  return Joined({"ERR items cannot expire ", std::to_string(from_now_ms), " ms from now; the range is [1, ",
                 std::to_string(ttl_ms), "], up to the filter's TTL"});
}
inline std::string FilterRefused(std::string_view reason) { return Joined({"ERR could not create filter: ", reason}); }
inline std::string CannotUnite(std::string_view reason) { return Joined({"ERR cannot merge: ", reason}); }
inline std::string CannotFold(std::string_view reason) { return Joined({"ERR cannot fold: ", reason}); }
inline std::string BadData(std::string_view reason) { return Joined({kBadData, ": ", reason}); }
inline std::string DumpTooLarge(std::string_view bytes, std::string_view most) {
  return Joined({"ERR a dump of ", bytes, " bytes is too large for one reply, which is at most ", most,
                 " bytes: read it with BF.SCANDUMP"});
}

}  // namespace bitsieve::commands::wire
