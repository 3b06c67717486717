// Counts allocations: in the steady state a command makes none. And what an addition does that is refused one.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/filter/filter_factory.h"
#include "tests/support/command_fixture.h"
#include "tests/support/failing_memory.h"
#include "tests/support/filter_bytes.h"
#include "tests/support/filter_types.h"
#include "tests/support/manual_clock.h"

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

// Returns how many allocations one administrative command makes: this shows how much it does where times would mean
// little.
uint64_t AllocationsOf(CommandFixture& fixture, const Words& command) {
  std::string out;
  out.reserve(1 << 20);
  protocol::ReplyWriter reply(out);
  const std::vector<Words> commands{command};
  return AllocationsOf(fixture, BatchOf(commands), reply);
}

// Returns a name that is longer than a short string.
std::string UserName(int number) { return "user-of-a-long-name-" + std::to_string(number); }

TEST(AllocationTest, AChangeOfAUserDoesNotDependOnHowManyThereAre) {
  CommandFixture fixture;
  const Words change{"ACL", "SETUSER", "bob", "on", "~a:*", "+@read"};
  const Words removal{"ACL", "DELUSER", "bob"};
  fixture.Reply(change);
  const uint64_t changes = AllocationsOf(fixture, change), removals = AllocationsOf(fixture, removal);
  for (int i = 0; i < 2000; ++i) fixture.Reply({"ACL", "SETUSER", UserName(i), "on"});
  fixture.Reply(change);
  EXPECT_EQ(AllocationsOf(fixture, change), changes);
  EXPECT_EQ(AllocationsOf(fixture, removal), removals);
}

TEST(AllocationTest, UsersThatAreRemovedTogetherHaveTheirClientsLookedForOnce) {
  constexpr int kClients = 300, kUsers = 300;
  CommandFixture fixture;
  std::vector<std::shared_ptr<ClientRecord>> connected;
  for (int i = 0; i < kClients; ++i) {
    connected.push_back(std::make_shared<ClientRecord>(100 + i, "127.0.0.1:5000", "127.0.0.1:7379", 1'000));
    connected.back()->set_user(UserName(i % 2 == 0 ? i : -i));
    fixture.clients.Add(connected.back());
  }
  Words removal{"ACL", "DELUSER"};
  for (int i = 0; i < kUsers; ++i) {
    fixture.Reply({"ACL", "SETUSER", UserName(i), "on"});
    removal.push_back(UserName(i));
  }
  EXPECT_LT(AllocationsOf(fixture, removal), 10U * (kClients + kUsers)) << "each looked at each is 90,000";
  EXPECT_EQ(std::ranges::count_if(connected, [](const auto& client) { return client->doomed.load(); }), kClients / 2);

  for (int i = 0; i < kUsers; ++i) fixture.Reply({"ACL", "SETUSER", UserName(i), "on"});
  fixture.control.load_users = [&fixture] { return fixture.users.Replace("user somebody on"); };
  EXPECT_LT(AllocationsOf(fixture, {"ACL", "LOAD"}), 10U * (kClients + kUsers));
}

// A log has the additions that were not refused, and a replay has the memory for all of them.
TEST(AllocationTest, AnAdditionThatIsRefusedMemoryChangesNothing) {
  const test::ManualClock clock;
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    if (!test::ByReserve(*type)) continue;
    core::FilterParams params{.type = type->type, .error_rate = 1e-6, .capacity = 100, .expansion = 2, .seed = 7};
    test::SetRequiredParams(params);
    core::MemoryBudget budget;
    const auto filter = core::MakeFilter(params, budget, clock).value();
    const auto replayed = core::MakeFilter(params, budget, clock).value();
    uint64_t refused = 0;
    for (int i = 0; i < 20'000; ++i) {
      const core::KeyHash hash = filter->HashOf(std::to_string(i % 7'000));
      core::AddOutcome outcome{}, again{};
      // A search for room may be refused memory that growing then gets.
      test::RefuseMemory(test::Whose::kThisThreads, 0, i % 5 == 0 ? 1 : i % 5 == 1 ? UINT64_MAX : 0);
      filter->Add({&hash, 1}, {&outcome, 1});
      test::AllowMemory();
      refused += outcome == core::AddOutcome::kOutOfMemory;
      if (!core::IsRefused(outcome)) replayed->Add({&hash, 1}, {&again, 1});
    }
    EXPECT_EQ(test::BytesOf(*filter), test::BytesOf(*replayed)) << type->name;
    EXPECT_EQ(refused > 0, type->name != "window") << type->name;
  }
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
