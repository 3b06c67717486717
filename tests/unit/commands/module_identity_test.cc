#include "commands/module_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::commands {
namespace {

using testing::HasSubstr;

class ModuleIdentityTest : public testing::Test, protected test::CommandFixture {};

// Clients compare the version as a number: two digits each for minor and patch.
TEST_F(ModuleIdentityTest, ClientsFindRedisBloom2812) {
  const std::string reply = Reply({"MODULE", "LIST"});
  EXPECT_THAT(reply, HasSubstr("$2\r\nbf\r\n"));
  EXPECT_THAT(reply, HasSubstr(":20812\r\n"));
  EXPECT_EQ(kModuleName, "bf");
  EXPECT_EQ(kModuleVersion, 2 * 10'000 + 8 * 100 + 12);
}

}  // namespace
}  // namespace bitsieve::commands
