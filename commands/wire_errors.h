// wire_errors.h: every error text that commands put on the wire, except for those of the options that only some
// filter types take (core::TypeOption). Those of BF.* and of the commands that Redis has are
// theirs to the letter, "ERR " or not, since clients match on them. Thread-safe: constants and pure functions.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/error_rates.h"
#include "core/filter/false_positive_list.h"
#include "core/filter/filter_params.h"

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
inline constexpr std::string_view kSlowLogCount = "ERR count should be greater than or equal to -1";
inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kLoading = "LOADING Bitsieve is loading its filters into memory";
inline constexpr std::string_view kOtherQuota =
    "QUOTA the names count for different quotas: use COPY, and then delete the first";
inline constexpr std::string_view kOutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";

// BF.*
inline constexpr std::string_view kNotFound = "ERR not found";
inline constexpr std::string_view kItemExists = "ERR item exists";
inline constexpr std::string_view kBusyKey = "BUSYKEY Target key name already exists.";
inline constexpr std::string_view kPayloadDamaged = "ERR DUMP payload version or checksum are wrong";
inline constexpr std::string_view kInvalidTimeToLive = "ERR Invalid TTL value, must be >= 0";
inline constexpr std::string_view kInvalidIdleTime = "ERR Invalid IDLETIME value, must be >= 0";
inline constexpr std::string_view kInvalidFrequency = "ERR Invalid FREQ value, must be >= 0 and <= 255";
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
inline constexpr std::string_view kNoSeed = "ERR no seed";
inline constexpr std::string_view kBadSeed =
    "ERR bad seed: it must be an integer in the range [0, 18446744073709551615]";
inline constexpr std::string_view kNoTightening = "ERR no tightening ratio";
inline constexpr std::string_view kBadTightening =
    "ERR bad tightening ratio: it must be a number in the range (0.000000, 1.000000)";
inline constexpr std::string_view kWindowFull = "ERR window is full: more than its capacity arrived within the window";
inline constexpr std::string_view kFull = "ERR non scaling filter is full";
inline constexpr std::string_view kFrozen = "ERR the filter is frozen: a ribbon filter takes no items after BF.FREEZE";
inline constexpr std::string_view kBeingFrozen = "ERR the filter is just being frozen: try again";
inline constexpr Composed kTooManyFalsePositives{"ERR too many false positives: a filter can know ",
                                                 core::FalsePositiveList::kMostHashes};
inline constexpr std::string_view kCannotGrow =
    "ERR problem inserting into filter: it is full, and a further sub-filter's error rate would be too small to be "
    "kept";
inline constexpr std::string_view kInsertBadErrorRate = "Bad error rate";
inline constexpr std::string_view kInsertBadExpansion = "Bad expansion";
inline constexpr std::string_view kInsertBadCapacity = "Bad capacity";
inline constexpr std::string_view kInsertUnknownArgument = "Unknown argument received";
inline constexpr std::string_view kScanCursorNotNumeric = "Second argument must be numeric";
inline constexpr std::string_view kLoadCursorNotNumeric = "ERR Second argument must be numeric";
inline constexpr std::string_view kBadData = "ERR received bad data";
inline constexpr std::string_view kInvalidOffset = "ERR invalid offset - no link found";
inline constexpr std::string_view kInvalidChunk = "ERR invalid chunk - Too big for current filter";
inline constexpr std::string_view kChunkNotNext = "ERR received bad data: another chunk comes next";
inline constexpr std::string_view kNoSuchDump =
    "ERR no such dump: it has ended, or was left alone too long; begin again with iterator 0";
inline constexpr std::string_view kTooManyDumps = "ERR too many dumps in progress";
inline constexpr std::string_view kTooManyLoads = "ERR too many loads in progress";
inline constexpr std::string_view kInvalidInformation = "Invalid information value";

// CF.*
inline constexpr std::string_view kWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view kBadCuckooIterations = "Couldn't parse MAXITERATIONS";
inline constexpr Composed kMaxIterationsRange{"MAXITERATIONS: value must be in the range [1, ",
                                              core::kMaxRedisCuckooIterations, "]"};
inline constexpr std::string_view kBadCuckooBucketSize = "Couldn't parse BUCKETSIZE";
inline constexpr Composed kBucketSizeRange{"BUCKETSIZE: value must be in the range [1, ",
                                           core::kMaxRedisCuckooBucketSize, "]"};
