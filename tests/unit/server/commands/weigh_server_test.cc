#include "server/commands/weigh_server.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/filter/filter_factory.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using commands::Weight;

class WeighServerTest : public testing::Test, protected test::CommandFixture {
 protected:
  void AddClientsUpTo(size_t count) {
    while (clients.Size() < count) {
      clients.Add(std::make_shared<ClientRecord>(100 + clients.Size(), "a:1", "b:2", 0));
    }
  }
  void AddNamesUpTo(uint64_t count) {
    while (registry.Size() < count) {
      registry.InsertIfAbsent("f" + std::to_string(registry.Size()),
                              std::move(*core::MakeFilter({.capacity = 10}, budget, core::SystemClock())));
    }
  }

  const Environment environment_ = EnvironmentWith(nullptr);
  std::string replied_;
  protocol::ReplyWriter reply_{replied_};
  ServerContext context_{environment_, session, reply_};
};

TEST_F(WeighServerTest, MoreThanManyClientsGoToAWorker) {
  AddClientsUpTo(kManyClients);
  EXPECT_EQ(WeighClients(context_), Weight::kLight);
  AddClientsUpTo(kManyClients + 1);
  EXPECT_EQ(WeighClients(context_), Weight::kMany);
}

TEST_F(WeighServerTest, AListOfManyIdsIsHeavyHoweverFewClientsThereAre) {
  const std::vector<std::string_view> ids(10'000, "1");
  context_.arguments = ids;
  EXPECT_EQ(WeighClients(context_), Weight::kMany);
}

TEST_F(WeighServerTest, MoreThanManyNamesAreLarge) {
  EXPECT_EQ(WeighNames(context_), Weight::kLight);
  AddNamesUpTo(kManyNames);
  EXPECT_EQ(WeighNames(context_), Weight::kLight);
  AddNamesUpTo(kManyNames + 1);
  EXPECT_EQ(WeighNames(context_), Weight::kLarge);
  registry.Remove("f0");
  EXPECT_EQ(WeighNames(context_), Weight::kLight);
}

}  // namespace
}  // namespace bitsieve::server
