// Filter commands on a host that is no server: a plain map of names. Every command of BF.* and CF.* answers there as it
// does in the server, and a second such host that replicates the first as the command table prescribes ends up with the
// same bytes.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "commands/filter_commands.h"
#include "commands/followed_filters.h"
#include "commands/transfers.h"
#include "core/filter/filter_factory.h"
#include "core/filter/staging.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::commands {
namespace {

using test::Words;

// A payload of BF.LOAD that holds "a", as valkey-bloom makes it.
std::string LoadOfValkeyBloom() {
  const std::string rate("\0\0\0\0\0\0\xe0\x3f", 8);
  const std::string one("\1\0\0\0\0\0\0\0", 8);
  const std::string seed(
      "\x59\x0f\xf5\x22\xea\x78\x11\xda\xa7\x14\xd8\x09\x3b\x3e\x7b\xd9"
      "\x1d\x89\x8a\x73\x3e\x98\x88\x87\x30\x7f\x97\xcd\x28\x07\x33\x83",
      32);
  const std::string slice = "\1" + one + std::string("\6\0\0\0", 4) + seed + "\x55";
  return "\1" + std::string("\2\0\0\0", 4) + rate + rate + std::string(1, '\0') + one +
         std::string("\x2e\0\0\0\0\0\0\0", 8) + slice + one + one;
}

class PlainKeyspace final : public FilterKeyspace {
 public:
  core::Result<std::unique_ptr<PreparedContent>> Prepare(const FilterPtr&) override { return nullptr; }
  FilterPtr Find(std::string_view name) const override {
    const auto found = filters_.find(name);
    return found == filters_.end() ? nullptr : found->second;
  }
  FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t) override {
    const auto [there, inserted] = filters_.try_emplace(std::string(name), std::move(filter));
    if (inserted && there->second->Info().items == 0) created_.emplace_back(name, there->second->params());
    return there->second;
  }
  bool Put(std::string_view name, FilterPtr filter, int64_t) override {
    filters_.insert_or_assign(std::string(name), std::move(filter));
    return true;
  }
  bool Replace(std::string_view name, const FilterPtr& expected, FilterPtr replacement) override {
    const auto found = filters_.find(name);
    if (found == filters_.end() || found->second != expected) return false;
    found->second = std::move(replacement);
    return true;
  }
  core::Result<bool> ReplaceFolded(std::string_view name, core::FilterFold& fold) override {
    const auto found = filters_.find(name);
    if (found == filters_.end() || found->second != fold.filter()) return false;
    if (core::Status status = fold.TakeOver(); !status) return tl::unexpected(status.error());
    found->second = fold.folded();
    return true;
  }
  core::Status LogRewrite(const FilterPtr&) override { return {}; }
  core::MemoryBudget& memory() override { return memory_; }
  const core::Clock& clock() const override { return clock_; }

  // Empty filters inserted since this was last called.
  std::vector<std::pair<std::string, core::FilterParams>> TakeCreated() { return std::exchange(created_, {}); }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, filter] : filters_) names.push_back(name);
    return names;
  }

 private:
  core::MemoryBudget memory_;
  std::vector<std::pair<std::string, core::FilterParams>> created_;
  std::map<std::string, FilterPtr, std::less<>> filters_;
  test::ManualClock clock_;
};

// Freezes at once.
class PlainFreezing final : public FreezeQueue {
 public:
  explicit PlainFreezing(FilterKeyspace& keyspace) : keyspace_(keyspace) {}
  void Freeze(std::string_view name, const FilterPtr& closed) override {
    auto frozen = closed->staging()->Build(keyspace_.memory(), [] { return true; });
    ASSERT_TRUE(frozen) << frozen.error().message;
    EXPECT_TRUE(keyspace_.Replace(name, closed, std::move(*frozen)));
  }

 private:
  FilterKeyspace& keyspace_;
};