inline constexpr std::string_view kBadCuckooExpansion = "Couldn't parse EXPANSION";
inline constexpr Composed kCuckooExpansionRange{"EXPANSION: value must be in the range [0, ", core::kMaxExpansion, "]"};
inline constexpr Composed kCuckooCapacityRange{"Capacity must be in the range [2 * BUCKETSIZE, ", core::kMaxCapacity,
                                               "]"};
inline constexpr Composed kCuckooInsertCapacityRange{"Capacity must be in the range [cf-bucket-size * 2, ",
                                                     core::kMaxCapacity, "]"};
inline constexpr std::string_view kNoMemoryForCuckoo = "ERR Insufficient memory to create filter";
inline constexpr std::string_view kNoMemoryForItem = "ERR Insufficient memory";
inline constexpr std::string_view kCuckooFull = "Filter is full";
inline constexpr std::string_view kMaxExpansionsReached = "Maximum expansions reached";
inline constexpr std::string_view kNothingToDelete = "Not found";
inline constexpr std::string_view kNothingToCompact = "Cuckoo filter was not found";
inline constexpr std::string_view kInvalidPosition = "Invalid position";
inline constexpr std::string_view kInvalidHeader = "Invalid header";
inline constexpr std::string_view kInvalidHeaderOf20 =
    "Invalid header: RedisBloom 2.0 wrote it, and hashed items otherwise than all later versions; let a later one load "
    "the filter and dump it anew";
inline constexpr std::string_view kHeaderRefused = "Couldn't create filter!";
inline constexpr std::string_view kChunkRefused = "Couldn't load chunk!";
inline constexpr std::string_view kTooManyCuckooLoads =
    "ERR too many filters are being loaded at once: load again when others are done";
inline constexpr std::string_view kCuckooNotReserved =
    "ERR a rediscuckoo filter has an error rate that cannot be chosen: make it with CF.RESERVE, CF.ADD or CF.INSERT";

// Keys.
inline constexpr std::string_view kNoSuchKey = "ERR no such key";
inline constexpr std::string_view kInvalidCursor = "ERR invalid cursor";
inline constexpr std::string_view kCopyToItself = "ERR source and destination objects are the same";
inline constexpr std::string_view kNoFrequencies =
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching "
    "between policies at runtime LRU and LFU data will take some time to adjust.";
inline constexpr std::string_view kTimeoutNotAnInteger = "ERR timeout is not an integer or out of range";
inline constexpr std::string_view kNegativeTimeout = "ERR timeout is negative";
inline constexpr std::string_view kLocalAcksRange = "ERR value is out of range, value must between 0 and 1";
inline constexpr std::string_view kNotPositive = "ERR value is out of range, must be positive";
inline constexpr std::string_view kWaitAofWithoutLog =
    "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
inline constexpr std::string_view kExpiryNxNotAlone =
    "ERR NX and XX, GT or LT options at the same time are not compatible";
inline constexpr std::string_view kExpiryGtAndLt = "ERR GT and LT options at the same time are not compatible";

// Connections.
inline constexpr std::string_view kDatabaseRange = "ERR DB index is out of range";
inline constexpr std::string_view kVersionNotAnInteger = "ERR Protocol version is not an integer or out of range";
inline constexpr std::string_view kVersionUnsupported = "NOPROTO unsupported protocol version";
inline constexpr std::string_view kWrongPassword = "WRONGPASS invalid username-password pair or user is disabled.";
inline constexpr std::string_view kNoPasswordConfigured =
    "ERR AUTH <password> called without any password configured for the default user. "
    "Are you sure your configuration is correct?";
inline constexpr std::string_view kNoAuth = "NOAUTH Authentication required.";
inline constexpr std::string_view kHelloNeedsAuth =
    "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
    "option can be used to authenticate the client and select the RESP protocol version at the same time";
inline constexpr std::string_view kDefaultUserStays = "ERR The 'default' user cannot be removed";
inline constexpr std::string_view kGeneratedBits =
    "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096";
inline constexpr std::string_view kBadClientName =
    "ERR Client names cannot contain spaces, newlines or special characters.";
inline constexpr std::string_view kLongClientName = "ERR Client names cannot be longer than 1024 bytes.";
inline constexpr std::string_view kInvalidClientId = "ERR Invalid client ID";
inline constexpr std::string_view kClientIdRange = "ERR client-id should be greater than 0";
inline constexpr std::string_view kMaxAge = "ERR maxage is not an integer or out of range";
inline constexpr std::string_view kNoSuchClient = "ERR No such client";
inline constexpr std::string_view kNoTracking =
    "ERR client tracking is not supported: there are no values of keys that a client could cache";
