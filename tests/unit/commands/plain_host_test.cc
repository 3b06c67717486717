// Filter commands on a host that is no server: a plain map of names. Every row of BF.* and CF.* answers there as it
// does in the server.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "commands/cuckoo_loads.h"
#include "commands/filter_commands.h"
#include "commands/transfers.h"
#include "core/families/ribbon/ribbon_staging.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::commands {
namespace {

using test::Words;

class PlainKeyspace final : public FilterKeyspace {
 public:
  core::Result<std::unique_ptr<PreparedContent>> Prepare(const FilterPtr&) override { return nullptr; }
  FilterPtr Find(std::string_view name) const override {
    const auto found = filters_.find(name);
    return found == filters_.end() ? nullptr : found->second;
  }
  FilterPtr InsertIfAbsent(std::string_view name, FilterPtr filter, int64_t) override {
    return filters_.try_emplace(std::string(name), std::move(filter)).first->second;
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
  core::Status NoteRewritten(const FilterPtr&) override { return {}; }
  core::MemoryBudget& memory() override { return memory_; }
  const core::Clock& clock() const override { return core::SystemClock(); }

 private:
  core::MemoryBudget memory_;
  std::map<std::string, FilterPtr, std::less<>> filters_;
};

// Freezes at once.
class PlainFreezing final : public FreezeQueue {
 public:
  explicit PlainFreezing(FilterKeyspace& keyspace) : keyspace_(keyspace) {}
  void Freeze(std::string_view name, const FilterPtr& closed) override {
    auto frozen = core::RibbonStaging::Of(*closed)->Build(keyspace_.memory(), [] { return true; });
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
    CommandContext context(environment_, reply);
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

 private:
  static const CommandRow* RowOf(std::string_view name) {
    for (const auto family : kFilterCommands) {
      for (const CommandRow& row : family()) {
        if (EqualsIgnoringCase(row.name, name)) return &row;
      }
    }
    return nullptr;
  }

  PlainKeyspace keyspace_;
  CommandSettings settings_;
  PlainFreezing freezing_{keyspace_};
  Transfers transfers_;
  CuckooLoads cuckoo_loads_;
  const Environment environment_{.keyspace = &keyspace_,
                                 .settings = &settings_,
                                 .freezing = &freezing_,
                                 .transfers = &transfers_,
                                 .cuckoo_loads = &cuckoo_loads_};
  std::set<const CommandRow*> ran_;
};

// The content of the last bulk string of a reply.
std::string LastBulk(const std::string& reply) {
  size_t at = reply.rfind("\r\n$");
  at = at == std::string::npos ? 0 : at + 2;
  const size_t begin = reply.find("\r\n", at) + 2;
  return reply.substr(begin, reply.size() - 2 - begin);
}

class PlainHostTest : public testing::Test {
 protected:
  // The reply, which both hosts give.
  std::string Both(const Words& command) {
    const std::string plain = host_.Reply(command);
    EXPECT_EQ(plain, server_.Reply(command)) << command[0] << " " << command[1];
    return plain;
  }

  PlainHost host_;
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
    Both({"BF.CARD", name});
    Both({"BF.INFO", name, "ITEMS"});
    Both({"BF.DEBUG", name});
    Both({"BF.ESTIMATE", name});
    Both({"BF.RESTORE", name + ":copy", LastBulk(Both({"BF.DUMP", name}))});
    Both({"BF.MERGE", name + ":union", name, name + ":copy"});
    Both({"BF.CLEAR", name});
  }
  Both({"BF.EXISTSIN", "c", "blocked:copy", "classic:copy", "nothing"});
  Both({"BF.SCANDUMP", "redisbloom:copy", "0"});
  Both({"BF.LOADCHUNK", "loaded", "1", LastBulk(Both({"BF.SCANDUMP", "redisbloom:copy", "0"}))});
  Both({"BF.RESERVE", "r", "0.01", "100", "TYPE", "ribbon", "SEED", "1"});
  Both({"BF.MADD", "r", "a", "b"});
  host_.Reply({"BF.FREEZE", "r"});
  EXPECT_EQ(host_.Reply({"BF.INFO", "r", "STATE"}), "*1\r\n$6\r\nfrozen\r\n");
  EXPECT_EQ(host_.Reply({"BF.MEXISTS", "r", "a", "b"}), "*2\r\n:1\r\n:1\r\n");

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
}

}  // namespace
}  // namespace bitsieve::commands
