#include "server/auth/permissions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/commands/all_commands.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using Reason = Verdict::Reason;
using testing::HasSubstr;

class PermissionsTest : public testing::Test {
 protected:
  // Applies rules that are separated by blanks and returns the last error.
  std::string Apply(std::string_view rules) {
    std::string error;
    while (!rules.empty()) {
      const size_t end = std::min(rules.find(' '), rules.size());
      if (const auto status = permissions_.Apply(rules.substr(0, end)); !status) error = status.error().message;
      rules.remove_prefix(std::min(end + 1, rules.size()));
    }
    return error;
  }
  Verdict Check(const std::vector<std::string_view>& command) const {
    const CommandRow* row = AllCommands().Find(command[0]);
    if (!row->subcommands.empty()) row = CommandTable::FindSubcommand(*row, command[1]);
    return permissions_.Check(*row, command);
  }
  Reason Why(const std::vector<std::string_view>& command) const { return Check(command).reason; }

  const CommandIndex index_{AllCommands().all_rows()};
  Permissions permissions_{index_};
};

TEST_F(PermissionsTest, NothingIsAllowedAtFirst) {
  EXPECT_EQ(Why({"ping"}), Reason::kCommand);
  EXPECT_EQ(Why({"bf.add", "f", "x"}), Reason::kCommand);
  EXPECT_EQ(permissions_.Text(), "resetchannels -@all");
}

TEST_F(PermissionsTest, EveryClientMayAuthenticateAndLeave) {
  for (const std::string_view name : {"auth", "hello", "quit", "reset"}) EXPECT_EQ(Why({name, "x"}), Reason::kAllowed);
}

TEST_F(PermissionsTest, CommandsAndSubcommands) {
  Apply("+bf.add +config|get +client -client|kill ~*");
  EXPECT_EQ(Why({"bf.add", "f", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"bf.exists", "f", "x"}), Reason::kCommand);
  EXPECT_EQ(Why({"config", "get", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"config", "set", "x", "y"}), Reason::kCommand);
  EXPECT_EQ(Why({"client", "list"}), Reason::kAllowed);
  EXPECT_EQ(Why({"client", "kill", "x"}), Reason::kCommand);
  EXPECT_EQ(permissions_.CommandsText(), "-@all +bf.add +config|get +client -client|kill");
}

TEST_F(PermissionsTest, ALaterRuleAboutTheSameReplacesTheEarlier) {
  Apply("+client|kill +client -bf.add +BF.ADD +@read -@read +@read");
  EXPECT_EQ(permissions_.CommandsText(), "-@all +client +bf.add +@read");
  Apply("+@all -@dangerous");
  EXPECT_EQ(permissions_.CommandsText(), "+@all -@dangerous");
}

TEST_F(PermissionsTest, CategoriesAreReadOffTheRows) {
  Apply("+@bloom -@write ~*");
  EXPECT_EQ(Why({"bf.exists", "f", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"bf.add", "f", "x"}), Reason::kCommand);
  EXPECT_EQ(Why({"cf.exists", "f", "x"}), Reason::kCommand);
  Apply("+@ALL -@dangerous");
  for (const std::string_view name : {"flushall", "save", "info"}) EXPECT_EQ(Why({name}), Reason::kCommand) << name;
  EXPECT_EQ(Why({"keys", "*"}), Reason::kCommand);
  EXPECT_EQ(Why({"acl", "setuser", "x"}), Reason::kCommand);
  EXPECT_EQ(Why({"acl", "whoami"}), Reason::kAllowed);
  EXPECT_EQ(Apply("+@scripting"), "");
}

TEST_F(PermissionsTest, UnknownNamesAreRefused) {
  for (const std::string_view rule : {"+nothing", "-nothing", "+config|nothing", "+@nothing", "-@", "+", "-"}) {
    EXPECT_EQ(Apply(rule), "Unknown command or category name in ACL") << rule;
  }
  EXPECT_THAT(Apply("+ping|x"), HasSubstr("first argument"));
  EXPECT_EQ(Apply("-ping|x"), "Unknown command or category name in ACL");
  EXPECT_EQ(Apply("+config|get|x"), "Allowing first-arg of a subcommand is not supported");
  for (const std::string_view rule :
       {"what", "%", "%~", "%~x", "%Q~x", "%RR~x", "%RWR~", "%R%W~x", "+config|", "@read", "é", "~a\tb", "&\n"}) {
    EXPECT_EQ(Apply(rule), "Syntax error") << rule;
  }
  EXPECT_EQ(permissions_.Text(), "resetchannels -@all");
}

TEST_F(PermissionsTest, KeysToReadAndToWrite) {
  Apply("+@all ~both:* %R~in:* %W~out:*");
  EXPECT_EQ(Why({"bf.add", "both:1", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"bf.exists", "both:1", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"bf.exists", "in:1", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"bf.add", "in:1", "x"}), Reason::kKey);
  EXPECT_EQ(Why({"bf.add", "out:1", "x"}), Reason::kAllowed);
  EXPECT_EQ(Why({"bf.exists", "out:1", "x"}), Reason::kKey);
  EXPECT_EQ(permissions_.KeysText(), "~both:* %R~in:* %W~out:*");
}

