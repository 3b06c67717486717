#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/session/kept_arguments.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using test::Words;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using test::kOk;
constexpr const char* kNoAuthError = "-NOAUTH Authentication required.\r\n";
constexpr const char* kWrongPass = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

class AclCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  // Another connection to the same server.
  struct Other {
    explicit Other(AclCommandsTest& of) : test(of) {
      test.clients.Add(record);
      BeginAccess(session, &test.users);
    }
    std::string Reply(const Words& command) {
      std::swap(test.session, session);
      std::string reply = test.Reply(command);
      std::swap(test.session, session);
      return reply;
    }
    AclCommandsTest& test;
    std::shared_ptr<ClientRecord> record =
        std::make_shared<ClientRecord>(8, "127.0.0.1:5001", "127.0.0.1:7379", 1'000, true);
    Session session{record};
  };
  std::unique_ptr<Other> Connect() { return std::make_unique<Other>(*this); }
  // A connection that is bob, who may do what the rules say.
  std::unique_ptr<Other> ConnectBob(Words rules) {
    rules.insert(rules.begin(), {"ACL", "SETUSER", "bob", "on", ">secret"});
    EXPECT_EQ(Reply(rules), kOk);
    auto bob = Connect();
    EXPECT_EQ(bob->Reply({"AUTH", "bob", "secret"}), kOk);
    return bob;
  }
};

TEST_F(AclCommandsTest, WithoutAPasswordNothingRunsButAuthentication) {
  Reply({"ACL", "SETUSER", "default", "resetpass", ">secret"});
  auto other = Connect();
  for (const Words& command : std::vector<Words>{
           {"PING"}, {"BF.ADD", "f", "x"}, {"BF.EXISTS", "f", "x"}, {"MULTI"}, {"ACL", "WHOAMI"}, {"SUBSCRIBE", "c"}}) {
    EXPECT_EQ(other->Reply(command), kNoAuthError) << command[0];
  }
  EXPECT_EQ(other->Reply({"EXEC"}), "-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n")
      << "as in Redis";
  EXPECT_THAT(other->Reply({"HELLO", "3"}), StartsWith("-NOAUTH HELLO must be called"));
  EXPECT_EQ(other->Reply({"AUTH", "wrong"}), kWrongPass);
  EXPECT_EQ(other->Reply({"AUTH", "default", "wrong"}), kWrongPass);
  EXPECT_EQ(other->Reply({"AUTH", "nobody", "secret"}), kWrongPass);
  EXPECT_EQ(other->Reply({"PING"}), kNoAuthError);
  EXPECT_EQ(other->Reply({"AUTH", "secret"}), kOk);
  EXPECT_EQ(other->Reply({"PING"}), "+PONG\r\n");
  EXPECT_EQ(Reply({"PING"}), "+PONG\r\n");  // who was in stays in
}

TEST_F(AclCommandsTest, HelloAuthenticates) {
  Reply({"ACL", "SETUSER", "default", "resetpass", ">secret"});
  auto other = Connect();
  EXPECT_EQ(other->Reply({"HELLO", "3", "AUTH", "default", "wrong"}), kWrongPass);
  EXPECT_EQ(other->session.version, protocol::ProtocolVersion::kResp2);
  EXPECT_THAT(other->Reply({"HELLO", "3", "AUTH", "default", "secret", "SETNAME", "x"}), StartsWith("%7"));
  EXPECT_EQ(other->record->name(), "x");
  EXPECT_EQ(other->Reply({"PING"}), "+PONG\r\n");
}

TEST_F(AclCommandsTest, AUserMayDoWhatItsRulesAllow) {
  auto bob = ConnectBob({"+@read", "+bf.add", "~a:*", "%R~b:*", "&c", "+publish"});
  EXPECT_EQ(bob->record->user(), "bob");
  EXPECT_EQ(bob->Reply({"BF.ADD", "a:1", "x"}), ":1\r\n");
  EXPECT_EQ(bob->Reply({"BF.EXISTS", "b:1", "x"}), ":0\r\n");
  EXPECT_EQ(bob->Reply({"BF.ADD", "b:1", "x"}), "-NOPERM User bob has no permissions to access the 'b:1' key\r\n");
  EXPECT_EQ(bob->Reply({"BF.RESERVE", "a:2", "0.01", "100"}),
            "-NOPERM User bob has no permissions to run the 'bf.reserve' command\r\n");
  EXPECT_EQ(bob->Reply({"CONFIG", "GET", "*"}),
            "-NOPERM User bob has no permissions to run the 'config|get' command\r\n");
  EXPECT_EQ(bob->Reply({"PUBLISH", "c", "m"}), ":0\r\n");
  EXPECT_EQ(bob->Reply({"PUBLISH", "d", "m"}), "-NOPERM User bob has no permissions to access the 'd' channel\r\n");
  EXPECT_THAT(bob->Reply({"NOSUCH"}), StartsWith("-ERR unknown command"));
}