class PlainHost {
 public:
  std::string Reply(const Words& command) {
    std::string out;
    protocol::ReplyWriter reply(out);
    CommandContext context(environment_, keyspace_, reply);
    const std::vector<std::string_view> arguments(command.begin(), command.end());
    context.arguments = arguments;
    context.row = RowOf(command[0]);
    EXPECT_NE(context.row, nullptr) << command[0];
    EXPECT_TRUE(ArityFits(*context.row, arguments.size())) << command[0];
    ran_.insert(context.row);
    context.row->handler(context);
    return out;
  }
  const std::set<const CommandRow*>& ran() const { return ran_; }
  PlainKeyspace& keyspace() { return keyspace_; }

  static const CommandRow* RowOf(std::string_view name) {
    for (const auto family : kFilterCommands) {
      for (const CommandRow& row : family()) {
        if (EqualsIgnoringCase(row.name, name)) return &row;
      }
    }
    return nullptr;
  }

 private:
  PlainKeyspace keyspace_;
  test::Default<CommandSettings> settings_;
  PlainFreezing freezing_{keyspace_};
  Transfers transfers_;
  FollowedFilters followed_{1 << 20};
  const FilterEnvironment environment_{
      .settings = &settings_, .freezing = &freezing_, .transfers = &transfers_, .followed = &followed_};
  std::set<const CommandRow*> ran_;
};

// The content of the last bulk string of a reply.
std::string LastBulk(const std::string& reply) {
  size_t at = reply.rfind("\r\n$");
  at = at == std::string::npos ? 0 : at + 2;
  const size_t begin = reply.find("\r\n", at) + 2;
  return reply.substr(begin, reply.size() - 2 - begin);
}

// Replicates another host as the command table prescribes.
class Replica {
 public:
  explicit Replica(PlainHost& leader) : leader_(leader) {}

  // After the leader has run the command.
  void Follow(const Words& command) {
    for (const auto& [name, params] : leader_.keyspace().TakeCreated()) Create(name, params);
    const Replication replication = PlainHost::RowOf(command[0])->replication;
    if (replication == Replication::kVerbatim) host_.Reply(command);
    if (replication == Replication::kContent) CopyContent(command[1]);
  }

  void ExpectSame() {
    EXPECT_EQ(host_.keyspace().Names(), leader_.keyspace().Names());
    for (const std::string& name : leader_.keyspace().Names()) {
      EXPECT_TRUE(host_.Reply({"BF.DUMP", name}) == leader_.Reply({"BF.DUMP", name})) << name;
    }
  }

 private:
  void Create(const std::string& name, const core::FilterParams& params) {
    auto made = core::MakeFilter(params, host_.keyspace().memory(), host_.keyspace().clock());
    ASSERT_TRUE(made) << made.error().message;
    host_.keyspace().InsertIfAbsent(name, std::move(*made), 0);
  }
  void CopyContent(const std::string& name) {
    host_.Reply({"BF.RESTORE", name, LastBulk(leader_.Reply({"BF.DUMP", name})), "REPLACE"});
  }

  PlainHost& leader_;
  PlainHost host_;
};

class PlainHostTest : public testing::Test {
 protected:
  // The reply, which both hosts give. A replica follows.
  std::string Both(const Words& command) {
    const std::string plain = host_.Reply(command);
    replica_.Follow(command);
    EXPECT_EQ(plain, server_.Reply(command)) << command[0] << " " << command[1];
    return plain;
  }

  PlainHost host_;
  Replica replica_{host_};
  test::CommandFixture server_;
};

