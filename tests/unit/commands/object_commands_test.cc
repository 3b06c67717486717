#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ObjectCommandsTest : public testing::Test, protected test::CommandFixture {};

TEST_F(ObjectCommandsTest, ObjectIsAnsweredAsByRedis) {
  Reply({"BF.ADD", "f", "x"});
  EXPECT_EQ(Reply({"OBJECT", "ENCODING", "f"}), "$3\r\nraw\r\n");
  EXPECT_EQ(Reply({"OBJECT", "IDLETIME", "f"}), ":0\r\n");
  EXPECT_EQ(Reply({"OBJECT", "REFCOUNT", "f"}), ":1\r\n");
  EXPECT_THAT(Reply({"OBJECT", "FREQ", "f"}), StartsWith("-ERR An LFU maxmemory policy is not selected"));
  for (const char* subcommand : {"ENCODING", "IDLETIME", "REFCOUNT", "FREQ"}) {
    EXPECT_EQ(Reply({"OBJECT", subcommand, "none"}), "$-1\r\n") << subcommand;
  }
  EXPECT_EQ(Reply({"OBJECT", "ENCODING"}), "-ERR wrong number of arguments for 'object|encoding' command\r\n");
}

TEST_F(ObjectCommandsTest, ThereAreNoReplicas) {
  EXPECT_EQ(Reply({"ROLE"}), "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  EXPECT_EQ(Reply({"WAIT", "0", "0"}), ":0\r\n");
  EXPECT_EQ(Reply({"WAIT", "3", "0"}), ":0\r\n") << "at once, though Redis would wait for ever";
  EXPECT_EQ(Reply({"WAIT", "1", "-1"}), "-ERR timeout is negative\r\n");
  EXPECT_EQ(Reply({"WAIT", "x", "1"}), "-ERR value is not an integer or out of range\r\n");
  EXPECT_EQ(Reply({"WAIT", "1", "x"}), "-ERR timeout is not an integer or out of range\r\n");
}

TEST_F(ObjectCommandsTest, MemoryFigures) {
  Reply({"BF.RESERVE", "f", "0.01", "100000"});
  const std::string figures = Reply({"MEMORY", "STATS"});
  EXPECT_THAT(figures, StartsWith("*20\r\n$15\r\ntotal.allocated\r\n:" + std::to_string(budget.used_bytes()) + "\r\n"));
  EXPECT_THAT(figures, HasSubstr("$10\r\nkeys.count\r\n:1\r\n"));
  EXPECT_EQ(Reply({"MEMORY", "PURGE"}), "+OK\r\n");
  EXPECT_THAT(Reply({"MEMORY", "MALLOC-STATS"}), HasSubstr("heap_bytes_in_use:"));
}

TEST_F(ObjectCommandsTest, TheDoctorTellsWhenMemoryRunsOut) {
  Reply({"BF.RESERVE", "f", "0.01", "100000"});
  // A process under a sanitizer takes far more than its filters, which is a problem of its own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  EXPECT_THAT(Reply({"MEMORY", "DOCTOR"}), testing::Not(HasSubstr("bytes of maxmemory")));
#else
  EXPECT_THAT(Reply({"MEMORY", "DOCTOR"}), HasSubstr("No memory problems were found."));
#endif
  budget.set_limit_bytes(budget.used_bytes() + 10);
  EXPECT_THAT(Reply({"MEMORY", "DOCTOR"}), HasSubstr("bytes of maxmemory"));
}

}  // namespace
}  // namespace bitsieve::server