TEST_F(AclCommandsTest, RunsOfCommandsThatWereLookedUpAheadAreChecked) {
  Replies({{"BF.ADD", "a", "x"}, {"BF.ADD", "b", "x"}});
  auto bob = ConnectBob({"+bf.exists", "~a"});
  std::swap(session, bob->session);
  EXPECT_EQ(Replies({{"BF.EXISTS", "a", "x"},
                     {"BF.EXISTS", "a", "y"},
                     {"BF.EXISTS", "b", "x"},
                     {"BF.EXISTS", "a", "x"},
                     {"BF.ADD", "a", "x"},
                     {"BF.EXISTS", "a", "x"}}),
            ":1\r\n:0\r\n-NOPERM User bob has no permissions to access the 'b' key\r\n:1\r\n"
            "-NOPERM User bob has no permissions to run the 'bf.add' command\r\n:1\r\n");
  std::swap(session, bob->session);
}

TEST_F(AclCommandsTest, AChangeHoldsFromTheNextCommandOn) {
  auto bob = ConnectBob({"+@all", "~*"});
  EXPECT_EQ(bob->Reply({"BF.ADD", "f", "x"}), ":1\r\n");
  Reply({"ACL", "SETUSER", "bob", "-bf.add"});
  EXPECT_THAT(bob->Reply({"BF.ADD", "f", "y"}), StartsWith("-NOPERM"));
  EXPECT_EQ(bob->Reply({"BF.EXISTS", "f", "x"}), ":1\r\n");
  Reply({"ACL", "SETUSER", "bob", "off"});
  EXPECT_EQ(bob->Reply({"BF.EXISTS", "f", "x"}), ":1\r\n");
  EXPECT_EQ(bob->Reply({"AUTH", "bob", "secret"}), kWrongPass);
}

TEST_F(AclCommandsTest, WhatMultiQueuedIsCheckedAgain) {
  auto bob = ConnectBob({"+@all", "~*"});
  bob->Reply({"MULTI"});
  EXPECT_EQ(bob->Reply({"BF.ADD", "f", "x"}), "+QUEUED\r\n");
  EXPECT_EQ(bob->Reply({"PING"}), "+QUEUED\r\n");
  Reply({"ACL", "SETUSER", "bob", "-bf.add"});
  EXPECT_THAT(bob->Reply({"EXEC"}), StartsWith("*2\r\n-NOPERM User bob has no permissions to run the 'bf.add'"));
  EXPECT_THAT(Reply({"ACL", "LOG"}), HasSubstr("$5\r\nmulti\r\n"));
  bob->Reply({"MULTI"});
  EXPECT_THAT(bob->Reply({"BF.ADD", "f", "x"}), StartsWith("-NOPERM"));
  EXPECT_THAT(bob->Reply({"EXEC"}), StartsWith("-EXECABORT"));
}

TEST_F(AclCommandsTest, ClientsOfARemovedUserAreClosed) {
  auto bob = ConnectBob({"+@all", "~*"});
  std::string reason;
  bob->record->close = [&reason](const char* why) { reason = why; };
  EXPECT_EQ(Reply({"ACL", "DELUSER", "bob", "nobody"}), ":1\r\n");
  EXPECT_EQ(reason, "its user was removed");
  EXPECT_EQ(bob->Reply({"PING"}), "");
  EXPECT_EQ(bob->session.abort, Session::Abort::kUser);
  EXPECT_EQ(Reply({"ACL", "DELUSER", "default"}), "-ERR The 'default' user cannot be removed\r\n");
}

TEST_F(AclCommandsTest, WhatAnExecutionHasLeftDoesNotRunForARemovedUser) {
  auto bob = ConnectBob({"+@all", "~*"});
  std::vector<KeptArguments> none;
  bob->session.executing = std::make_shared<Execution>(std::move(none), Claims::Held());
  Reply({"ACL", "DELUSER", "bob"});
  EXPECT_EQ(bob->Reply({"BF.ADD", "f", "x"}), "");
  EXPECT_EQ(registry.Size(), 0u);
}

TEST_F(AclCommandsTest, SubscribersAreClosedIfTheyMayHaveLostAChannel) {
  auto bob = ConnectBob({"+@all", "&a", "&b"});
  int closed = 0;
  bob->record->close = [&closed](const char*) { ++closed; };
  bob->Reply({"SUBSCRIBE", "a"});
  Reply({"ACL", "SETUSER", "bob", "&c"});
  EXPECT_EQ(closed, 0);
  Reply({"ACL", "SETUSER", "bob", "resetchannels", "&a"});
  EXPECT_EQ(closed, 1);
}

