// Counts allocations: in the steady state a command makes none.

#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"
#include "tests/support/failing_memory.h"

namespace bitsieve::server {
namespace {

using test::BatchOf;
using test::CommandFixture;
using test::Words;

uint64_t AllocationsOf(CommandFixture& fixture, const CommandBatch& batch, protocol::ReplyWriter& reply) {
  test::CountMemory(test::Whose::kThisThreads);
  fixture.dispatcher->Execute(fixture.session, batch, 0, reply);
  return test::AllowMemory();
}

TEST(AllocationTest, SteadyStateMakesNone) {
  CommandFixture fixture;
  Words many_add{"BF.MADD", "filter"}, many_ask{"BF.MEXISTS", "filter"};
  for (int i = 0; i < 300; ++i) {
    many_add.push_back("an item longer than a short string " + std::to_string(i));
    many_ask.push_back("an item longer than a short string " + std::to_string(i));
  }
  std::vector<Words> commands;
  for (int i = 0; i < 100; ++i) {
    const std::string item = "another item of some length " + std::to_string(i);
    commands.push_back({"BF.ADD", "filter", item});
    commands.push_back({"BF.EXISTS", "filter", item});
    commands.push_back({"BF.EXISTS", "a name that nothing has, longer than a short string", item});
    commands.push_back({"PING"});
    commands.push_back({"ECHO", item});
    commands.push_back({"BF.CARD", "filter"});
    commands.push_back({"BF.INSERT", "filter", "CAPACITY", "10", "NOCREATE", "ITEMS", item});
  }
  commands.push_back(many_add);
  commands.push_back(many_ask);
  const CommandBatch batch = BatchOf(commands);
  fixture.Reply({"BF.RESERVE", "filter", "0.01", "10000"});
  fixture.Reply({"BF.ADD", "filter", "the first change of a thread takes its place in the meter of changes"});

  std::string out;
  out.reserve(1 << 20);
  protocol::ReplyWriter reply(out);
  EXPECT_EQ(AllocationsOf(fixture, batch, reply), 0u);
  out.clear();
  EXPECT_EQ(AllocationsOf(fixture, batch, reply), 0u);
}

TEST(AllocationTest, TheCounterCounts) {
  CommandFixture fixture;
  const std::vector<Words> commands{{"KEYS", "*"}, {"BF.ADD", "f", "x"}};
  std::string out;
  protocol::ReplyWriter reply(out);
  EXPECT_GT(AllocationsOf(fixture, BatchOf(commands), reply), 0u);
}

}  // namespace
}  // namespace bitsieve::server