TEST_F(PermissionsTest, RightsToOnePatternAddUp) {
  Apply("+@all %R~a");
  EXPECT_EQ(Why({"rename", "a", "a"}), Reason::kKey);
  Apply("%w~a");
  EXPECT_EQ(Why({"rename", "a", "a"}), Reason::kAllowed);
  EXPECT_EQ(permissions_.KeysText(), "~a");
  EXPECT_EQ(Apply("resetkeys %R %W~* %R~*"), "");
  EXPECT_EQ(permissions_.KeysText(), "%R~ %RW~*");
  const std::string text = permissions_.Text();
  permissions_ = Permissions(index_);
  EXPECT_EQ(Apply(text), "") << "nothing of it is allkeys, after which no pattern is taken";
  EXPECT_EQ(permissions_.Text(), text);
}

TEST_F(PermissionsTest, EachKeyOfACommandIsLookedAt) {
  Apply("+@all %R~in:* %W~out:*");
  EXPECT_EQ(Why({"copy", "in:1", "out:1"}), Reason::kAllowed);
  EXPECT_EQ(Check({"copy", "in:1", "in:2"}).argument, 2u);
  EXPECT_EQ(Check({"copy", "out:1", "out:2"}).argument, 1u);
  EXPECT_EQ(Why({"bf.merge", "out:1", "in:1", "in:2"}), Reason::kAllowed);
  EXPECT_EQ(Check({"bf.merge", "out:1", "in:1", "out:2"}).argument, 3u);
  // RENAME shows the filter under another name, so it needs the right to read the old one.
  EXPECT_EQ(Check({"rename", "out:1", "out:2"}).argument, 1u);
  EXPECT_EQ(Why({"del", "out:1", "out:2"}), Reason::kAllowed);
  EXPECT_EQ(Check({"del", "out:1", "in:2"}).argument, 2u);
}

TEST_F(PermissionsTest, APatternAfterAllKeysIsRefused) {
  Apply("~*");
  EXPECT_THAT(Apply("~a"), HasSubstr("Try 'resetkeys'"));
  EXPECT_THAT(Apply("%R~a"), HasSubstr("Try 'resetkeys'"));
  EXPECT_EQ(Apply("resetkeys ~a ~a"), "");
  EXPECT_EQ(permissions_.KeysText(), "~a");
  EXPECT_EQ(Apply("%RW~* ~x"), "") << "a pattern like others, as in Redis";
  EXPECT_EQ(permissions_.KeysText(), "~a %RW~* ~x");
}

TEST_F(PermissionsTest, Channels) {
  Apply("+@all &news.* &x");
  EXPECT_EQ(Why({"publish", "news.1", "m"}), Reason::kAllowed);
  EXPECT_EQ(Why({"publish", "other", "m"}), Reason::kChannel);
  EXPECT_EQ(Check({"subscribe", "x", "y"}).argument, 2u);
  EXPECT_EQ(Why({"psubscribe", "news.*"}), Reason::kAllowed);
  EXPECT_EQ(Why({"psubscribe", "news.1*"}), Reason::kChannel);
  EXPECT_EQ(Why({"unsubscribe", "z"}), Reason::kAllowed);
  EXPECT_THAT(Apply("&* &x"), HasSubstr("Try 'resetchannels'"));
  EXPECT_EQ(permissions_.ChannelsText(), "&*");
  Apply("resetchannels");
  EXPECT_EQ(Why({"publish", "news.1", "m"}), Reason::kChannel);
}

TEST_F(PermissionsTest, WhetherChannelsAreCovered) {
  Permissions other(index_);
  EXPECT_TRUE(permissions_.CoversChannelsOf(other));
  (void)other.Apply("&a");
  EXPECT_FALSE(permissions_.CoversChannelsOf(other));
  Apply("&a &b");
  EXPECT_TRUE(permissions_.CoversChannelsOf(other));
  (void)other.Apply("&*");
  EXPECT_FALSE(permissions_.CoversChannelsOf(other));
  Apply("&*");
  EXPECT_TRUE(permissions_.CoversChannelsOf(other));
}

TEST_F(PermissionsTest, UnlimitedMeansAllOfThree) {
  EXPECT_FALSE(permissions_.unlimited());
  Apply("allcommands ALLKEYS");
  EXPECT_FALSE(permissions_.unlimited());
  Apply("allchannels");
  EXPECT_TRUE(permissions_.unlimited());
  EXPECT_EQ(permissions_.Text(), "~* &* +@all");
  Apply("-ping");
  EXPECT_FALSE(permissions_.unlimited());
}

TEST_F(PermissionsTest, TheTextMakesEqualOnes) {
  Apply("+@all -@write +bf.add -config|set ~a %R~b &c resetchannels &d");
  const std::string text = permissions_.Text();
  permissions_ = Permissions(index_);
  EXPECT_EQ(Apply(text), "");
  EXPECT_EQ(permissions_.Text(), text);
}

}  // namespace
}  // namespace bitsieve::server