TEST_F(AclCommandsTest, ResetMakesTheClientTheUserDefaultAgain) {
  auto bob = ConnectBob({"+ping"});
  EXPECT_EQ(bob->Reply({"RESET"}), "+RESET\r\n");
  EXPECT_EQ(bob->record->user(), "default");
  EXPECT_EQ(bob->Reply({"BF.EXISTS", "f", "x"}), ":0\r\n");
  Reply({"ACL", "SETUSER", "default", "resetpass", ">secret"});
  bob->Reply({"RESET"});
  EXPECT_EQ(bob->Reply({"PING"}), kNoAuthError);
}

TEST_F(AclCommandsTest, ClientListShowsTheUserAndKillFindsIt) {
  auto bob = ConnectBob({"+@all"});
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), HasSubstr(" user=bob "));
  EXPECT_THAT(Reply({"CLIENT", "LIST"}), HasSubstr(" user=default "));
  int closed = 0;
  bob->record->close = [&closed](const char*) { ++closed; };
  EXPECT_EQ(Reply({"CLIENT", "KILL", "USER", "bob"}), ":1\r\n");
  EXPECT_EQ(closed, 1);
  EXPECT_EQ(Reply({"CLIENT", "KILL", "USER", "eve"}), "-ERR No such user 'eve'\r\n");
}

TEST_F(AclCommandsTest, UsersAreShown) {
  Reply({"ACL", "SETUSER", "bob", "on", "nopass", "~a", "(+ping &c)"});
  EXPECT_EQ(Reply({"ACL", "WHOAMI"}), "$7\r\ndefault\r\n");
  EXPECT_EQ(Reply({"ACL", "USERS"}), "*2\r\n$3\r\nbob\r\n$7\r\ndefault\r\n");
  EXPECT_THAT(Reply({"ACL", "LIST"}),
              HasSubstr("user bob on nopass ~a resetchannels -@all (resetchannels &c -@all +ping)\r\n"));
  EXPECT_EQ(Reply({"ACL", "GETUSER", "bob"}),
            "*12\r\n$5\r\nflags\r\n*2\r\n$2\r\non\r\n$6\r\nnopass\r\n$9\r\npasswords\r\n*0\r\n"
            "$8\r\ncommands\r\n$5\r\n-@all\r\n$4\r\nkeys\r\n$2\r\n~a\r\n$8\r\nchannels\r\n$0\r\n\r\n"
            "$9\r\nselectors\r\n*1\r\n*6\r\n$8\r\ncommands\r\n$11\r\n-@all +ping\r\n$4\r\nkeys\r\n$0\r\n\r\n"
            "$8\r\nchannels\r\n$2\r\n&c\r\n");
  EXPECT_EQ(Reply({"ACL", "GETUSER", "eve"}), "$-1\r\n");
}

TEST_F(AclCommandsTest, WrongRulesAreExplained) {
  EXPECT_EQ(Reply({"ACL", "SETUSER", "bob", "+nothing"}),
            "-ERR Error in ACL SETUSER modifier '+nothing': Unknown command or category name in ACL\r\n");
  EXPECT_EQ(Reply({"ACL", "SETUSER", "a b"}), "-ERR Usernames can't contain spaces or null characters\r\n");
  EXPECT_EQ(Reply({"ACL", "USERS"}), "*1\r\n$7\r\ndefault\r\n");
}

TEST_F(AclCommandsTest, Categories) {
  EXPECT_THAT(Reply({"ACL", "CAT"}), HasSubstr("$5\r\nbloom\r\n"));
  EXPECT_THAT(Reply({"ACL", "CAT", "DANGEROUS"}), HasSubstr("$8\r\nflushall\r\n"));
  EXPECT_THAT(Reply({"ACL", "CAT", "admin"}), HasSubstr("$10\r\nconfig|set\r\n"));
  EXPECT_EQ(Reply({"ACL", "CAT", "stream"}), "*0\r\n");
  EXPECT_EQ(Reply({"ACL", "CAT", "nothing"}), "-ERR Unknown category 'nothing'\r\n");
}

TEST_F(AclCommandsTest, GeneratedPasswords) {
  EXPECT_THAT(Reply({"ACL", "GENPASS"}), StartsWith("$64\r\n"));
  EXPECT_NE(Reply({"ACL", "GENPASS"}), Reply({"ACL", "GENPASS"}));
  EXPECT_THAT(Reply({"ACL", "GENPASS", "5"}), StartsWith("$2\r\n"));
  for (const std::string bits : {"0", "-1", "4097", "x"}) {
    EXPECT_THAT(Reply({"ACL", "GENPASS", bits}), HasSubstr("a positive number up to 4096")) << bits;
  }
}

