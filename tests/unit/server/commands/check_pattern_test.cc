#include "server/commands/check_pattern.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

class CheckPatternTest : public testing::Test, protected test::CommandFixture {
 protected:
  const Environment environment_ = EnvironmentWith(nullptr);
  std::string replied_;
  protocol::ReplyWriter reply_{replied_};
  ServerContext context_{environment_, session, reply_};
};

TEST_F(CheckPatternTest, APatternMayBeAsLongAsTheOptionSays) {
  settings.max_pattern_bytes = 5;
  EXPECT_TRUE(CheckPattern(context_, "user*"));
  EXPECT_EQ(replied_, "");
  EXPECT_EQ(context_.tally.errors, 0U);
}

TEST_F(CheckPatternTest, ALongerOneIsAnErrorThatNamesTheLimitAndItsOption) {
  settings.max_pattern_bytes = 5;
  EXPECT_FALSE(CheckPattern(context_, "users*"));
  EXPECT_EQ(replied_, "-ERR a pattern of 6 bytes is too long: at most 5 are allowed (option max-pattern-bytes)\r\n");
  EXPECT_EQ(context_.tally.errors, 1U);
}

TEST_F(CheckPatternTest, ALimitThatIsChangedCountsForTheNextPattern) {
  settings.max_pattern_bytes = 5;
  EXPECT_FALSE(CheckPattern(context_, "users*"));
  settings.max_pattern_bytes = 6;
  EXPECT_TRUE(CheckPattern(context_, "users*"));
}

}  // namespace
}  // namespace bitsieve::server
