// HASH of BF.RESERVE and BF.INSERT, and what it means to the verbs that look at several filters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using testing::HasSubstr;

using test::kOk;

class HashCommandsTest : public testing::Test, protected CommandFixture {};

TEST_F(HashCommandsTest, EachIsChosenByName) {
  for (const char* name : {"xxh3", "murmur3", "fnv1a", "sip"}) {
    for (const std::string& kind : test::TypeNames(test::AnyHash)) {
      const std::string key = std::string(name) + kind;
      EXPECT_EQ(Reply({"BF.RESERVE", key, "0.01", "100", "HASH", name, "TYPE", kind, "SEED", "1"}), kOk);
      EXPECT_EQ(Reply({"BF.MADD", key, "a", "b", "a"}), "*3\r\n:1\r\n:1\r\n:0\r\n");
      EXPECT_EQ(Reply({"BF.MEXISTS", key, "a", "b", "c"}), "*3\r\n:1\r\n:1\r\n:0\r\n");
      EXPECT_THAT(Reply({"BF.INFO", key, "FULL"}),
                  HasSubstr("+Hash\r\n$" + std::to_string(std::strlen(name)) + "\r\n" + name));
    }
  }
  EXPECT_EQ(Reply({"BF.INSERT", "inserted", "HASH", "SIP", "ITEMS", "a"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "inserted", "hash"}), "*1\r\n$3\r\nsip\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "default", "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "default", "HASH"}), "*1\r\n$4\r\nxxh3\r\n");
}

TEST_F(HashCommandsTest, WhatIsWrongIsTold) {
  const std::string unknown = "-ERR unknown hash 'md5', must be one of: xxh3, murmur3, fnv1a, sip\r\n";
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "HASH", "md5"}), unknown);
  EXPECT_EQ(Reply({"BF.INSERT", "f", "HASH", "md5", "ITEMS", "x"}), unknown);
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "HASH"}), "-ERR no hash\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "f", "HASH"}), test::ArityReply("bf.insert"));
  const std::string misplaced = "-ERR HASH is for TYPE " + core::FilterTypeNames(" or ", test::AnyHash) + " only\r\n";
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "counting", "HASH", "sip"}), misplaced);
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "HASH", "xxh3", "TYPE", "window", "WINDOW", "100"}), misplaced);
  EXPECT_EQ(Reply({"EXISTS", "f"}), ":0\r\n");
}

TEST_F(HashCommandsTest, AnotherHashIsAnotherFilter) {
  EXPECT_EQ(Reply({"BF.RESERVE", "sip", "0.01", "100", "HASH", "sip", "SEED", "1"}), kOk);
  EXPECT_EQ(Reply({"BF.RESERVE", "sip", "0.01", "100", "HASH", "sip", "IFNOTEXISTS"}), kOk);
  EXPECT_EQ(Reply({"BF.RESERVE", "sip", "0.01", "100", "IFNOTEXISTS"}),
            "-ERR item exists with a different hash: it has sip, not xxh3\r\n");
  EXPECT_EQ(Reply({"BF.RESERVE", "xxh3", "0.01", "100", "SEED", "1"}), kOk);
  const std::string differ = "-ERR cannot merge: they differ in their hash: sip and xxh3\r\n";
  EXPECT_EQ(Reply({"BF.MERGE", "all", "sip", "xxh3"}), differ);
  EXPECT_EQ(Reply({"BF.ESTIMATE", "sip", "xxh3"}), differ);
}

// Each filter is looked up with its own hash, and what is made of a filter keeps it.
TEST_F(HashCommandsTest, ItGoesWithTheFilter) {
  Reply({"BF.RESERVE", "sip", "0.001", "100", "HASH", "sip"});
  Reply({"BF.RESERVE", "murmur3", "0.001", "100", "HASH", "murmur3"});
  Reply({"BF.ADD", "sip", "a"});
  EXPECT_EQ(Reply({"BF.EXISTSIN", "a", "sip", "murmur3", "none"}), "*3\r\n:1\r\n:0\r\n$-1\r\n");
  EXPECT_EQ(Reply({"COPY", "sip", "copy"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.MERGE", "merged", "sip", "copy"}), kOk);
  for (const char* key : {"copy", "merged"}) {
    EXPECT_EQ(Reply({"BF.INFO", key, "HASH"}), "*1\r\n$3\r\nsip\r\n");
    EXPECT_EQ(Reply({"BF.EXISTS", key, "a"}), ":1\r\n");
  }
  EXPECT_EQ(Reply({"BF.CLEAR", "copy"}), kOk);
  EXPECT_EQ(Reply({"BF.INFO", "copy", "HASH"}), "*1\r\n$3\r\nsip\r\n");
}

}  // namespace
}  // namespace bitsieve::server
