// Rules are taken over from Redis, so that a command must have the categories that it has there: what +@all -@dangerous
// forbids in Redis may not run here. The facts are those of redis-server 7.0.15 (COMMAND, COMMAND INFO).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/auth/categories.h"
#include "server/commands/all_commands.h"

namespace bitsieve::server {

using namespace commands;

namespace {

struct RedisCommand {
  std::string_view name;
  std::string_view flags;  // of those in kFlags
  std::string_view categories;
};

constexpr RedisCommand kRedisCommands[] = {
    {"acl", "", "slow"},
    {"acl|cat", "", "slow"},
    {"acl|deluser", "admin", "admin slow dangerous"},
    {"acl|dryrun", "admin", "admin slow dangerous"},
    {"acl|genpass", "", "slow"},
    {"acl|getuser", "admin", "admin slow dangerous"},
    {"acl|help", "", "slow"},
    {"acl|list", "admin", "admin slow dangerous"},
    {"acl|load", "admin", "admin slow dangerous"},
    {"acl|log", "admin", "admin slow dangerous"},
    {"acl|save", "admin", "admin slow dangerous"},
    {"acl|setuser", "admin", "admin slow dangerous"},
    {"acl|users", "admin", "admin slow dangerous"},
    {"acl|whoami", "", "slow"},
    {"auth", "fast no_auth", "fast connection"},
    {"bgsave", "admin", "admin slow dangerous"},
    {"client", "", "slow"},
    {"client|getname", "", "slow connection"},
    {"client|help", "", "slow connection"},
    {"client|id", "", "slow connection"},
    {"client|info", "", "slow connection"},
    {"client|kill", "admin", "admin slow dangerous connection"},
    {"client|list", "admin", "admin slow dangerous connection"},
    {"client|no-evict", "admin", "admin slow dangerous connection"},
    {"client|pause", "admin", "admin slow dangerous connection"},
    {"client|reply", "", "slow connection"},
    {"client|setname", "", "slow connection"},
    {"client|tracking", "", "slow connection"},
    {"client|unpause", "admin", "admin slow dangerous connection"},
    {"command", "", "slow connection"},
    {"command|count", "", "slow connection"},
    {"command|docs", "", "slow connection"},
    {"command|help", "", "slow connection"},
    {"command|info", "", "slow connection"},
    {"command|list", "", "slow connection"},
    {"config", "", "slow"},
    {"config|get", "admin", "admin slow dangerous"},
    {"config|help", "", "slow"},
    {"config|resetstat", "admin", "admin slow dangerous"},
    {"config|rewrite", "admin", "admin slow dangerous"},
    {"config|set", "admin", "admin slow dangerous"},
    {"copy", "write denyoom", "keyspace write slow"},
    {"dbsize", "readonly fast", "keyspace read fast"},
    {"del", "write", "keyspace write slow"},
    {"discard", "fast", "fast transaction"},
    {"echo", "fast", "fast connection"},
    {"exec", "", "slow transaction"},
    {"exists", "readonly fast", "keyspace read fast"},
    {"expire", "write fast", "keyspace write fast"},
    {"expireat", "write fast", "keyspace write fast"},
    {"expiretime", "readonly fast", "keyspace read fast"},
    {"flushall", "write", "keyspace write slow dangerous"},
    {"flushdb", "write", "keyspace write slow dangerous"},
    {"hello", "fast no_auth", "fast connection"},
    {"info", "", "slow dangerous"},
    {"keys", "readonly", "keyspace read slow dangerous"},
    {"lastsave", "fast", "admin fast dangerous"},
    {"latency", "", "slow"},
    {"latency|help", "", "slow"},
    {"latency|histogram", "admin", "admin slow dangerous"},
    {"latency|latest", "admin", "admin slow dangerous"},
    {"latency|reset", "admin", "admin slow dangerous"},
    {"memory", "", "slow"},
    {"memory|help", "", "slow"},
    {"memory|purge", "", "slow"},
    {"memory|usage", "readonly", "read slow"},
    {"module", "", "slow"},
    {"module|help", "", "slow"},
    {"module|list", "admin", "admin slow dangerous"},
    {"monitor", "admin", "admin slow dangerous"},
    {"multi", "fast", "fast transaction"},
    {"persist", "write fast", "keyspace write fast"},
    {"pexpire", "write fast", "keyspace write fast"},
    {"pexpireat", "write fast", "keyspace write fast"},
    {"pexpiretime", "readonly fast", "keyspace read fast"},
    {"ping", "fast", "fast connection"},
    {"psubscribe", "", "pubsub slow"},
    {"pttl", "readonly fast", "keyspace read fast"},
    {"publish", "fast", "pubsub fast"},
    {"pubsub", "", "slow"},
    {"pubsub|channels", "", "pubsub slow"},
    {"pubsub|help", "", "slow"},
    {"pubsub|numpat", "", "pubsub slow"},
    {"pubsub|numsub", "", "pubsub slow"},
    {"punsubscribe", "", "pubsub slow"},
    {"quit", "fast no_auth", "fast connection"},
    {"randomkey", "readonly", "keyspace read slow"},
    {"rename", "write", "keyspace write slow"},
    {"renamenx", "write fast", "keyspace write fast"},
    {"reset", "fast no_auth", "fast connection"},
    {"restore", "write denyoom", "keyspace write slow dangerous"},
    {"save", "admin no_multi", "admin slow dangerous"},
    {"scan", "readonly", "keyspace read slow"},
    {"select", "fast", "fast connection"},
    {"shutdown", "admin no_multi", "admin slow dangerous"},
    {"slowlog", "", "slow"},
    {"slowlog|get", "admin", "admin slow dangerous"},
    {"slowlog|help", "", "slow"},
    {"slowlog|len", "admin", "admin slow dangerous"},
    {"slowlog|reset", "admin", "admin slow dangerous"},
    {"subscribe", "", "pubsub slow"},
    {"time", "fast", "fast"},
    {"touch", "readonly fast", "keyspace read fast"},
    {"ttl", "readonly fast", "keyspace read fast"},
    {"type", "readonly fast", "keyspace read fast"},
    {"unlink", "write fast", "keyspace write fast"},
    {"unsubscribe", "", "pubsub slow"},
    {"unwatch", "fast", "fast transaction"},
    {"watch", "fast", "fast transaction"},
};

constexpr std::array kFlags{
    std::pair{CommandFlag::kWrite, "write"},      std::pair{CommandFlag::kReadOnly, "readonly"},
    std::pair{CommandFlag::kDenyOom, "denyoom"},  std::pair{CommandFlag::kAdmin, "admin"},
    std::pair{CommandFlag::kFast, "fast"},        std::pair{CommandFlag::kNoAuth, "no_auth"},
    std::pair{CommandFlag::kNoMulti, "no_multi"},
};

// Within MULTI these would change how EXEC itself replies, or reply later than EXEC does.
constexpr std::string_view kNotWithinMulti[] = {"client|reply", "config|rewrite", "monitor"};

// Younger than 7.0; their categories are those of Redis 7.2.
constexpr RedisCommand kYoungerCommands[] = {
    {"client|setinfo", "", "slow connection"},
    {"waitaof", "", "slow blocking connection"},
};

const RedisCommand* FactsOf(std::string_view name) {
  for (const auto facts :
       {std::span<const RedisCommand>(kRedisCommands), std::span<const RedisCommand>(kYoungerCommands)}) {
    const auto found = std::ranges::find(facts, name, &RedisCommand::name);
    if (found != facts.end()) return &*found;
  }
  return nullptr;
}

std::string Joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string FlagsOf(const CommandRow& row) {
  std::vector<std::string_view> names;
  for (const auto& [flag, name] : kFlags) {
    if (flag == CommandFlag::kNoMulti && std::ranges::count(kNotWithinMulti, row.name) != 0) continue;
    if ((row.flags & flag) != 0) names.emplace_back(name);
  }
  return Joined(names);
}

TEST(RedisCategories, EveryCommandOfRedisHasThoseThatItHasThere) {
  for (const CommandRow& row : AllCommands().all_rows()) {
    const RedisCommand* const facts = FactsOf(row.name);
    if (facts == nullptr) continue;
    EXPECT_EQ(Joined(CategoriesOf(row)), facts->categories) << row.name;
    EXPECT_EQ(FlagsOf(row), facts->flags) << row.name;
  }
}

TEST(RedisCategories, TheTableHasEveryCommandThatIsNotOurOwn) {
  for (const CommandRow& row : AllCommands().all_rows()) {
    const bool is_of_filters = row.group == CommandGroup::kBloom || row.group == CommandGroup::kCuckoo;
    EXPECT_NE(FactsOf(row.name) != nullptr, is_of_filters) << row.name;
  }
  for (const RedisCommand& each : kRedisCommands) {
    EXPECT_NE(AllCommands().FindFull(each.name), nullptr) << each.name << " is gone: remove its facts";
  }
}

TEST(RedisCategories, TheNamesAreThoseOfRedisAndTwoMore) {
  std::vector<std::string_view> names;
  for (const Category& category : Categories()) names.push_back(category.name);
  EXPECT_THAT(names,
              testing::ElementsAre("keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap",
                                   "hyperloglog", "geo", "stream", "pubsub", "admin", "fast", "slow", "blocking",
                                   "dangerous", "connection", "transaction", "scripting", "bloom", "cuckoo"));
}

}  // namespace
}  // namespace bitsieve::server