TEST_F(AclCommandsTest, DryRun) {
  Reply({"ACL", "SETUSER", "bob", "+@read", "~a", "+config|get"});
  EXPECT_EQ(Reply({"ACL", "DRYRUN", "bob", "bf.exists", "a", "x"}), kOk);
  EXPECT_THAT(Reply({"ACL", "DRYRUN", "bob", "bf.exists", "b", "x"}),
              EndsWith("User bob has no permissions to access the 'b' key\r\n"));
  EXPECT_THAT(Reply({"ACL", "DRYRUN", "bob", "save"}), EndsWith("to run the 'save' command\r\n"));
  EXPECT_EQ(Reply({"ACL", "DRYRUN", "bob", "config", "get", "x"}), kOk);
  EXPECT_EQ(Reply({"ACL", "DRYRUN", "eve", "ping"}), "-ERR User 'eve' not found\r\n");
  EXPECT_EQ(Reply({"ACL", "DRYRUN", "bob", "nothing"}), "-ERR Command 'nothing' not found\r\n");
  EXPECT_EQ(Reply({"ACL", "DRYRUN", "bob", "config", "nothing"}), "-ERR Command 'nothing' not found\r\n");
  EXPECT_THAT(Reply({"ACL", "DRYRUN", "bob", "bf.exists"}), StartsWith("-ERR wrong number of arguments"));
  EXPECT_EQ(Reply({"ACL", "LOG"}), "*0\r\n");
}

TEST_F(AclCommandsTest, TheLogHasWhatWasRefused) {
  auto bob = ConnectBob({"+bf.add", "~a", "+publish"});
  bob->Reply({"AUTH", "bob", "wrong"});
  bob->Reply({"AUTH", "bob", "wrong again"});
  bob->Reply({"BF.ADD", "b", "x"});
  bob->Reply({"PUBLISH", "c", "m"});
  bob->Reply({"SAVE"});
  const std::string log = Reply({"ACL", "LOG"});
  EXPECT_THAT(log, StartsWith("*4\r\n*20\r\n$5\r\ncount\r\n:1\r\n$6\r\nreason\r\n$7\r\ncommand\r\n$7\r\ncontext\r\n"
                              "$8\r\ntoplevel\r\n$6\r\nobject\r\n$4\r\nsave\r\n$8\r\nusername\r\n$3\r\nbob\r\n"));
  EXPECT_THAT(log, HasSubstr("$7\r\nchannel\r\n"));
  EXPECT_THAT(log, HasSubstr("$5\r\ncount\r\n:2\r\n$6\r\nreason\r\n$4\r\nauth\r\n"));
  EXPECT_THAT(log, Not(HasSubstr("wrong")));
  EXPECT_THAT(Reply({"ACL", "LOG", "1"}), StartsWith("*1\r\n"));
  EXPECT_EQ(Reply({"ACL", "LOG", "-1"}), "-ERR value is out of range, must be positive\r\n");
  EXPECT_EQ(Reply({"ACL", "LOG", "RESET"}), kOk);
  EXPECT_EQ(Reply({"ACL", "LOG"}), "*0\r\n");
  EXPECT_THAT(Reply({"INFO", "stats"}), HasSubstr("acl_access_denied_auth:2\r\nacl_access_denied_cmd:1\r\n"
                                                  "acl_access_denied_key:1\r\nacl_access_denied_channel:1\r\n"));
}

TEST_F(AclCommandsTest, LoadAndSave) {
  EXPECT_EQ(Reply({"ACL", "SAVE"}), kOk);
  control.save_users = core::Fail(core::ErrorCode::kIo, "the disk is full");
  EXPECT_EQ(Reply({"ACL", "SAVE"}), "-ERR the disk is full\r\n");
  auto bob = ConnectBob({"+@all"});
  std::string reason;
  bob->record->close = [&reason](const char* why) { reason = why; };
  control.load_users = [] { return core::Fail(core::ErrorCode::kInvalidArgument, "line 7"); };
  EXPECT_EQ(Reply({"ACL", "LOAD"}), "-ERR line 7\r\n");
  EXPECT_EQ(reason, "");
  control.load_users = [this] { return users.Replace("user alice on"); };
  EXPECT_EQ(Reply({"ACL", "LOAD"}), kOk);
  EXPECT_EQ(reason, "its user was removed");
}

}  // namespace
}  // namespace bitsieve::server
