#include "server/options/access_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/captured_log.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class AccessControlTest : public ::testing::Test {
 protected:
  std::string FileOf(const std::string& name, std::string_view text) const {
    std::ofstream(directory_.path() + "/" + name) << text;
    return directory_.path() + "/" + name;
  }
  bool MayEnter(std::string_view user, std::string_view password) {
    return control_.users().Authenticate(user, password) != nullptr;
  }
  void SetUser(std::string_view name, const std::vector<std::string_view>& rules) {
    ASSERT_TRUE(control_.users().Set(name, rules));
  }

  const TemporaryDirectory directory_;
  test::CapturedLog log_;
  config::Options options_;
  asio::io_context context_;
  AccessControl control_{context_};
};

TEST_F(AccessControlTest, APasswordIsTheFileWithoutItsLineEnd) {
  options_.requirepass = "given";
  EXPECT_EQ(*PasswordOf(options_), "given");
  for (const char* text : {"secret", "secret\n", "secret\r\n"}) {
    options_.requirepass_file = FileOf("password", text);
    EXPECT_EQ(*PasswordOf(options_), "secret") << "the file is chosen if there is one";
  }
  options_.requirepass_file = FileOf("password", " two\nlines \n");
  EXPECT_EQ(*PasswordOf(options_), " two\nlines ");
}

TEST_F(AccessControlTest, AFileWithoutAPasswordIsAnError) {
  for (const char* text : {"", "\n", "\r\n"}) {
    options_.requirepass_file = FileOf("password", text);
    const auto password = PasswordOf(options_);
    ASSERT_FALSE(password);
    EXPECT_EQ(password.error().code, core::ErrorCode::kInvalidArgument);
    EXPECT_THAT(password.error().message, HasSubstr(options_.requirepass_file));
  }
  options_.requirepass_file = FileOf("password", std::string(kMaxPasswordBytes + 3, 'x'));
  EXPECT_EQ(PasswordOf(options_).error().code, core::ErrorCode::kInvalidArgument) << "it is too long";
  options_.requirepass_file = directory_.path() + "/missing";
  EXPECT_EQ(PasswordOf(options_).error().code, core::ErrorCode::kIo);
}

TEST_F(AccessControlTest, AStartWithTwoPasswordsIsRefused) {
  options_.requirepass = "one";
  options_.requirepass_file = FileOf("password", "other");
  const core::Status status = control_.Start(options_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kInvalidArgument);
}

TEST_F(AccessControlTest, AStartTakesThePasswordOfTheFile) {
  options_.requirepass_file = FileOf("password", "secret\n");
  ASSERT_TRUE(control_.Start(options_));
  EXPECT_TRUE(MayEnter("default", "secret"));
  EXPECT_FALSE(MayEnter("default", ""));
}

TEST_F(AccessControlTest, AChangeOfAnotherOptionLeavesTheDefaultUser) {
  options_.requirepass = "one";
  ASSERT_TRUE(control_.Start(options_));
  SetUser("default", {">two"});
  options_.acllog_max_len = 7;
  control_.Apply(options_);
  EXPECT_TRUE(MayEnter("default", "two")) << "requirepass is what it was";
  options_.requirepass = "three";
  control_.Apply(options_);
  EXPECT_FALSE(MayEnter("default", "two"));
  EXPECT_TRUE(MayEnter("default", "three"));
}

