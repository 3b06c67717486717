#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using test::CommandFixture;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CommandCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  const std::string count_ = std::to_string(AllCommands().rows().size());
};

// The length of the reply that starts at `at`, read with a small parser of its own.
size_t SkipReply(const std::string& bytes, size_t at) {
  const size_t line_end = bytes.find("\r\n", at);
  if (line_end == std::string::npos) return std::string::npos;
  const char type = bytes[at];
  const size_t next = line_end + 2;
  if (type == '+' || type == '-' || type == ':' || type == '_' || type == '#') return next;
  const int64_t number = std::stoll(bytes.substr(at + 1));
  if (type == '$') return number < 0 ? next : next + static_cast<size_t>(number) + 2;
  size_t end = next;
  for (int64_t i = 0; i < number * (type == '%' ? 2 : 1); ++i) {
    if (end >= bytes.size()) return std::string::npos;
    end = SkipReply(bytes, end);
  }
  return end;
}

TEST_F(CommandCommandsTest, RepliesAreWholeInBothVersions) {
  for (const auto version : {protocol::ProtocolVersion::kResp2, protocol::ProtocolVersion::kResp3}) {
    session.version = version;
    for (const test::Words& command : {test::Words{"COMMAND"}, {"COMMAND", "DOCS"}, {"COMMAND", "INFO"}}) {
      const std::string reply = Reply(command);
      EXPECT_EQ(SkipReply(reply, 0), reply.size());
    }
  }
}

TEST_F(CommandCommandsTest, CountsAndLists) {
  EXPECT_EQ(Reply({"COMMAND", "COUNT"}), ":" + count_ + "\r\n");
  EXPECT_THAT(Reply({"COMMAND"}), StartsWith("*" + count_ + "\r\n*10\r\n"));
  EXPECT_THAT(Reply({"COMMAND", "LIST"}), StartsWith("*" + count_ + "\r\n"));
  EXPECT_EQ(Reply({"COMMAND", "LIST", "FILTERBY", "PATTERN", "bf.m*"}),
            "*4\r\n$7\r\nbf.madd\r\n$7\r\nbf.mdel\r\n$8\r\nbf.merge\r\n$10\r\nbf.mexists\r\n");
  EXPECT_THAT(Reply({"COMMAND", "LIST", "FILTERBY", "MODULE", "bf"}),
              AllOf(HasSubstr("\r\nbf.add\r\n"), HasSubstr("\r\ncf.add\r\n"), Not(HasSubstr("\r\nping\r\n"))));
  EXPECT_EQ(Reply({"COMMAND", "LIST", "FILTERBY", "MODULE", "json"}), "*0\r\n");
  EXPECT_THAT(Reply({"COMMAND", "LIST", "FILTERBY", "ACLCAT", "transaction"}),
              AllOf(HasSubstr("\r\nmulti\r\n"), Not(HasSubstr("\r\nping\r\n"))));
  EXPECT_EQ(Reply({"COMMAND", "LIST", "FILTERBY", "MODULE"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"COMMAND", "LIST", "FILTERBY"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"COMMAND", "LIST", "WHAT"}), "-ERR syntax error\r\n");
}

TEST_F(CommandCommandsTest, InfoHasTenElements) {
  EXPECT_EQ(Reply({"COMMAND", "INFO", "BF.ADD", "nothing"}),
            "*2\r\n*10\r\n$6\r\nbf.add\r\n:3\r\n*4\r\n+write\r\n+denyoom\r\n+module\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
            "*3\r\n+@write\r\n+@fast\r\n+@bloom\r\n*0\r\n*0\r\n*0\r\n*-1\r\n");
  EXPECT_THAT(Reply({"COMMAND", "INFO", "client|id"}), HasSubstr("$9\r\nclient|id\r\n:2\r\n"));
  EXPECT_THAT(Reply({"COMMAND", "INFO", "client"}), HasSubstr("$9\r\nclient|id\r\n:2\r\n"));
}

TEST_F(CommandCommandsTest, DocsSkipWhatIsUnknown) {
  EXPECT_EQ(Reply({"COMMAND", "DOCS", "nothing"}), "*0\r\n");
  EXPECT_THAT(Reply({"COMMAND", "DOCS", "nothing", "ping"}),
              StartsWith("*2\r\n$4\r\nping\r\n*10\r\n$7\r\nsummary\r\n"));
  EXPECT_THAT(Reply({"COMMAND", "DOCS", "CLIENT"}),
              AllOf(HasSubstr("$11\r\nsubcommands\r\n*"), HasSubstr("$9\r\nclient|id\r\n")));
}

}  // namespace
}  // namespace bitsieve::server
