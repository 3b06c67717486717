#include "server/auth/password.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bitsieve::server {
namespace {

TEST(PasswordTest, TheHashIsThatOfTheStandard) {
  EXPECT_EQ(HexOf(HashPassword("secret")), "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b");
  EXPECT_EQ(HexOf(HashPassword("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(PasswordTest, HashesAreReadInLowerCaseAlone) {
  const std::string hex = HexOf(HashPassword("x"));
  ASSERT_TRUE(ParseHash(hex));
  EXPECT_TRUE(SameHash(*ParseHash(hex), HashPassword("x")));
  EXPECT_FALSE(SameHash(*ParseHash(hex), HashPassword("y")));
  EXPECT_FALSE(ParseHash(hex.substr(1)));
  EXPECT_FALSE(ParseHash(hex + "0"));
  EXPECT_FALSE(ParseHash(std::string(64, 'A')));
  EXPECT_FALSE(ParseHash(std::string(64, 'g')));
}

TEST(PasswordTest, RandomOnesHaveAsManyDigitsAsBitsNeed) {
  EXPECT_EQ(RandomPassword(256).size(), 64u);
  EXPECT_EQ(RandomPassword(1).size(), 1u);
  EXPECT_EQ(RandomPassword(5).size(), 2u);
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) all.insert(RandomPassword(128));
  EXPECT_EQ(all.size(), 1000u);
}

}  // namespace
}  // namespace bitsieve::server
