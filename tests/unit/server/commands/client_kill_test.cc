#include "server/commands/client_kill.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using commands::ArgumentReader;

// Reads one argument as a type; nothing if it is refused.
std::optional<ClientType> TypeOf(std::string_view text) {
  const std::string_view arguments[] = {text};
  ArgumentReader reader(arguments, 0);
  const ClientType type = ReadClientType(reader);
  return reader.ok() ? std::optional(type) : std::nullopt;
}

TEST(ClientTypes, AreReadInAnyCase) {
  EXPECT_EQ(TypeOf("normal"), ClientType::kNormal);
  EXPECT_EQ(TypeOf("PubSub"), ClientType::kPubSub);
  for (const char* replication : {"master", "replica", "SLAVE"}) EXPECT_EQ(TypeOf(replication), ClientType::kNone);
  EXPECT_FALSE(TypeOf("any"));
  EXPECT_FALSE(TypeOf(""));
}

TEST(ClientTypes, AMissingOrUnknownOneIsTheReadersError) {
  ArgumentReader missing({}, 0);
  ReadClientType(missing);
  EXPECT_EQ(missing.error(), "ERR syntax error");
  const std::string_view arguments[] = {"odd"};
  ArgumentReader unknown(arguments, 0);
  ReadClientType(unknown);
  EXPECT_EQ(unknown.error(), "ERR Unknown client type 'odd'");
}

TEST(ClientTypes, AClientIsOfOneTypeThatFollowsItsSubscriptions) {
  ClientRecord record(1, "a:1", "b:2", 0);
  EXPECT_TRUE(IsOfType(record, ClientType::kNormal));
  EXPECT_FALSE(IsOfType(record, ClientType::kPubSub));
  record.channels = 1;
  EXPECT_FALSE(IsOfType(record, ClientType::kNormal));
  EXPECT_TRUE(IsOfType(record, ClientType::kPubSub));
  EXPECT_TRUE(IsOfType(record, ClientType::kAny));
  EXPECT_FALSE(IsOfType(record, ClientType::kNone)) << "there are no replicas";
}

class ClientKillTest : public testing::Test, protected test::CommandFixture {
 protected:
  void SetUp() override {
    environment_.clock = &clock;
    for (const uint64_t id : {3, 4}) {
      auto other = std::make_shared<ClientRecord>(id, "10.0.0.1:" + std::to_string(id), "10.0.0.2:7379", clock.now_ms);
      other->close = [this, id](const char* reason) {
        EXPECT_STREQ(reason, "CLIENT KILL");
        closed_.push_back(id);
      };
      clients.Add(other);
    }
  }
  std::string Kill(const std::vector<std::string_view>& arguments) {
    std::string out;
    protocol::ReplyWriter reply(out);
    ServerContext context(environment_, session, reply);
    std::vector<std::string_view> words = {"CLIENT", "KILL"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    context.arguments = words;
    ClientKill(context);
    return out;
  }

  Environment environment_ = EnvironmentWith(nullptr);
  std::vector<uint64_t> closed_;
};

TEST_F(ClientKillTest, AClientThatWasClosedCannotBeClosedAgain) {
  EXPECT_EQ(Kill({"10.0.0.1:3"}), test::kOk);
  EXPECT_EQ(Kill({"10.0.0.1:3"}), "-ERR No such client\r\n");
  EXPECT_EQ(Kill({"ID", "3", "4"}), ":1\r\n");
  EXPECT_EQ(closed_, (std::vector<uint64_t>{3, 4}));
}

TEST_F(ClientKillTest, TheOldFormClosesTheCallerTooOnceItHasItsReply) {
  EXPECT_EQ(Kill({"127.0.0.1:5000"}), test::kOk);
  EXPECT_TRUE(session.closing);
  EXPECT_FALSE(client->doomed);
}

TEST_F(ClientKillTest, TheNewFormSparesTheCallerUnlessItIsIncluded) {
  EXPECT_EQ(Kill({"ID", "7"}), ":0\r\n");
  EXPECT_FALSE(session.closing);
  EXPECT_EQ(Kill({"ID", "7", "SKIPME", "no"}), ":1\r\n");
  EXPECT_TRUE(session.closing);
}

TEST_F(ClientKillTest, AgeCountsFromTheConnectionInWholeSeconds) {
  clock.now_ms += 9'999;
  EXPECT_EQ(Kill({"MAXAGE", "10"}), ":0\r\n");
  clock.now_ms += 1;
  EXPECT_EQ(Kill({"MAXAGE", "10"}), ":2\r\n");
}

TEST_F(ClientKillTest, AnErrorAfterAFilterThatFitsClosesNobody) {
  EXPECT_EQ(Kill({"ID", "3", "SKIPME", "maybe"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Kill({"ADDR", "10.0.0.1:3", "MAXAGE", "0"}), "-ERR maxage is not an integer or out of range\r\n");
  EXPECT_EQ(Kill({"ID", "3", "TYPE"}), "-ERR syntax error\r\n");
  EXPECT_TRUE(closed_.empty());
}

}  // namespace
}  // namespace bitsieve::server
