#include "server/net/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Texts(std::string_view list) {
  const auto endpoints = ParseBindList(list, 7379);
  std::vector<std::string> texts;
  if (!endpoints) return {endpoints.error()};
  for (const auto& endpoint : *endpoints) texts.push_back(AddressText(endpoint));
  return texts;
}

TEST(Address, OneAddress) { EXPECT_THAT(Texts("127.0.0.1"), ElementsAre("127.0.0.1:7379")); }

TEST(Address, SeveralWithBlanksAndCommas) {
  EXPECT_THAT(Texts(" 127.0.0.1,::1 \t10.0.0.1, "),
              UnorderedElementsAre("127.0.0.1:7379", "[::1]:7379", "10.0.0.1:7379"));
}

TEST(Address, AStarIsEveryIpv4Address) { EXPECT_THAT(Texts("*"), ElementsAre("0.0.0.0:7379")); }

TEST(Address, TwiceTheSameIsOne) { EXPECT_THAT(Texts("::1 ::1"), ElementsAre("[::1]:7379")); }

TEST(Address, AnErrorNamesTheAddress) {
  EXPECT_THAT(Texts("127.0.0.1 300.1.2.3.4"), ElementsAre(HasSubstr("\"300.1.2.3.4\"")));
}

TEST(Address, LoopbackHasThreeForms) {
  for (const char* local : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback(asio::ip::make_address(local))) << local;
  }
  for (const char* other : {"10.0.0.1", "128.0.0.1", "::", "::2", "fe80::1", "::ffff:10.0.0.1", "0.0.0.0"}) {
    EXPECT_FALSE(IsLoopback(asio::ip::make_address(other))) << other;
  }
}

TEST(Address, NoneIsAnError) {
  EXPECT_FALSE(ParseBindList("", 1));
  EXPECT_FALSE(ParseBindList(" , ", 1));
}

}  // namespace
}  // namespace bitsieve::server
