// The record of a connection, and the line that shows it.
#include "server/session/client_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/session/client_description.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;

TEST(ClientRecord, ClosingCallsTheConnectionWithTheReason) {
  ClientRecord client(7, "127.0.0.1:5000", "127.0.0.1:7000", 1'000);
  std::string closed;
  client.close = [&closed](const char* reason) { closed = reason; };
  EXPECT_FALSE(client.doomed);
  client.Close("CLIENT KILL");
  EXPECT_TRUE(client.doomed);
  EXPECT_EQ(closed, "CLIENT KILL");
}

TEST(ClientRecord, IsSubscribedToChannelsOrPatterns) {
  ClientRecord client(7, "", "", 0);
  EXPECT_FALSE(client.is_subscribed());
  client.patterns = 1;
  EXPECT_TRUE(client.is_subscribed());
}

TEST(ClientDescription, ShowsWhatWasSet) {
  ClientRecord client(7, "127.0.0.1:5000", "127.0.0.1:7000", 1'000);
  client.last_active_ms = 4'000;
  client.last_command = "bf.add";
  client.set_name("worker");
  client.set_user("reader");
  client.set_library_name("redis-py");
  client.set_library_version("5.0");
  client.channels = 2;
  client.queued_commands = 3;
  const std::string line = DescribeClient(client, 11'000);
  for (const char* field :
       {"id=7 ", "addr=127.0.0.1:5000 ", "laddr=127.0.0.1:7000 ", "name=worker ", "age=10 ", "idle=7 ", "sub=2 ",
        "multi=3 ", "cmd=bf.add", "user=reader", "lib-name=redis-py", "lib-ver=5.0", "resp=2"}) {
    EXPECT_THAT(line, HasSubstr(field));
  }
}

TEST(ClientDescription, ANewClientIsTheDefaultUserOutsideOfMulti) {
  const ClientRecord client(8, "a", "b", 0);
  EXPECT_THAT(DescribeClient(client, 0), HasSubstr("multi=-1"));
  EXPECT_THAT(DescribeClient(client, 0), HasSubstr("user=default"));
}

}  // namespace
}  // namespace bitsieve::server
