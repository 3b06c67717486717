#include "server/http/admin_access.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(PrivateHost, IsAnAddressOrANameThatNobodyElseCanOwn) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:9379", "[::1]:9379", "[::1]", "10.1.2.3", "localhost", "LOCALHOST:1",
                           "bitsieve", "bitsieve-0:9379", "bitsieve.default.svc.cluster.local:9379",
                           "bitsieve.default.svc", "printer.local", "a.internal"}) {
    EXPECT_TRUE(IsPrivateHost(host)) << host;
  }
  for (const char* host : {"", ":80", "evil.com", "evil.com:9379", "localhost.evil.com", "127.0.0.1.evil.com",
                           "evil.com.", "[::1", "[::1]x", "a b", "<script>", "evil.com\\.local", "::1"}) {
    EXPECT_FALSE(IsPrivateHost(host)) << host;
  }
  EXPECT_FALSE(IsPrivateHost(std::string(300, 'a')));
}

TEST(BasicCredentials, AreDecoded) {
  EXPECT_EQ(BasicCredentials("Basic dXNlcjpwYXNz"), (Credentials{"user", "pass"}));
  EXPECT_EQ(BasicCredentials("basic dTpwOnE="), (Credentials{"u", "p:q"}));
  EXPECT_EQ(BasicCredentials("Basic Og=="), (Credentials{"", ""}));
  EXPECT_EQ(BasicCredentials("Basic dTr7/w=="), (Credentials{"u", "\xfb\xff"}));
  for (const char* wrong : {"", "Basic", "Basic ", "Basic dXNlcg==", "Basic dXNlcjpwYXN", "Basic !!!!",
                            "Basic d===", "Bearer dXNlcjpwYXNz"}) {
    EXPECT_FALSE(BasicCredentials(wrong)) << wrong;
  }
}

class Admitting : public ::testing::Test {
 protected:
  AdminAccess access_{
      .needs_password = [this] { return needs_password_; },
      .may_read = [](std::string_view user, std::string_view password) { return user == "u" && password == "p"; }};
  AdminRequest request_{.method = "GET", .path = "/", .host = "bitsieve"};
  bool needs_password_ = true;
};

TEST_F(Admitting, NeedsAPasswordBeyondLoopback) {
  EXPECT_EQ(Admit(access_, request_), Admission::kNeedsPassword);
  request_.authorization = "Basic dTp4";
  EXPECT_EQ(Admit(access_, request_), Admission::kNeedsPassword);
  request_.authorization = "Basic dTpw";
  EXPECT_EQ(Admit(access_, request_), Admission::kAllowed);
}

TEST_F(Admitting, NeedsNoneOnLoopbackOrWithoutUsers) {
  request_.from_loopback = true;
  EXPECT_EQ(Admit(access_, request_), Admission::kAllowed);
  request_.from_loopback = false;
  needs_password_ = false;
  EXPECT_EQ(Admit(access_, request_), Admission::kAllowed);
  EXPECT_EQ(Admit({}, request_), Admission::kAllowed);
}

TEST_F(Admitting, RefusesOtherMachinesInProtectedMode) {
  needs_password_ = false;
  access_.is_protected = [] { return true; };
  EXPECT_EQ(Admit(access_, request_), Admission::kProtected);
  request_.authorization = "Basic dTpw";
  EXPECT_EQ(Admit(access_, request_), Admission::kProtected) << "as the main port, which hears no AUTH then";
  request_.from_loopback = true;
  EXPECT_EQ(Admit(access_, request_), Admission::kAllowed);
}

TEST_F(Admitting, RefusesAStrangeHostUnlessThereIsAPassword) {
  request_.host = "evil.com";
  request_.from_loopback = true;
  EXPECT_EQ(Admit(access_, request_), Admission::kStrangeHost);
  EXPECT_EQ(Admit({}, request_), Admission::kStrangeHost);
  request_.authorization = "Basic dTpw";
  EXPECT_EQ(Admit(access_, request_), Admission::kAllowed);
  needs_password_ = false;
  EXPECT_EQ(Admit(access_, request_), Admission::kStrangeHost) << "where any password would do";
}

}  // namespace
}  // namespace bitsieve::server
