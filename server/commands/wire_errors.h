// wire_errors.h: the error texts of the commands in this folder. Those that Redis has are its own to the letter, since
// clients match on them. Thread-safe: constants and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "server/dispatch/wire_errors.h"

namespace bitsieve::server::wire {

using commands::wire::Error;
using commands::wire::kBusyKey;
using commands::wire::kSyntax;
using commands::wire::NotLogged;
using commands::wire::WrongArity;

inline constexpr std::string_view kSlowLogCount = "ERR count should be greater than or equal to -1";
inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kOtherQuota =
    "QUOTA the names count towards different quotas: use COPY, then delete the old name";

// Dumps.
inline constexpr std::string_view kPayloadDamaged = "ERR DUMP payload version or checksum are wrong";
inline constexpr std::string_view kInvalidTimeToLive = "ERR Invalid TTL value, must be >= 0";
inline constexpr std::string_view kInvalidIdleTime = "ERR Invalid IDLETIME value, must be >= 0";
inline constexpr std::string_view kInvalidFrequency = "ERR Invalid FREQ value, must be >= 0 and <= 255";

// Keys.
inline constexpr std::string_view kNoSuchKey = "ERR no such key";
inline constexpr std::string_view kInvalidCursor = "ERR invalid cursor";
inline constexpr std::string_view kCopyToItself = "ERR source and destination objects are the same";
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
inline constexpr std::string_view kPauseMode = "ERR CLIENT PAUSE mode must be WRITE or ALL";

// Transactions.
inline constexpr std::string_view kNestedMulti = "ERR MULTI calls can not be nested";
inline constexpr std::string_view kExecWithoutMulti = "ERR EXEC without MULTI";
inline constexpr std::string_view kDiscardWithoutMulti = "ERR DISCARD without MULTI";
inline constexpr std::string_view kWatchInMulti = "ERR WATCH inside MULTI is not allowed";
inline constexpr std::string_view kExecAborted = "EXECABORT Transaction discarded because of previous errors.";

// SHUTDOWN.
inline constexpr std::string_view kNoShutdown = "ERR No shutdown in progress.";

inline std::string ChannelTooLong(size_t bytes, size_t most) {
  return Joined({"ERR a channel of ", std::to_string(bytes), " bytes is too long: at most ", std::to_string(most),
                 " are allowed"});
}
inline std::string PatternTooLong(size_t bytes, size_t most) {
  return Joined({"ERR a pattern of ", std::to_string(bytes), " bytes is too long: at most ", std::to_string(most),
                 " are allowed (option max-pattern-bytes)"});
}
inline std::string TooManyWatched(size_t names, size_t bytes) {
  return Joined({"ERR too many watched names: a connection can watch at most ", std::to_string(names), " names, with ",
                 std::to_string(bytes >> 20), " MiB in total"});
}
inline std::string TooManySubscriptions(size_t names, size_t bytes) {
  return Joined({"ERR too many subscriptions: a connection can have at most ", std::to_string(names),
                 " channels and patterns, with ", std::to_string(bytes >> 20), " MiB in total"});
}
inline std::string UnsupportedOption(std::string_view option) {
  return Joined({"ERR Unsupported option ", option.substr(0, kMaxQuotedBytes)});
}
inline std::string InvalidExpiry(std::string_view command) {
  return Joined({"ERR invalid expire time in '", command, "' command"});
}
inline std::string BadPayload(std::string_view reason) { return Joined({"ERR Bad data format: ", reason}); }
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
inline std::string NoSuchUser(std::string_view user) { return Joined({"ERR No such user ", Quoted(user)}); }
inline std::string ConfigSetFailed(std::string_view option, std::string_view reason) {
  return Joined({"ERR CONFIG SET failed (possibly related to argument ", Quoted(option), ") - ", reason});
}
inline std::string ConfigRewriteFailed(std::string_view reason) { return Joined({"ERR ", reason}); }
inline std::string SaveFailed(std::string_view reason) { return Joined({"ERR snapshot failed: ", reason}); }

}  // namespace bitsieve::server::wire
