#include "server/auth/users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "server/commands/all_commands.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class UsersTest : public testing::Test {
 protected:
  std::string Set(std::string_view name, const std::vector<std::string_view>& rules) {
    const core::Status status = users_.Set(name, rules);
    return status ? "" : status.error().message;
  }
  std::string Replace(std::string_view text) {
    const core::Status status = users_.Replace(text);
    return status ? "" : status.error().message;
  }

  const CommandIndex index_{AllCommands().all_rows()};
  Users users_{index_};
};

TEST_F(UsersTest, TheUserDefaultMayDoEverything) {
  EXPECT_TRUE(users_.Default()->unlimited());
  EXPECT_TRUE(users_.default_is_open());
  EXPECT_NE(users_.Authenticate("default", "anything"), nullptr);
  EXPECT_EQ(users_.Text(), "user default on nopass ~* &* +@all\n");
  EXPECT_FALSE(users_.Remove("default"));
}

TEST_F(UsersTest, APasswordOfTheUserDefault) {
  EXPECT_TRUE(users_.SetDefaultPassword("hunter2"));
  EXPECT_FALSE(users_.default_is_open());
  EXPECT_EQ(users_.Authenticate("default", "hunter3"), nullptr);
  EXPECT_NE(users_.Authenticate("default", "hunter2"), nullptr);
  EXPECT_TRUE(users_.SetDefaultPassword("other"));
  EXPECT_EQ(users_.Authenticate("default", "hunter2"), nullptr);
  EXPECT_TRUE(users_.SetDefaultPassword(""));
  EXPECT_TRUE(users_.default_is_open());
  Set("default", {"off"});
  EXPECT_FALSE(users_.default_is_open());
}

TEST_F(UsersTest, EachChangeRaisesTheGeneration) {
  uint64_t before = users_.generation();
  const auto raised = [&] { return std::exchange(before, users_.generation()) != users_.generation(); };
  EXPECT_FALSE(raised());
  Set("bob", {"on"});
  EXPECT_TRUE(raised());
  Set("bob", {"nonsense"});
  EXPECT_FALSE(raised());
  EXPECT_TRUE(users_.Remove("bob"));
  EXPECT_TRUE(raised());
  EXPECT_FALSE(users_.Remove("bob"));
  EXPECT_FALSE(raised());
}

TEST_F(UsersTest, WhoHasAUserKeepsItAsItWas) {
  Set("bob", {"on", "+ping"});
  const UserPtr bob = users_.Find("bob");
  Set("bob", {"off", "-ping"});
  EXPECT_TRUE(bob->is_on());
  EXPECT_FALSE(users_.Find("bob")->is_on());
}

TEST_F(UsersTest, Names) {
  EXPECT_EQ(Set("a b", {}), "Usernames can't contain spaces or null characters");
  EXPECT_EQ(Set(std::string_view("a\0b", 3), {}), "Usernames can't contain spaces or null characters");
  EXPECT_EQ(Set("a\nb", {}), "Usernames can't contain spaces or null characters");
  EXPECT_EQ(Set("", {}), "Usernames can't contain spaces or null characters");
  EXPECT_THAT(Set(std::string(2000, 'x'), {}), HasSubstr("at most 1024 bytes"));
  EXPECT_EQ(Set("é:*(", {}), "");
}

TEST_F(UsersTest, TheTextMakesEqualUsers) {
  Set("bob", {"on", ">secret", "~a:*", "%R~b:*", "&c", "+@read", "-bf.exists", "(~x +ping)"});
  Set("alice", {"nopass"});
  const std::string text = users_.Text();
  Set("carol", {});
  EXPECT_EQ(Replace(text), "");
  EXPECT_EQ(users_.Text(), text);
  EXPECT_EQ(users_.Find("carol"), nullptr);
}

TEST_F(UsersTest, AFileMayHaveCommentsAndBlankLines) {
  EXPECT_EQ(Replace("# users\r\n\r\n  user  bob  on   nopass\t+ping\r\n#user x"), "");
  EXPECT_EQ(users_.Find("bob")->Text(), "user bob on nopass resetchannels -@all +ping");
  EXPECT_TRUE(users_.Default()->unlimited());
}

TEST_F(UsersTest, AFileIsReadWholeOrNotAtAll) {
  const std::string before = users_.Text();
  EXPECT_THAT(Replace("user bob on\nuser eve +nothing\n"),
              StartsWith("line 2: Error in ACL SETUSER modifier '+nothing'"));
  EXPECT_EQ(Replace("user bob\nuser bob\n"), "line 2: user 'bob' is defined twice");
  EXPECT_EQ(Replace("usr bob\n"), "line 1: it should begin with user and a name");
  EXPECT_EQ(Replace("\nuser\n"), "line 2: it should begin with user and a name");
  EXPECT_EQ(users_.Text(), before);
}

TEST_F(UsersTest, AFileMayRestrictTheUserDefault) {
  EXPECT_EQ(Replace("user default off -@all"), "");
  EXPECT_FALSE(users_.default_is_open());
  EXPECT_EQ(Replace("user bob on"), "");
  EXPECT_FALSE(users_.Default()->is_on());
}

TEST_F(UsersTest, ManyThreads) {
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      const UserPtr bob = users_.Find("bob");
      if (bob != nullptr) {
        EXPECT_EQ(bob->Accepts("x"), bob->is_on());
      }
      (void)users_.Text();
    }
  });
  for (int i = 0; i < 200; ++i) {
    Set("bob", {i % 2 == 0 ? "on" : "off", ">x"});
    if (i % 10 == 0) users_.Remove("bob");
  }
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace bitsieve::server