TEST_F(PlainHostTest, EveryFilterCommandAnswersAsInTheServer) {
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    if (!type->made.by_default) continue;
    const std::string name(type->name);
    Words reserve{"BF.RESERVE", name, "0.01", "1000", "TYPE", name};
    if (name != "redisbloom") reserve.insert(reserve.end(), {"SEED", "7"});
    Both(reserve);
    Both({"BF.ADD", name, "a"});
    Both({"BF.MADD", name, "a", "b", "c"});
    Both({"BF.INSERT", name, "NOCREATE", "ITEMS", "d"});
    Both({"BF.EXISTS", name, "a"});
    Both({"BF.MEXISTS", name, "a", "x"});
    Both({"BF.COUNT", name, "a"});
    Both({"BF.DEL", name, "a"});
    Both({"BF.MDEL", name, "b", "b"});
    Both({"BF.FPADD", name, "a", "x"});
    Both({"BF.CARD", name});
    Both({"BF.INFO", name, "ITEMS"});
    Both({"BF.DEBUG", name});
    Both({"BF.ESTIMATE", name});
    Both({"BF.RESTORE", name + ":copy", LastBulk(Both({"BF.DUMP", name}))});
    Both({"BF.MERGE", name + ":union", name, name + ":copy"});
    Both({"BF.FOLD", name + ":copy", "400"});
    Both({"BF.CLEAR", name});
  }
  Both({"BF.EXISTSIN", "c", "blocked:copy", "classic:copy", "nothing"});
  Both({"BF.RESERVE", "e", "0.01", "1000", "TYPE", "expiring", "TTL", "1h", "SEED", "7"});
  Both({"BF.INSERT", "e", "PX", "5000", "ITEMS", "a", "b"});
  Both({"BF.TOUCH", "e", "a", "x"});
  Both({"BF.TTL", "e", "a", "b", "x"});
  Both({"BF.SCANDUMP", "redisbloom:copy", "0"});
  Both({"BF.LOADCHUNK", "loaded", "1", LastBulk(Both({"BF.SCANDUMP", "redisbloom:copy", "0"}))});
  const std::string position = LastBulk(host_.Reply({"BF.FOLLOW", "e", "0"}));
  EXPECT_EQ(host_.Reply({"BF.CHANGES", "e", position}), "*3\r\n$18\r\n" + position + "\r\n$0\r\n\r\n:0\r\n");
  Both({"BF.RESERVE", "r", "0.01", "100", "TYPE", "ribbon", "SEED", "1"});
  Both({"BF.MADD", "r", "a", "b"});
  host_.Reply({"BF.FREEZE", "r"});
  replica_.Follow({"BF.FREEZE", "r"});
  EXPECT_EQ(host_.Reply({"BF.INFO", "r", "STATE"}), "*1\r\n$6\r\nfrozen\r\n");
  EXPECT_EQ(host_.Reply({"BF.MEXISTS", "r", "a", "b"}), "*2\r\n:1\r\n:1\r\n");

  Both({"BF.LOAD", "valkey", LoadOfValkeyBloom()});
  EXPECT_EQ(host_.Reply({"BF.EXISTS", "valkey", "a"}), ":1\r\n");
  Both({"BF.ADD", "valkey", "b"});

  Both({"CF.RESERVE", "cf", "100"});
  Both({"CF.ADD", "cf", "a"});
  Both({"CF.ADDNX", "cf", "a"});
  Both({"CF.INSERT", "cf", "ITEMS", "b", "c"});
  Both({"CF.INSERTNX", "cf", "ITEMS", "b", "d"});
  Both({"CF.EXISTS", "cf", "a"});
  Both({"CF.MEXISTS", "cf", "a", "x"});
  Both({"CF.COUNT", "cf", "a"});
  Both({"CF.DEL", "cf", "a"});
  Both({"CF.INFO", "cf"});
  Both({"CF.DEBUG", "cf"});
  Both({"CF.COMPACT", "cf"});
  Both({"CF.LOADCHUNK", "cf:copy", "1", LastBulk(Both({"CF.SCANDUMP", "cf", "0"}))});

  for (const auto family : kFilterCommands) {
    for (const CommandRow& row : family()) EXPECT_TRUE(host_.ran().contains(&row)) << row.name;
  }
  replica_.ExpectSame();
}

}  // namespace
}  // namespace bitsieve::commands
