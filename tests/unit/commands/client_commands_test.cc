#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ClientCommandsTest : public testing::Test, protected CommandFixture {};

TEST_F(ClientCommandsTest, NamesAndIds) {
  EXPECT_EQ(Reply({"CLIENT", "ID"}), ":7\r\n");
  EXPECT_EQ(Reply({"CLIENT", "GETNAME"}), "$-1\r\n");
  EXPECT_EQ(Reply({"client", "setname", "worker-1"}), "+OK\r\n");
  EXPECT_EQ(Reply({"CLIENT", "GETNAME"}), "$8\r\nworker-1\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", ""}), "+OK\r\n");
  EXPECT_EQ(Reply({"CLIENT", "GETNAME"}), "$-1\r\n");
}

TEST_F(ClientCommandsTest, NamesThatWouldForgeTheListAreRefused) {
  const std::string error = "-ERR Client names cannot contain spaces, newlines or special characters.\r\n";
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", "a b"}), error);
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", "a\nid=1"}), error);
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", "\xff"}), error);
  EXPECT_EQ(Reply({"CLIENT", "SETNAME", std::string(1025, 'a')}),
            "-ERR Client names cannot be longer than 1024 bytes.\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETINFO", "lib-ver", "1 2"}),
            "-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETINFO", "colour", "red"}), "-ERR Unrecognized option 'colour'\r\n");
}

TEST_F(ClientCommandsTest, ListHasALineAClient) {
  clients.Add(std::make_shared<ClientRecord>(3, "10.0.0.1:99", "10.0.0.2:7379", 0));
  Replies(
      {{"CLIENT", "SETNAME", "me"}, {"CLIENT", "SETINFO", "LIB-NAME", "lib"}, {"CLIENT", "SETINFO", "LIB-VER", "1.2"}});
  const std::string list = Reply({"CLIENT", "LIST"});
  EXPECT_THAT(list, HasSubstr("\nid=7 addr=127.0.0.1:5000 laddr=127.0.0.1:7379 name=me age="));
  EXPECT_THAT(list, HasSubstr("id=3 addr=10.0.0.1:99 "));
  EXPECT_LT(list.find("id=3"), list.find("id=7"));
  EXPECT_THAT(list, HasSubstr(" cmd=client|list user=default lib-name=lib lib-ver=1.2 resp=2\n"));
  EXPECT_THAT(Reply({"CLIENT", "LIST", "ID", "3", "99"}), AllOf(HasSubstr("id=3"), Not(HasSubstr("id=7"))));
  EXPECT_THAT(Reply({"CLIENT", "LIST", "TYPE", "normal"}), HasSubstr("id=7"));
  EXPECT_EQ(Reply({"CLIENT", "LIST", "TYPE", "pubsub"}), "$0\r\n\r\n");
  EXPECT_THAT(Reply({"CLIENT", "INFO"}), HasSubstr("id=7 addr=127.0.0.1:5000 "));
}

TEST_F(ClientCommandsTest, ListRefusesNonsense) {
  EXPECT_EQ(Reply({"CLIENT", "LIST", "TYPE", "odd"}), "-ERR Unknown client type 'odd'\r\n");
  EXPECT_EQ(Reply({"CLIENT", "LIST", "ID", "x"}), "-ERR Invalid client ID\r\n");
  EXPECT_EQ(Reply({"CLIENT", "LIST", "ID"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"CLIENT", "LIST", "WHAT"}), "-ERR syntax error\r\n");
}

TEST_F(ClientCommandsTest, SubcommandsHaveTheirOwnErrors) {
  EXPECT_EQ(Reply({"CLIENT"}), "-ERR wrong number of arguments for 'client' command\r\n");
  EXPECT_EQ(Reply({"CLIENT", "SETNAME"}), "-ERR wrong number of arguments for 'client|setname' command\r\n");
  EXPECT_EQ(
      Reply({"CLIENT", "MAINT_NOTIFICATIONS", "ON"}),
      "-ERR unknown subcommand 'MAINT_NOTIFICATIONS', must be one of: id, getname, setname, setinfo, list, info\r\n");
}

TEST_F(ClientCommandsTest, Resp3ListIsVerbatim) {
  session.version = protocol::ProtocolVersion::kResp3;
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), StartsWith("="));
}

TEST(ClientListTest, KeepsRecordsById) {
  ClientList list;
  for (const uint64_t id : {5, 1, 3}) list.Add(std::make_shared<ClientRecord>(id, "", "", 0));
  list.Remove(3);
  list.Remove(4);
  ASSERT_EQ(list.Size(), 2u);
  EXPECT_EQ(list.All()[0]->id, 1u);
  EXPECT_EQ(list.All()[1]->id, 5u);
}

}  // namespace
}  // namespace bitsieve::server
