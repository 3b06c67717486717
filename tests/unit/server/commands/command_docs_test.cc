#include "server/commands/command_docs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::HasSubstr;

// Short text for a parsed syntax: name:type, =TOKEN, ? optional, * multiple, (parts).
std::string Show(const std::vector<ArgumentDoc>& arguments) {
  std::string text;
  for (const ArgumentDoc& argument : arguments) {
    if (!text.empty()) text += " ";
    text += argument.name + ":" + std::string(argument.type);
    if (!argument.token.empty()) text += "=" + argument.token;
    if (argument.optional) text += "?";
    if (argument.multiple) text += "*";
    if (!argument.arguments.empty()) text += "(" + Show(argument.arguments) + ")";
  }
  return text;
}
std::string Parsed(std::string_view syntax) { return Show(ParseSyntax(syntax)); }

TEST(ParseSyntaxTest, ReadsWhatRowsHave) {
  EXPECT_EQ(Parsed(""), "");
  EXPECT_EQ(Parsed("key item"), "key:key item:string");
  EXPECT_EQ(Parsed("key item [item ...]"), "key:key item:string*");
  EXPECT_EQ(Parsed("[EXPANSION expansion] [NONSCALING]"),
            "expansion:string=EXPANSION? nonscaling:pure-token=NONSCALING?");
  EXPECT_EQ(Parsed("ITEMS item [item ...]"), "item:string=ITEMS*");
  EXPECT_EQ(Parsed("[ASYNC | SYNC]"), "async:oneof?(async:pure-token=ASYNC sync:pure-token=SYNC)");
  EXPECT_EQ(Parsed("<A a | B b>"), "a:oneof(a:string=A b:string=B)");
  EXPECT_EQ(Parsed("[section [section ...]]"), "section:string?*");
  EXPECT_EQ(Parsed("parameter value [parameter value ...]"), "parameter:block*(parameter:string value:string)");
  EXPECT_EQ(Parsed("[AUTH username password]"), "username:block?(username:string=AUTH password:string)");
  EXPECT_EQ(Parsed("command [arg ...]"), "command:string arg:string?*");
  EXPECT_EQ(Parsed("[HASH <xxh3 | sip>] [BITS <4 | 8>]"),
            "hash:oneof=HASH?(xxh3:string sip:string) bits:oneof=BITS?(4:pure-token=4 8:pure-token=8)");
}

TEST(ParseSyntaxTest, EveryRowHasDocumentableArguments) {
  for (const CommandRow* row : AllCommands().rows()) {
    for (const ArgumentDoc& argument : ParseSyntax(row->syntax)) {
      EXPECT_FALSE(argument.name.empty()) << row->name;
      EXPECT_EQ(argument.type == "oneof" || argument.type == "block", !argument.arguments.empty()) << row->name;
      EXPECT_EQ(argument.name.find_first_of("[]<>|."), std::string::npos) << row->name;
    }
    EXPECT_EQ(row->syntax.starts_with("key"), row->keys.first == 1) << row->name;
  }
}

TEST(WriteCommandDocsTest, IsAMapOfTheRow) {
  std::string out;
  protocol::ReplyWriter reply(out);
  reply.set_version(protocol::ProtocolVersion::kResp3);
  WriteCommandDocs(reply, *AllCommands().Find("bf.madd"));
  EXPECT_THAT(out, testing::StartsWith("%5\r\n$7\r\nsummary\r\n$"));
  EXPECT_THAT(out,
              HasSubstr("$5\r\nsince\r\n$16\r\nRedisBloom 1.0.0\r\n$5\r\ngroup\r\n$2\r\nbf\r\n$10\r\ncomplexity\r\n"));
  EXPECT_THAT(out,
              testing::EndsWith("$9\r\narguments\r\n*2\r\n%2\r\n$4\r\nname\r\n$3\r\nkey\r\n$4\r\ntype\r\n$3\r\nkey\r\n"
                                "%3\r\n$4\r\nname\r\n$4\r\nitem\r\n$4\r\ntype\r\n$6\r\nstring\r\n"
                                "$5\r\nflags\r\n~1\r\n+multiple\r\n"));
}

// How deep aggregates are nested in the reply that begins at `at`, which moves to its end.
int DepthOf(const std::string& reply, size_t& at) {
  const char type = reply[at];
  const size_t line_end = reply.find('\n', at);
  const int64_t count = type == '+' ? 0 : std::stoll(reply.substr(at + 1));
  at = line_end + 1;
  if (type == '$') at += static_cast<size_t>(count) + 2;
  if (type != '*' && type != '~' && type != '%') return 0;
  int deepest = 0;
  for (int64_t i = 0; i < count * (type == '%' ? 2 : 1); ++i) deepest = std::max(deepest, DepthOf(reply, at));
  return deepest + 1;
}

// Parsers of clients have limits: hiredis before 1.0 reads seven levels. COMMAND DOCS adds one for the array of all.
TEST(WriteCommandDocsTest, NestsNoDeeperThanRedis) {
  constexpr int kOfRedis = 11, kOfAlternatives = 5, kOfSubcommands = 2;
  static_assert(kOfAlternatives + kOfSubcommands < kOfRedis);
  for (const CommandRow* row : AllCommands().rows()) {
    std::string out;
    protocol::ReplyWriter reply(out);
    WriteCommandDocs(reply, *row);
    size_t end = 0;
    EXPECT_LE(DepthOf(out, end), kOfAlternatives + (row->subcommands.empty() ? 0 : kOfSubcommands)) << row->name;
    EXPECT_EQ(end, out.size()) << row->name;
  }
}

TEST(GroupDocsTest, EveryCommandIsInOneOfThem) {
  for (const CommandRow* row : AllCommands().rows()) {
    EXPECT_EQ(std::ranges::count(GroupDocs(), row->group, &GroupDoc::group), 1) << row->name;
  }
}

}  // namespace
}  // namespace bitsieve::server
