#include "server/dispatch/command_guess.h"

#include <algorithm>
#include <cassert>
#include <cctype>

#include "core/base/edit_distance.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/wire_errors.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr size_t kLongestGuessed = 20;

// Commands of Redis on values that people try first.
constexpr std::string_view kValueCommands[] = {
    "append",  "decr",  "decrby", "get",    "getdel",        "getex",     "getset",      "hdel",       "hget",
    "hgetall", "hmget", "hmset",  "hset",   "incr",          "incrby",    "incrbyfloat", "lpop",       "lpush",
    "lrange",  "mget",  "mset",   "msetnx", "pfadd",         "pfcount",   "psetex",      "rpop",       "rpush",
    "sadd",    "scard", "set",    "setex",  "setnx",         "sismember", "smembers",    "smismember", "srem",
    "strlen",  "xadd",  "zadd",   "zrange", "zrangebyscore", "zrem",      "zscore"};
static_assert(std::ranges::is_sorted(kValueCommands));

std::string Changed(std::string_view text, int (*change)(int)) {
  std::string changed(text);
  std::ranges::transform(changed, changed.begin(),
                         [change](unsigned char byte) { return static_cast<char>(change(byte)); });
  return changed;
}

// The most similar name; empty if none is similar.
std::string_view Nearest(const CommandTable& table, const std::string& name) {
  if (name.empty() || name.size() > kLongestGuessed) return {};
  size_t most = core::FarthestGuess(name.size());
  std::string_view nearest;
  for (const CommandRow* row : table.rows()) {
    const size_t longer = std::max(name.size(), row->name.size()), shorter = std::min(name.size(), row->name.size());
    if (longer - shorter > most) continue;
    const size_t distance = core::EditDistance(name, row->name);
    if (distance > most) continue;
    assert(distance > 0 && "a name of the table is known");
    nearest = row->name;
    most = distance - 1;
  }
  return nearest;
}

std::string QuotedArguments(Arguments arguments) {
  std::string quoted;
  for (const std::string_view argument : arguments) {
    if (quoted.size() >= wire::kMaxQuotedBytes) break;
    quoted += wire::Quoted(argument.substr(0, wire::kMaxQuotedBytes - quoted.size())) + " ";
  }
  return quoted;
}

}  // namespace

std::string UnknownCommandError(const CommandTable& table, Arguments command) {
  const std::string name = Changed(command[0].substr(0, kLongestGuessed + 1), std::tolower);
  if (std::ranges::binary_search(kValueCommands, name)) return wire::CommandOnValues(command[0]);
  const std::string_view nearest = Nearest(table, name);
  if (!nearest.empty()) return wire::SimilarCommand(command[0], Changed(nearest, std::toupper));
  return wire::UnknownCommand(command[0], QuotedArguments(command.subspan(1)));
}

}  // namespace bitsieve::server