TEST_F(AccessControlTest, WithoutAFileUsersCanBeNeitherLoadedNorSaved) {
  ASSERT_TRUE(control_.Start(options_));
  EXPECT_EQ(control_.LoadUsers().error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_EQ(control_.SaveUsers().error().code, core::ErrorCode::kInvalidArgument);
  control_.Reload();
  EXPECT_THAT(log_.TakeLines(), IsEmpty());
}

TEST_F(AccessControlTest, UsersComeFromTheFileAndGoBackThere) {
  options_.aclfile = FileOf("users", "user reader on >secret ~* +@read\n");
  ASSERT_TRUE(control_.Start(options_));
  EXPECT_TRUE(MayEnter("reader", "secret"));

  SetUser("writer", {"on", ">other", "~*", "+@write"});
  ASSERT_TRUE(control_.SaveUsers());
  EXPECT_TRUE(control_.users().Remove("writer"));
  ASSERT_TRUE(control_.LoadUsers());
  EXPECT_TRUE(MayEnter("writer", "other"));
  EXPECT_TRUE(MayEnter("reader", "secret"));
}

TEST_F(AccessControlTest, AFileWithAnErrorEndsAStartWithItsLine) {
  options_.aclfile = FileOf("users", "user reader on nopass\nuser writer fly\n");
  const core::Status status = control_.Start(options_);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr(options_.aclfile), HasSubstr("line 2")));
}

TEST_F(AccessControlTest, AFileWithAnErrorIsNotReloaded) {
  options_.aclfile = FileOf("users", "user reader on >secret ~* +@read\n");
  ASSERT_TRUE(control_.Start(options_));
  log_.TakeLines();
  FileOf("users", "user other on nopass\nuser writer fly\n");
  control_.Reload();
  EXPECT_THAT(log_.TakeLines(),
              ElementsAre(AllOf(StartsWith("error "), HasSubstr("line 2"), HasSubstr("all users are unchanged"))));
  EXPECT_TRUE(MayEnter("reader", "secret"));
  EXPECT_EQ(control_.users().Find("other"), nullptr);
}

TEST_F(AccessControlTest, TheAdminPortIsForUsersThatMayRunInfo) {
  ASSERT_TRUE(control_.Start(options_));
  const AdminAccess access = control_.OfAdminPort();
  EXPECT_FALSE(access.needs_password());
  SetUser("default", {"resetpass", ">secret"});
  EXPECT_TRUE(access.needs_password());
  SetUser("operator", {"on", ">secret", "+info"});
  SetUser("client", {"on", ">secret", "~*", "+bf.add"});
  EXPECT_TRUE(access.may_read("operator", "secret"));
  EXPECT_FALSE(access.may_read("client", "secret"));
  EXPECT_EQ(control_.log().refused(AccessRefusal::Reason::kPassword), 0U);
  EXPECT_FALSE(access.may_read("operator", "guess"));
  EXPECT_FALSE(access.may_read("nobody", "secret"));
  EXPECT_EQ(control_.log().refused(AccessRefusal::Reason::kPassword), 2U);
}

TEST_F(AccessControlTest, TheAdminPortIsProtectedWhileThereIsNoPassword) {
  ASSERT_TRUE(control_.Start(options_));
  const AdminAccess access = control_.OfAdminPort();
  EXPECT_TRUE(access.is_protected());
  options_.protected_mode = "no";
  control_.Apply(options_);
  EXPECT_FALSE(access.is_protected());
  options_.protected_mode = "yes";
  options_.requirepass = "secret";
  control_.Apply(options_);
  EXPECT_FALSE(access.is_protected());
}

TEST_F(AccessControlTest, WarnsIfClientsOfOtherMachinesAreRefused) {
  ASSERT_TRUE(control_.Start(options_));
  const auto warns = [this](const config::Options& options) {
    control_.WarnIfProtected(options);
    return !log_.TakeLines().empty();
  };
  config::Options options;
  options.bind = "127.0.0.1, ::1";
  EXPECT_FALSE(warns(options)) << "no other machine reaches it";
  options.bind = "127.0.0.1, 0.0.0.0";
  EXPECT_TRUE(warns(options));
  options.port = config::kNoPort;
  EXPECT_FALSE(warns(options));
  options.tls_port = 7380;
  EXPECT_TRUE(warns(options));
  options.protected_mode = "no";
  EXPECT_FALSE(warns(options));
  options.protected_mode = "yes";
  SetUser("default", {"resetpass", ">secret"});
  EXPECT_FALSE(warns(options)) << "there is a password";
}

}  // namespace
}  // namespace bitsieve::server