inline constexpr std::string_view kUnblockReason = "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR";
inline constexpr std::string_view kPauseMode = "ERR CLIENT PAUSE mode must be WRITE or ALL";

// Transactions.
inline constexpr std::string_view kNestedMulti = "ERR MULTI calls can not be nested";
inline constexpr std::string_view kExecWithoutMulti = "ERR EXEC without MULTI";
inline constexpr std::string_view kDiscardWithoutMulti = "ERR DISCARD without MULTI";
inline constexpr std::string_view kWatchInMulti = "ERR WATCH inside MULTI is not allowed";
inline constexpr std::string_view kExecAborted = "EXECABORT Transaction discarded because of previous errors.";
inline constexpr std::string_view kNotInMulti = "ERR Command not allowed inside a transaction";
inline constexpr std::string_view kQueueFull =
    "ERR the commands queued by MULTI exceed what one request may hold (max-request-bytes)";

// Channels.
inline constexpr std::string_view kNoShardInExec = "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client";

// SHUTDOWN.
inline constexpr std::string_view kNoShutdown = "ERR No shutdown in progress.";

// COMMAND.
inline constexpr std::string_view kInvalidCommand = "ERR Invalid command specified";
inline constexpr std::string_view kNoKeys = "ERR The command has no key arguments";
inline constexpr std::string_view kInvalidArgumentCount = "ERR Invalid number of arguments specified for command";

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
inline std::string NameTooLong(size_t bytes, size_t most) {
  return Joined({"ERR a name of ", std::to_string(bytes), " bytes is too long: at most ", std::to_string(most),
                 " are allowed (option max-name-bytes)"});
}
inline std::string ChannelTooLong(size_t bytes, size_t most) {
  return Joined({"ERR a channel of ", std::to_string(bytes), " bytes is too long: at most ", std::to_string(most),
                 " are allowed"});
}
inline std::string PatternTooLong(size_t bytes, size_t most) {
  return Joined({"ERR a pattern of ", std::to_string(bytes), " bytes is too long: at most ", std::to_string(most),
                 " are allowed (option max-pattern-bytes)"});
}
inline std::string TooManyWatched(size_t names, size_t bytes) {
  return Joined({"ERR too many watched names: a connection may watch ", std::to_string(names), " names, of ",
                 std::to_string(bytes >> 20), " MiB together"});
}
inline std::string TooManySubscriptions(size_t names, size_t bytes) {
  return Joined({"ERR too many subscriptions: a connection may have ", std::to_string(names),
                 " channels and patterns, of ", std::to_string(bytes >> 20), " MiB together"});
}
inline std::string CannotLog(std::string trouble) {
  std::ranges::replace_if(
      trouble, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');  // names may have any
  return Joined(
      {"MISCONF Errors writing to the disk: ", trouble,
       ". Commands that change something are refused until it is mended; reads go on. See the server's log."});
}
inline std::string TooManyForQuota(std::string_view pattern, uint64_t there, uint64_t most) {
  return Joined({"QUOTA at most ", std::to_string(most), " filters may have names like ", Quoted(pattern), ", and ",
                 std::to_string(there), " have: delete some, or raise the option quota"});
}
inline std::string TooLargeForQuota(std::string_view pattern, uint64_t used, uint64_t most) {
  return Joined({"QUOTA filters with names like ", Quoted(pattern), " may take ", std::to_string(most),
                 " bytes, and take ", std::to_string(used),
                 ": this needs more than is left; delete some, or raise the option quota"});
}
// Returns the error of a command whose filter content could not be logged.
inline std::string NotLogged(const core::Error& error) {
  return error.code == core::ErrorCode::kOutOfMemory ? std::string(kOutOfMemory) : CannotLog(error.message);
}
inline std::string UnknownCommand(std::string_view command, std::string_view quoted_arguments) {
  return Joined({"ERR unknown command ", Quoted(command), ", with args beginning with: ", quoted_arguments});
}
inline std::string SimilarCommand(std::string_view command, std::string_view similar) {
  return Joined({"ERR unknown command ", Quoted(command), ", did you mean ", similar, "?"});
}
inline std::string CommandOnValues(std::string_view command) {
  return Joined({"ERR unknown command ", Quoted(command),
                 ": this server holds filters, not values; add items with BF.ADD and look them up with BF.EXISTS"});
}
inline std::string UnknownSubcommand(std::string_view subcommand, std::string_view known) {
  return Joined({"ERR unknown subcommand ", Quoted(subcommand), ", must be one of: ", known});
}
inline std::string NotWhileSubscribed(std::string_view command) {
  return Joined({"ERR Can't execute '", command,
                 "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"});
}
inline std::string UnknownOption(std::string_view option) { return Joined({"ERR unknown option ", Quoted(option)}); }
inline std::string UnsupportedOption(std::string_view option) {
  return Joined({"ERR Unsupported option ", option.substr(0, kMaxQuotedBytes)});
}
inline std::string InvalidExpiry(std::string_view command) {
  return Joined({"ERR invalid expire time in '", command, "' command"});
}
inline std::string UnknownType(std::string_view type, std::string_view known) {
  return Joined({"ERR unknown type ", Quoted(type), ", must be one of: ", known});
}
inline std::string OptionOfTypes(std::string_view option, std::string_view types) {
  return Joined({"ERR ", option, " is for TYPE ", types, " only"});
}
inline std::string ExistsWithOther(std::string_view parameter, std::string_view its, std::string_view asked) {
  return Joined({"ERR item exists with another ", parameter, ": it has ", its, ", asked was ", asked});
}
inline std::string CannotRemove(std::string_view type) {
  return Joined({"ERR a ", type, " filter cannot remove items"});
}
inline std::string CannotDeny(std::string_view type) {
  return Joined({"ERR a ", type, " filter cannot note false positives"});
}
inline std::string CannotFreeze(std::string_view type) { return Joined({"ERR a ", type, " filter cannot be frozen"}); }
inline std::string CannotCount(std::string_view type) { return Joined({"ERR a ", type, " filter cannot count items"}); }
inline std::string FilterRefused(std::string_view reason) { return Joined({"ERR could not create filter: ", reason}); }
inline std::string CannotUnite(std::string_view reason) { return Joined({"ERR cannot unite: ", reason}); }
inline std::string BadData(std::string_view reason) { return Joined({kBadData, ": ", reason}); }
inline std::string BadPayload(std::string_view reason) { return Joined({"ERR Bad data format: ", reason}); }
inline std::string DumpTooLarge(std::string_view bytes, std::string_view most) {
  return Joined({"ERR a dump of ", bytes, " bytes is too large for one reply, which is at most ", most,
                 " bytes: read it with BF.SCANDUMP"});
}
inline std::string ExecAborted(std::string_view reason) {
  return Joined({"EXECABORT Transaction discarded because of: ", reason});
}
inline std::string HelloOption(std::string_view option) {
  return Joined({"ERR Syntax error in HELLO option ", Quoted(option)});
}
inline std::string UnrecognizedOption(std::string_view option) {
  return Joined({"ERR Unrecognized option ", Quoted(option)});
}
inline std::string BadClientInfo(std::string_view field) {
  return Joined({"ERR ", field, " cannot contain spaces, newlines or special characters."});
}
inline std::string UnknownClientType(std::string_view type) {
  return Joined({"ERR Unknown client type ", Quoted(type)});
}
inline std::string UserNotFound(std::string_view user) { return Joined({"ERR User ", Quoted(user), " not found"}); }
inline std::string CommandNotFound(std::string_view command) {
  return Joined({"ERR Command ", Quoted(command), " not found"});
}
inline std::string UnknownCategory(std::string_view name) { return Joined({"ERR Unknown category ", Quoted(name)}); }
// Both texts say what a user lacks. As an error of a command they get the prefix NOPERM; ACL DRYRUN's reply has none.
inline std::string MayNotRun(std::string_view user, std::string_view command) {
  return Joined({"User ", user, " has no permissions to run the ", Quoted(command), " command"});
}
inline std::string MayNotAccess(std::string_view user, std::string_view what, std::string_view name) {
  return Joined({"User ", user, " has no permissions to access the ", Quoted(name), " ", what});
}
inline std::string NoSuchUser(std::string_view user) { return Joined({"ERR No such user ", Quoted(user)}); }
inline std::string ConfigSetFailed(std::string_view option, std::string_view reason) {
  return Joined({"ERR CONFIG SET failed (possibly related to argument ", Quoted(option), ") - ", reason});
}
inline std::string ConfigRewriteFailed(std::string_view reason) { return Joined({"ERR ", reason}); }
inline std::string SaveFailed(std::string_view reason) { return Joined({"ERR snapshot failed: ", reason}); }

}  // namespace bitsieve::commands::wire
