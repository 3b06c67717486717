// wire_errors.h: the error texts of commands that are not run: who sent them may not, or not now, or they are none.
// Those that Redis has are its own to the letter, since clients match on them. Thread-safe: constants and pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "commands/wire_errors.h"

namespace bitsieve::server::wire {

using commands::wire::CannotLog;
using commands::wire::Joined;
using commands::wire::kMaxQuotedBytes;
using commands::wire::kOutOfMemory;
using commands::wire::Quoted;

inline constexpr std::string_view kLoading = "LOADING Bitsieve is loading its filters into memory";
inline constexpr std::string_view kNoAuth = "NOAUTH Authentication required.";
inline constexpr std::string_view kNotInMulti = "ERR Command not allowed inside a transaction";
inline constexpr std::string_view kQueueFull =
    "ERR the commands queued by MULTI exceed what one request may hold (max-request-bytes)";

inline std::string NameTooLong(size_t bytes, size_t most) {
  return Joined({"ERR a name of ", std::to_string(bytes), " bytes is too long: at most ", std::to_string(most),
                 " are allowed (option max-name-bytes)"});
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
inline std::string ExecAborted(std::string_view reason) {
  return Joined({"EXECABORT Transaction discarded because of: ", reason});
}
// Both texts say what a user lacks. As an error of a command they get the prefix NOPERM; ACL DRYRUN's reply has none.
inline std::string MayNotRun(std::string_view user, std::string_view command) {
  return Joined({"User ", user, " has no permissions to run the ", Quoted(command), " command"});
}
inline std::string MayNotAccess(std::string_view user, std::string_view what, std::string_view name) {
  return Joined({"User ", user, " has no permissions to access the ", Quoted(name), " ", what});
}

}  // namespace bitsieve::server::wire
