#include "server/auth/user.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/commands/all_commands.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Reason = Verdict::Reason;

class UserTest : public testing::Test {
 protected:
  std::string Apply(const std::vector<std::string_view>& rules) {
    const core::Status status = user_.Apply(rules);
    return status ? "" : status.error().message;
  }
  Verdict Check(const std::vector<std::string_view>& command) const {
    return user_.Check(*AllCommands().Find(command[0]), command);
  }

  const CommandIndex index_{AllCommands().all_rows()};
  User user_{"bob", index_};
};

TEST_F(UserTest, ANewOneIsOffAndHasNoPassword) {
  EXPECT_FALSE(user_.Accepts(""));
  EXPECT_EQ(user_.Text(), "user bob off resetchannels -@all");
  Apply({"on"});
  EXPECT_FALSE(user_.Accepts(""));
}

TEST_F(UserTest, AnyOfItsPasswordsDoes) {
  Apply({"on", ">one", "#" + HexOf(HashPassword("two"))});
  EXPECT_TRUE(user_.Accepts("one"));
  EXPECT_TRUE(user_.Accepts("two"));
  EXPECT_FALSE(user_.Accepts("three"));
  EXPECT_FALSE(user_.Accepts(""));
  EXPECT_EQ(Apply({"<one"}), "");
  EXPECT_FALSE(user_.Accepts("one"));
  EXPECT_EQ(Apply({"!" + HexOf(HashPassword("two"))}), "");
  EXPECT_TRUE(user_.passwords().empty());
}

TEST_F(UserTest, NopassAcceptsAnyAndAPasswordEndsIt) {
  Apply({"on", ">one", "nopass"});
  EXPECT_TRUE(user_.Accepts("whatever"));
  EXPECT_THAT(user_.Flags(), ElementsAre("on", "nopass"));
  Apply({">two"});
  EXPECT_FALSE(user_.Accepts("whatever"));
  EXPECT_FALSE(user_.Accepts("one"));
  Apply({"resetpass"});
  EXPECT_FALSE(user_.Accepts("two"));
}

TEST_F(UserTest, PasswordsOfAnyBytesAndOfALimitedLength) {
  EXPECT_EQ(Apply({"on", ">" + std::string(kMaxPasswordBytes, 'x')}), "");
  EXPECT_TRUE(user_.Accepts(std::string(kMaxPasswordBytes, 'x')));
  EXPECT_THAT(Apply({">" + std::string(kMaxPasswordBytes + 1, 'x')}), HasSubstr("at most 16384 bytes"));
  EXPECT_FALSE(user_.Accepts(std::string(kMaxPasswordBytes + 1, 'x')));
  EXPECT_EQ(Apply({std::string_view(">\0\xff", 3)}), "");
  EXPECT_TRUE(user_.Accepts(std::string_view("\0\xff", 2)));
}

TEST_F(UserTest, ErrorsQuoteTheRuleButNoPassword) {
  EXPECT_EQ(Apply({"#12"}),
            "Error in ACL SETUSER modifier '#12': The password hash must be exactly 64 characters and contain only "
            "lowercase hexadecimal characters");
  EXPECT_EQ(Apply({"<secret"}),
            "Error in ACL SETUSER modifier '<***': The password you are trying to remove from the user does not exist");
  EXPECT_THAT(Apply({std::string(10'000, 'x')}), HasSubstr("Syntax error"));
  EXPECT_LT(Apply({std::string(10'000, 'x')}).size(), 300u);
}

TEST_F(UserTest, ErrorsShowNoPasswordOfASelectorEither) {
  for (const std::string_view rules :
       {"(>SECRET)", "(+ping >SECRET)", "(>SECRET", "(+ping <SECRET x)", "((>SECRET))"}) {
    EXPECT_THAT(Apply({rules}), Not(HasSubstr("SECRET"))) << rules;
  }
  EXPECT_THAT(Apply({"(+ping", ">SECRET", "~x)"}), HasSubstr("'(+ping >***'"));
  EXPECT_EQ(Apply({"(+ping", "~x"}), "Unmatched parenthesis in acl selector starting at '(+ping'.");
}

TEST_F(UserTest, AnEmptyRuleIsNone) {
  const std::string before = user_.Text();
  EXPECT_EQ(Apply({""}), "");
  EXPECT_EQ(user_.Text(), before);
}

TEST_F(UserTest, AllRulesOrNone) {
  Apply({"on", ">one"});
  const std::string before = user_.Text();
  EXPECT_THAT(Apply({"+ping", "off", "nonsense"}), HasSubstr("nonsense"));
  EXPECT_EQ(user_.Text(), before);
}

TEST_F(UserTest, EachSelectorIsEnough) {
  Apply({"on", "+bf.add", "~a:*", "(+bf.exists", "%R~b:*)", "(+@all ~c:*)"});
  EXPECT_EQ(Check({"bf.add", "a:1", "x"}).reason, Reason::kAllowed);
  EXPECT_EQ(Check({"bf.exists", "b:1", "x"}).reason, Reason::kAllowed);
  EXPECT_EQ(Check({"bf.add", "b:1", "x"}).reason, Reason::kKey);
  EXPECT_EQ(Check({"bf.exists", "a:1", "x"}).reason, Reason::kKey);
  EXPECT_EQ(Check({"bf.mexists", "c:1", "x"}).reason, Reason::kAllowed);
  EXPECT_EQ(user_.Text(),
            "user bob on ~a:* resetchannels -@all +bf.add (%R~b:* resetchannels -@all +bf.exists) "
            "(~c:* resetchannels +@all)");
  EXPECT_THAT(Apply({"(+get"}), HasSubstr("Unmatched parenthesis in acl selector starting at '(+get'."));
  EXPECT_THAT(Apply({"(on)"}), HasSubstr("Syntax error"));
  EXPECT_THAT(Apply({"(~a))"}), HasSubstr("Syntax error"));
  Apply({"clearselectors"});
  EXPECT_EQ(Check({"bf.exists", "b:1", "x"}).reason, Reason::kCommand);
}

TEST_F(UserTest, ResetMakesItNew) {
  Apply({"on", ">one", "+@all", "~*", "&*", "(+@all)"});
  EXPECT_TRUE(user_.unlimited());
  Apply({"reset"});
  EXPECT_EQ(user_.Text(), "user bob off resetchannels -@all");
}

TEST_F(UserTest, TheTextHasNoPassword) {
  Apply({"on", ">verysecret"});
  EXPECT_THAT(user_.Text(), Not(HasSubstr("verysecret")));
}

}  // namespace
}  // namespace bitsieve::server
