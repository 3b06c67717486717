#include "clients/cpp/server_url.h"

#include <gtest/gtest.h>

namespace bitsieve::clients {
namespace {

TEST(ServerUrl, NamesAServer) {
  const auto plain = ParseServerUrl("redis://filters");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "filters");
  EXPECT_EQ(plain->port, 6379);
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(ParseServerUrl("bitsieve://filters/")->port, 7379);
  const auto full = ParseServerUrl("rediss://joe:p%40ss%3a@[::1]:7000");
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->tls);
  EXPECT_EQ(full->host, "::1");
  EXPECT_EQ(full->port, 7000);
  EXPECT_EQ(full->user, "joe");
  EXPECT_EQ(full->password, "p@ss:");
  EXPECT_EQ(ParseServerUrl("redis://:secret@h")->user, "");
  EXPECT_EQ(ParseServerUrl("redis://:secret@h")->password, "secret");
  EXPECT_EQ(ParseServerUrl("unix:///run/bitsieve.sock")->unixsocket, "/run/bitsieve.sock");
}

TEST(ServerUrl, AnythingElseIsExplained) {
  for (const char* text :
       {"", "filters", "http://x", "redis://", "redis://:7", "redis://h:0", "redis://h:65536", "redis://h:x",
        "redis://[::1", "redis://[::1]7", "redis://h/1", "unix://x", "redis://a:%zz@h", "redis://a:%4@h"}) {
    const auto url = ParseServerUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().find("redis://[user:password@]host"), std::string::npos) << url.error();
  }
  EXPECT_EQ(ParseServerUrl("redis://a:%zz@h").error().find("zz"), std::string::npos) << "no password in an error";
}

}  // namespace
}  // namespace bitsieve::clients
