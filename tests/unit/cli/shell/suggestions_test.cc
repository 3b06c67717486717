#include "cli/shell/suggestions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "server/commands/all_commands.h"

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Completion Complete(std::string_view line, const std::vector<std::string>& names = {}) {
  return CompletionFor(line, [&names](const std::string&) { return names; });
}

TEST(WordsOfTest, KnowsTheQuotesOfRedisCli) {
  EXPECT_THAT(*WordsOf(R"(  SET "a b"  'it\'s' "\x41\n\"" c"d" )"), ElementsAre("SET", "a b", "it's", "A\n\"", "cd"));
  EXPECT_THAT(*WordsOf(""), IsEmpty());
  EXPECT_EQ(WordsOf("ECHO \"a"), std::nullopt);
  EXPECT_EQ(WordsOf("ECHO 'a'b"), std::nullopt);
}

TEST(HintTest, ShowsTheArgumentsThatAreMissing) {
  EXPECT_EQ(HintFor("BF.ADD"), " key item");
  EXPECT_EQ(HintFor("bf.add "), "key item");
  EXPECT_EQ(HintFor("BF.ADD seen"), " item");
  EXPECT_EQ(HintFor("BF.ADD seen 'a b'"), "");
  EXPECT_EQ(HintFor("BF.MADD seen "), "item [item ...]");
  EXPECT_EQ(HintFor("BF.MADD seen a b "), "[item ...]");
  EXPECT_EQ(HintFor("CONFIG SET a "), "value [parameter value ...]");
  EXPECT_EQ(HintFor("CONFIG SET a 1 "), "[parameter value ...]");
  EXPECT_EQ(HintFor("CLIENT "), "subcommand");
  EXPECT_EQ(HintFor("client pause 100 "), "[WRITE | ALL]");
  EXPECT_EQ(HintFor("HELLO 3 "), "[AUTH username password] [SETNAME clientname]");
  EXPECT_EQ(HintFor("HELLO 3 AUTH eve "), "password [SETNAME clientname]");
}

// Returns the hints of the commands and their subcommands that differ from their syntax.
std::vector<std::string> OtherHints(std::span<const commands::CommandRow> rows) {
  std::vector<std::string> differing;
  for (const commands::CommandRow& row : rows) {
    std::string line(row.name);
    std::ranges::replace(line, '|', ' ');
    const std::string hint = HintFor(line + " ");
    if (row.handler != nullptr && hint != row.syntax) differing.push_back(line + " " + hint);
    std::ranges::move(OtherHints(row.subcommands), std::back_inserter(differing));
  }
  return differing;
}

TEST(HintTest, IsTheSyntaxAfterTheNameOfEveryCommand) {
  for (const commands::CommandRow* const row : server::AllCommands().rows()) {
    EXPECT_THAT(OtherHints({row, 1}), IsEmpty()) << row->syntax;
  }
}

TEST(HintTest, LeavesOutTheOptionsThatWereTyped) {
  EXPECT_EQ(HintFor("SCAN 0 COUNT 10 "), "[MATCH pattern] [TYPE type]");
  EXPECT_EQ(HintFor("SCAN 0 COUNT "), "count [MATCH pattern] [TYPE type]");
  EXPECT_EQ(HintFor("CF.INSERT k CAPACITY 5 "), "[NOCREATE] ITEMS item [item ...]");
  EXPECT_EQ(HintFor("CF.INSERT k NOCREATE ITEMS "), "item [item ...]");
  EXPECT_THAT(HintFor("BF.RESERVE k 0.01 1000 "), HasSubstr("[COUNTERBITS <4 | 8>]"));
  EXPECT_THAT(HintFor("BF.RESERVE k 0.01 1000 HASH "), StartsWith("<xxh3 | murmur3 | fnv1a | sip> [EXPANSION"));
}

TEST(HintTest, IsEmptyWhereNothingIsKnown) {
  for (const std::string_view line : {"", "  ", "NOSUCH a", "CLIENT NOSUCH", "ECHO \"a", "BF.ADD k item extra"}) {
    EXPECT_EQ(HintFor(line), "") << line;
  }
}

TEST(CompletionTest, OffersCommands) {
  EXPECT_THAT(Complete("bf.res").words, ElementsAre("BF.RESERVE", "BF.RESTORE"));
  EXPECT_EQ(Complete("bf.res").replaced, 6);
  EXPECT_THAT(Complete("CLIENT li").words, ElementsAre("LIST"));
  EXPECT_THAT(Complete("HELP cf.d").words, ElementsAre("CF.DEBUG", "CF.DEL"));
  EXPECT_THAT(Complete("NOSUCH ").words, IsEmpty());
}

TEST(CompletionTest, OffersOptionsAndTheirValues) {
  EXPECT_THAT(Complete("CF.INSERT k c").words, ElementsAre("CAPACITY"));
  EXPECT_THAT(Complete("CF.INSERT k NOCREATE ").words, ElementsAre("CAPACITY", "ITEMS"));
  EXPECT_THAT(Complete("CF.INSERT k ITEMS a ").words, IsEmpty());
  EXPECT_THAT(Complete("BF.RESERVE k 0.01 1000 COUNTERBITS ").words, ElementsAre("4", "8"));
  EXPECT_THAT(Complete("BF.RESERVE k 0.01 1000 HASH x").words, ElementsAre("xxh3"));
  EXPECT_THAT(Complete("BF.RESERVE k 0.01 1000 TYPE c").words, ElementsAre("classic", "counting", "cuckoo"));
  EXPECT_THAT(Complete("CLIENT REPLY ").words, ElementsAre("OFF", "ON", "SKIP"));
}

TEST(CompletionTest, OffersNamesWhereAKeyIs) {
  EXPECT_THAT(Complete("BF.ADD se", {"seen", "sent"}).words, ElementsAre("seen", "sent"));
  EXPECT_THAT(Complete("DEL a ", {"seen"}).words, ElementsAre("seen"));
  EXPECT_THAT(Complete("BF.ADD k ", {"seen"}).words, IsEmpty());
  EXPECT_THAT(Complete("ECHO ", {"seen"}).words, IsEmpty());
}

TEST(CompletionTest, QuotesNamesAndReadsQuotedPrefixes) {
  std::string asked;
  const Completion completion = CompletionFor("BF.ADD \"two w", [&asked](const std::string& prefix) {
    asked = prefix;
    return std::vector<std::string>{"two words"};
  });
  EXPECT_EQ(asked, "two w");
  EXPECT_EQ(completion.replaced, 6);
  EXPECT_THAT(completion.words, ElementsAre("\"two words\""));
}

TEST(SecretTest, LinesWithPasswordsAreSecret) {
  for (const std::string_view line :
       {"AUTH secret", "auth eve secret", "HELLO 3 AUTH eve secret", "ACL SETUSER eve >secret", "acl setuser eve",
        "CONFIG SET requirepass secret", "MIGRATE host 1 k 0 1 AUTH secret", "MIGRATE host 1 k 0 1 AUTH2 eve secret",
        "SENTINEL SET m auth-pass secret", "AUTH \"sec"}) {
    EXPECT_TRUE(MayHoldSecret(line)) << line;
  }
}

TEST(SecretTest, OtherLinesAreNot) {
  for (const std::string_view line :
       {"", "PING", "BF.ADD authors passenger", "ACL LIST", "CONFIG GET requirepass", "ACL WHOAMI", "NOSUCH a"}) {
    EXPECT_FALSE(MayHoldSecret(line)) << line;
  }
}

TEST(HelpTest, ShowsSyntaxAndSummary) {
  const auto help = [](const std::vector<std::string>& command) { return HelpText(command); };
  EXPECT_EQ(help({"bf.card"}).substr(0, 15), "BF.CARD key\n  R");
  EXPECT_THAT(help({"client", "pause"}), StartsWith("CLIENT PAUSE timeout [WRITE | ALL]\n"));
  EXPECT_THAT(help({"client"}), HasSubstr("\nCLIENT LIST "));
  EXPECT_EQ(help({"NOSUCH"}), "unknown command \"NOSUCH\"; help lists all commands\n");
  EXPECT_THAT(help({}), HasSubstr("BF.EXISTS BF.EXISTSIN"));
}

}  // namespace
}  // namespace bitsieve::cli
