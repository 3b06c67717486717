// Tests the rules of the protocol, one by one. Streams cut into pieces are in request_parser_stream_test.cc.
#include "protocol/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/default_settings.h"
#include "tests/support/request_streams.h"

namespace bitsieve::protocol {
namespace {

using namespace std::string_literals;  // NOLINT: zero bytes inside of literals
using test::Command;
using test::ReadAtOnce;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Status = RequestParser::Status;

// Returns the error of a stream; empty if it has none.
std::string ErrorOf(const std::string& stream, const RequestLimits& limits = test::Default<RequestLimits>()) {
  const test::ParsedStream parsed = ReadAtOnce(stream, limits);
  EXPECT_EQ(parsed.broken, "");
  return parsed.error;
}

std::vector<Command> CommandsOf(const std::string& stream,
                                const RequestLimits& limits = test::Default<RequestLimits>()) {
  const test::ParsedStream parsed = ReadAtOnce(stream, limits);
  EXPECT_EQ(parsed.broken, "");
  EXPECT_EQ(parsed.error, "");
  EXPECT_EQ(parsed.consumed, stream.size());
  return parsed.commands;
}

TEST(RequestParser, ReadsAnArrayOfBulkStrings) {
  EXPECT_THAT(CommandsOf("*3\r\n$9\r\nBF.EXISTS\r\n$3\r\nkey\r\n$16\r\n0123456789abcdef\r\n"),
              ElementsAre(Command{"BF.EXISTS", "key", "0123456789abcdef"}));
}

TEST(RequestParser, ArgumentsAreBinarySafeAndMayBeEmpty) {
  EXPECT_THAT(CommandsOf("*3\r\n$0\r\n\r\n$4\r\n\r\n\r\n\r\n$3\r\n\0\xff*\r\n"s),
              ElementsAre(Command{"", "\r\n\r\n", "\0\xff*"s}));
}

TEST(RequestParser, LengthsOfEveryNumberOfDigits) {
  for (const size_t length : {1, 9, 10, 99, 100, 999, 1000, 12345, 100000}) {
    const Command command{"ECHO", std::string(length, 'x')};
    EXPECT_THAT(CommandsOf(test::Encode(command)), ElementsAre(command)) << length;
  }
}

TEST(RequestParser, CountsOfEveryNumberOfDigits) {
  for (const size_t count : {1, 9, 10, 99, 100, 1234}) {
    const Command command(count, "a");
    EXPECT_THAT(CommandsOf(test::Encode(command)), ElementsAre(command)) << count;
  }
}

// At its end there is no word left to compare.
TEST(RequestParser, ARunMayEndWithTheInput) {
  for (const char* item : {"", "a", "ab", "0123456789", "0123456789abcdef"}) {
    for (size_t count = 1; count <= 24; ++count) {
      const Command command(count, item);
      EXPECT_THAT(CommandsOf(test::Encode(command)), ElementsAre(command)) << item << " " << count;
    }
  }
}

TEST(RequestParser, ARunIsNoLongerThanItsCommand) {
  const Command command(12, "ab");
  EXPECT_THAT(CommandsOf(test::Encode(command) + test::Encode({"ab"}) + "PING some more than a word\r\n"),
              ElementsAre(command, Command{"ab"}, Command{"PING", "some", "more", "than", "a", "word"}));
  // Bytes of the same shape after the command's end are parsed as lines.
  EXPECT_THAT(CommandsOf(test::Encode(command) + "$2\r\nab\r\n$2\r\nab\r\n"),
              ElementsAre(command, Command{"$2"}, Command{"ab"}, Command{"$2"}, Command{"ab"}));
}

TEST(RequestParser, PipelinedCommandsComeOneByOne) {
  EXPECT_THAT(CommandsOf("*1\r\n$4\r\nPING\r\nPING hello\r\n\r\n*0\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\n"),
              ElementsAre(Command{"PING"}, Command{"PING", "hello"}, Command{"ECHO", "a"}));
}

TEST(RequestParser, ArgumentsAreAppendedBehindThoseOfEarlierCommands) {
  std::string stream = "PING\r\n*1\r\n$1\r\na\r\n";
  const test::Default<RequestLimits> limits;
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  const RequestParser::Result first = parser.Parse(stream, arguments);
  ASSERT_EQ(first.status, Status::kCommand);
  ASSERT_EQ(parser.Parse(std::span(stream).subspan(first.consumed), arguments).status, Status::kCommand);
  EXPECT_THAT(arguments, ElementsAre("PING", "a"));
}

TEST(RequestParser, EmptyLinesAndArraysAreNothing) {
  const test::Default<RequestLimits> limits;
  for (std::string stream : {"\r\n", "\n", "  \t\r\n", "*0\r\n", "*-1\r\n", "*-10\r\n"}) {
    RequestParser parser(limits);
    std::vector<std::string_view> arguments;
    const RequestParser::Result result = parser.Parse(stream, arguments);
    EXPECT_EQ(result.status, Status::kNothing) << stream;
    EXPECT_EQ(result.consumed, stream.size()) << stream;
    EXPECT_THAT(arguments, IsEmpty());
  }
}

TEST(RequestParser, NothingAtAllNeedsMore) {
  const test::Default<RequestLimits> limits;
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  EXPECT_EQ(parser.Parse({}, arguments).status, Status::kNeedMore);
}

TEST(RequestParser, PlainLinesEndInLfOrCrlf) {
  EXPECT_THAT(CommandsOf("PING\nPING\r\nBF.ADD key \"a b\"\n"),
              ElementsAre(Command{"PING"}, Command{"PING"}, Command{"BF.ADD", "key", "a b"}));
  EXPECT_THAT(CommandsOf("\nPING\n"), ElementsAre(Command{"PING"}));
  // Only one CR belongs to the line end; the other is a blank.
  EXPECT_THAT(CommandsOf("PING \"a\"\r\r\n"), ElementsAre(Command{"PING", "a"}));
}

TEST(RequestParser, PlainLineMayHoldZeroBytes) {
  EXPECT_THAT(CommandsOf("ECHO a\0b\r\n"s), ElementsAre(Command{"ECHO", "a\0b"s}));
}

TEST(RequestParser, UnbalancedQuotes) {
  for (const char* line : {"SET \"a\r\n", "SET 'a\n", "SET \"a\"b\r\n", "SET \"a\\\"\r\n"}) {
    EXPECT_EQ(ErrorOf(line), "ERR Protocol error: unbalanced quotes in request") << line;
  }
}

TEST(RequestParser, CountMustBeAStrictDecimal) {
  for (const char* stream : {"*a\r\n", "*+1\r\n", "* 1\r\n", "*1 \r\n", "*01\r\n", "*00\r\n", "*-0\r\n", "*-\r\n",
                             "*--1\r\n", "*\r\n", "*1.0\r\n", "*1\n", "*1\rx", "*\n", "*-01\r\n"}) {
    EXPECT_EQ(ErrorOf(stream), "ERR Protocol error: invalid multibulk length") << stream;
  }
}

TEST(RequestParser, LengthMustBeAStrictDecimal) {
  for (const char* header : {"$a\r\n", "$+1\r\n", "$ 1\r\n", "$1 \r\n", "$01\r\n", "$00\r\n", "$-1\r\n", "$-10\r\n",
                             "$\r\n", "$1\nabc", "$1\rxbc", "$-0\r\n", "$0x1\r\n"}) {
    EXPECT_EQ(ErrorOf("*1\r\n" + std::string(header)), "ERR Protocol error: invalid bulk length") << header;
  }
}

TEST(RequestParser, NumbersOfTooManyDigits) {
  EXPECT_EQ(ErrorOf("*" + std::string(20, '1')), "ERR Protocol error: too big mbulk count string");
  EXPECT_EQ(ErrorOf("*-" + std::string(20, '1')), "ERR Protocol error: too big mbulk count string");
  EXPECT_EQ(ErrorOf("*1\r\n$" + std::string(20, '1')), "ERR Protocol error: too big bulk count string");
  EXPECT_THAT(ErrorOf("*9999999999999999999\r\n"), StartsWith("ERR Protocol error: invalid multibulk length"));
  EXPECT_THAT(ErrorOf("*1\r\n$9999999999999999999\r\n"), StartsWith("ERR Protocol error: invalid bulk length"));
}

TEST(RequestParser, OnlyBulkStringsInAnArray) {
  EXPECT_EQ(ErrorOf("*1\r\n:1\r\n"), "ERR Protocol error: expected '$', got ':'");
  EXPECT_EQ(ErrorOf("*1\r\n*1\r\n"), "ERR Protocol error: expected '$', got '*'");
  EXPECT_EQ(ErrorOf("*3\r\n$3\r\nSET\r\n$1\r\nx\r\nfooz\r\n"), "ERR Protocol error: expected '$', got 'f'");
  EXPECT_EQ(ErrorOf("*1\r\n\r\n"), "ERR Protocol error: expected '$', got '\\x0d'");
  EXPECT_EQ(ErrorOf("*1\r\n\xff"), "ERR Protocol error: expected '$', got '\\xff'");
}

TEST(RequestParser, BulkStringMustEndWhereItsLengthSays) {
  const char kExpected[] = "ERR Protocol error: bulk string longer than its length: expected CRLF after 3 bytes";
  EXPECT_EQ(ErrorOf("*1\r\n$3\r\nabcd\r\n"), kExpected);
  EXPECT_EQ(ErrorOf("*1\r\n$3\r\nabc\n\n"), kExpected);
  EXPECT_EQ(ErrorOf("*1\r\n$3\r\nabc\r\r"), kExpected);
}

TEST(RequestParser, BrokenStreamStaysBroken) {
  std::string bad = "*x\r\n";
  std::string good = "PING\r\n";
  const test::Default<RequestLimits> limits;
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  EXPECT_EQ(parser.Parse(bad, arguments).status, Status::kError);
  const RequestParser::Result result = parser.Parse(good, arguments);
  EXPECT_EQ(result.status, Status::kError);
  EXPECT_EQ(result.consumed, 0u);
  EXPECT_THAT(arguments, IsEmpty());
  EXPECT_EQ(parser.error(), "ERR Protocol error: invalid multibulk length");
}

TEST(RequestParser, ErrorLeavesEarlierArgumentsAlone) {
  const test::Default<RequestLimits> limits;
  for (std::string bad : {"*2\r\n$1\r\na\r\n:1\r\n", "SET \"a b\" 'x\r\n"}) {
    RequestParser parser(limits);
    std::vector<std::string_view> arguments{"earlier"};
    EXPECT_EQ(parser.Parse(bad, arguments).status, Status::kError);
    EXPECT_THAT(arguments, ElementsAre("earlier"));
  }
}

class RequestParserLimits : public testing::Test {
 protected:
  const RequestLimits limits_{
      .max_line_bytes = 10, .max_arguments = 3, .max_argument_bytes = 8, .max_request_bytes = 40};
};

TEST_F(RequestParserLimits, LineLength) {
  const char kExpected[] = "ERR Protocol error: too big inline request: at most 10 bytes (max-line-bytes)";
  EXPECT_THAT(CommandsOf("ab cd efgh\r\n", limits_), ElementsAre(Command{"ab", "cd", "efgh"}));
  EXPECT_THAT(CommandsOf("ab cd efgh\n", limits_), ElementsAre(Command{"ab", "cd", "efgh"}));
  EXPECT_EQ(ErrorOf("ab cd efghi\r\n", limits_), kExpected);
  EXPECT_EQ(ErrorOf("ab cd efghi\n", limits_), kExpected);
  EXPECT_EQ(ErrorOf("ab cd efghijk", limits_), kExpected);
  EXPECT_EQ(ErrorOf(std::string(1000, ' ') + "\r\n", limits_), kExpected);
  EXPECT_EQ(ErrorOf("0123456789", limits_), "");
}

TEST_F(RequestParserLimits, LineIsPartOfTheRequest) {
  EXPECT_EQ(ErrorOf("ab cd efgh\r\n", {.max_line_bytes = 100, .max_request_bytes = 9}),
            "ERR Protocol error: too big inline request: at most 9 bytes (max-line-bytes)");
}

TEST_F(RequestParserLimits, ArgumentsOfALine) {
  EXPECT_EQ(ErrorOf("a b c d\r\n", limits_),
            "ERR Protocol error: too big inline request: at most 3 arguments (max-arguments)");
  EXPECT_EQ(ErrorOf("123456789\r\n", limits_),
            "ERR Protocol error: too big inline request: at most 8 bytes an argument (max-argument-bytes)");
}

TEST_F(RequestParserLimits, ArgumentsOfAnArray) {
  EXPECT_THAT(CommandsOf("*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", limits_), ElementsAre(Command{"a", "b", "c"}));
  EXPECT_EQ(ErrorOf("*4\r\n", limits_),
            "ERR Protocol error: invalid multibulk length: at most 3 arguments (max-arguments)");
  EXPECT_EQ(ErrorOf("*4\r\n$1\r\n", limits_),
            "ERR Protocol error: invalid multibulk length: at most 3 arguments (max-arguments)");
}

TEST_F(RequestParserLimits, BytesOfAnArgument) {
  EXPECT_THAT(CommandsOf("*1\r\n$8\r\n12345678\r\n", limits_), ElementsAre(Command{"12345678"}));
  const char kExpected[] = "ERR Protocol error: invalid bulk length: at most 8 bytes an argument (max-argument-bytes)";
  EXPECT_EQ(ErrorOf("*1\r\n$9\r\n", limits_), kExpected);
  EXPECT_EQ(ErrorOf("*1\r\n$9\r\n123456789\r\n", limits_), kExpected);
  EXPECT_EQ(ErrorOf("*1\r\n$1000\r\n", limits_), kExpected);
}

TEST_F(RequestParserLimits, BytesOfARequest) {
  // 4 + 3 * 12 bytes.
  EXPECT_THAT(CommandsOf("*3\r\n$6\r\n123456\r\n$6\r\n123456\r\n$6\r\n123456\r\n", limits_),
              ElementsAre(Command{"123456", "123456", "123456"}));
  const char kExpected[] = "ERR Protocol error: too big request: at most 40 bytes (max-request-bytes)";
  EXPECT_EQ(ErrorOf("*3\r\n$6\r\n123456\r\n$6\r\n123456\r\n$7\r\n1234567\r\n", limits_), kExpected);
  EXPECT_EQ(ErrorOf("*3\r\n$6\r\n123456\r\n$6\r\n123456\r\n$7\r\n", limits_), kExpected);
}

TEST(RequestParser, BytesOfARequestEndARun) {
  RequestLimits limits = test::Default<RequestLimits>();
  for (size_t count = 1; count <= 20; ++count) {
    const std::string stream = test::Encode(Command(count, "1234"));
    limits.max_request_bytes = stream.size();
    EXPECT_EQ(ErrorOf(stream, limits), "") << count;
    limits.max_request_bytes = stream.size() - 1;
    EXPECT_THAT(ErrorOf(stream, limits), StartsWith("ERR Protocol error: too big request")) << count;
  }
}

TEST_F(RequestParserLimits, EachCommandOfAPipelineHasItsOwn) {
  std::string stream;
  for (int i = 0; i < 20; ++i) stream += "*2\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n";
  EXPECT_EQ(CommandsOf(stream, limits_).size(), 20u);
}

TEST(RequestParser, SteadyStateKeepsItsMemory) {
  const Command command(100, "0123456789");
  std::string stream = test::Encode(command);
  const test::Default<RequestLimits> limits;
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  ASSERT_EQ(parser.Parse(stream, arguments).status, Status::kCommand);
  const std::string_view* const data = arguments.data();
  for (int i = 0; i < 10; ++i) {
    arguments.clear();
    ASSERT_EQ(parser.Parse(stream, arguments).status, Status::kCommand);
    EXPECT_EQ(arguments.data(), data);
  }
}

}  // namespace
}  // namespace bitsieve::protocol
