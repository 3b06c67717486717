// Streams of requests, cut in every way: what comes out depends on the bytes alone, and the work stays linear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "protocol/request_parser.h"
#include "tests/support/default_settings.h"
#include "tests/support/request_streams.h"

namespace bitsieve::protocol {
namespace {

using namespace std::string_literals;  // NOLINT: zero bytes inside of literals
using test::Command;
using test::ParsedStream;
using test::ReadAtOnce;
using test::ReadInPieces;

std::string Repeated(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

const std::vector<std::string>& Streams() {
  static const std::vector<std::string> streams = {
      "*3\r\n$9\r\nBF.EXISTS\r\n$3\r\nkey\r\n$16\r\n0123456789abcdef\r\n*1\r\n$4\r\nPING\r\n",
      "*2\r\n$4\r\nECHO\r\n$120\r\n" + std::string(120, '\n') + "\r\nPING\r\n",
      "*12\r\n" + Repeated("$2\r\n\r\n\r\n", 12),
      // Runs of equal lengths: one that ends in the middle, and headers that are alike for as long as the shorter one.
      test::Encode({"BF.MADD", "k", "item:01", "item:02", "item:03", "item:04", "five5", "item:05", "item:06",
                    "item:07", "item:08"}),
      test::Encode({"MADD", "k", "a", "b", "c", "0123456789", "1123456789", "2123456789", "x", "y", "z", "", ""}),
      test::Encode({"M", "a", "b", "c", "\r\n", "$1", "d", "e", "f", "", "", "", "g"}),
      test::Encode(Command(30, "0123456789abcdef")) + test::Encode(Command(30, "1")) + "PING\r\n",
      "*13\r\n" + Repeated("$2\r\nab\r\n", 7) + "$2\r\nabc\r\n" + Repeated("$2\r\nab\r\n", 5),
      "*13\r\n" + Repeated("$2\r\nab\r\n", 7) + "$02\r\nab\r\n" + Repeated("$2\r\nab\r\n", 5),
      "*13\r\n" + Repeated("$10\r\n0123456789\r\n", 7) + ":10\r\n0123456789\r\n",
      "PING\r\n\r\n\n  \r\nECHO \"a\\x41\\n\\\"b\" 'it\\'s' c\n*0\r\n*-1\r\nPING\n",
      "ECHO a\0b\r\n*1\r\n$3\r\n\0\r\n\r\n"s,
      "*2\r\n$0\r\n\r\n$0\r\n\r\n",
      "PING\r\n*x\r\n",
      "PING\r\n*1\r\n:1\r\n",
      "*2\r\n$1\r\na\r\n$-1\r\n",
      "*2\r\n$1\r\na\r\n$3\r\nabcdef",
      "*1\r\n$111111111111111111111\r\n",
      "*111111111111111111111\r\n",
      "*055555555555555555555\r\n",
      "*1\r\n$000000000000000000000\r\n",
      "PING\r\nSET \"a\r\nPING\r\n",
      "*1\r\n$1\rX",
      "*1\rX",
      "*2\r\n$4\r\nPING\r\n$",
  };
  return streams;
}

RequestLimits DefaultLimits() { return test::Default<RequestLimits>(); }

RequestLimits LimitsWithLinesOf(size_t bytes) {
  RequestLimits limits = DefaultLimits();
  limits.max_line_bytes = bytes;
  return limits;
}

RequestLimits SmallLimits() {
  return {.max_line_bytes = 12, .max_arguments = 11, .max_argument_bytes = 110, .max_request_bytes = 64};
}

TEST(RequestParserStream, EveryCutGivesTheSame) {
  for (const RequestLimits& limits : {DefaultLimits(), SmallLimits()}) {
    for (const std::string& stream : Streams()) {
      const ParsedStream expected = ReadAtOnce(stream, limits);
      ASSERT_EQ(expected.broken, "");
      for (size_t cut = 1; cut < stream.size(); ++cut) {
        size_t pieces = 0;
        const ParsedStream parsed =
            ReadInPieces(stream, limits, [&] { return pieces++ == 0 ? cut : stream.size() - cut; });
        ASSERT_EQ(parsed.broken, "") << stream << " cut at " << cut;
        ASSERT_EQ(parsed, expected) << stream << " cut at " << cut;
      }
    }
  }
}

TEST(RequestParserStream, EveryPieceSizeGivesTheSame) {
  for (const RequestLimits& limits : {DefaultLimits(), SmallLimits()}) {
    for (const std::string& stream : Streams()) {
      const ParsedStream expected = ReadAtOnce(stream, limits);
      for (size_t size = 1; size <= 9; ++size) {
        const ParsedStream parsed = ReadInPieces(stream, limits, [size] { return size; });
        ASSERT_EQ(parsed.broken, "") << stream << " in pieces of " << size;
        ASSERT_EQ(parsed, expected) << stream << " in pieces of " << size;
      }
    }
  }
}

// Writes `argument` in double quotes, with every byte escaped that needs it.
std::string Quote(const std::string& argument) {
  std::string out = "\"";
  char hex[5];
  for (const char c : argument) {
    if (c > ' ' && c <= '~' && c != '"' && c != '\\') {
      out += c;
    } else {
      std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    }
  }
  return out + '"';
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  size_t Below(size_t bound) { return random_() % bound; }

  std::string Bytes() {
    const size_t bounds[] = {4, 20, 110, 2000};
    std::string bytes(Below(bounds[Below(4)]), '\0');
    for (char& byte : bytes) byte = Below(2) == 0 ? "\r\n\"'\\*$ x0"[Below(10)] : static_cast<char>(random_());
    return bytes;
  }

  Command NextCommand() {
    Command command(1 + Below(Below(8) == 0 ? 200 : 5));
    for (std::string& argument : command) argument = Bytes();
    return command;
  }

  std::string AsLine(const Command& command) {
    std::string line;
    for (const std::string& argument : command) line += (line.empty() ? "" : " ") + Quote(argument);
    return line + (Below(2) == 0 ? "\n" : "\r\n");
  }

 private:
  std::mt19937_64 random_;
};

TEST(RequestParserStream, GeneratedCommandsComeOutAsTheyWentIn) {
  const RequestLimits limits = LimitsWithLinesOf(1 << 20);
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Generator generator(seed);
    ParsedStream expected;
    std::string stream;
    for (size_t i = generator.Below(12) + 1; i > 0; --i) {
      const Command command = generator.NextCommand();
      stream += generator.Below(3) == 0 ? generator.AsLine(command) : test::Encode(command);
      if (generator.Below(4) == 0) stream += generator.Below(2) == 0 ? "\r\n" : "*0\r\n";
      expected.commands.push_back(command);
    }
    expected.consumed = stream.size();
    ASSERT_EQ(ReadAtOnce(stream, limits), expected) << "seed " << seed;
    const size_t largest = 1 + generator.Below(3000);
    ASSERT_EQ(ReadInPieces(stream, limits, [&] { return 1 + generator.Below(largest); }), expected) << "seed " << seed;
  }
}

// All arguments have one length, except for every second, third or fourth, which has another length or the same; all
// lengths up to 101 are tested.
TEST(RequestParserStream, ManyArgumentsOfLikeLengthComeOutAsTheyWentIn) {
  for (size_t length = 0; length <= 101; ++length) {
    for (const size_t other : {length, length + 1, size_t{9}, size_t{10}, size_t{99}, size_t{100}}) {
      Command command(40, std::string(length, '$'));
      for (size_t i = 1; i < command.size(); i += length % 3 + 2) command[i] = std::string(other, '\r');
      const std::string stream = test::Encode(command) + test::Encode(command);
      const ParsedStream parsed = ReadAtOnce(stream, DefaultLimits());
      ASSERT_EQ(parsed.commands, (std::vector<Command>{command, command})) << length << " and " << other;
      const ParsedStream pieces = ReadInPieces(stream, DefaultLimits(), [&] { return 37 + length; });
      ASSERT_EQ(pieces, parsed) << length << " and " << other;
    }
  }
}

TEST(RequestParserStream, DamagedRunsGiveTheSameHoweverCut) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Generator generator(seed);
    Command command(10 + generator.Below(30), std::string(generator.Below(13), 'x'));
    if (generator.Below(2) == 0) command[generator.Below(command.size())] = generator.Bytes();
    std::string stream = test::Encode(command) + test::Encode(command);
    stream[generator.Below(stream.size())] = "\r\n*$-0129 \"'a"[generator.Below(13)];
    const ParsedStream expected = ReadAtOnce(stream, DefaultLimits());
    ASSERT_EQ(expected.broken, "") << "seed " << seed;
    const size_t largest = 1 + generator.Below(100);
    ASSERT_EQ(ReadInPieces(stream, DefaultLimits(), [&] { return 1 + generator.Below(largest); }), expected)
        << "seed " << seed;
  }
}

TEST(RequestParserStream, DamagedStreamsGiveTheSameHoweverCut) {
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Generator generator(seed);
    std::string stream;
    for (size_t i = generator.Below(4) + 1; i > 0; --i) stream += test::Encode({"BF.ADD", "key", generator.Bytes()});
    for (size_t i = generator.Below(4) + 1; i > 0; --i) {
      stream[generator.Below(stream.size())] = "\r\n*$-0129 \"'a"[generator.Below(13)];
    }
    const RequestLimits limits = generator.Below(2) == 0 ? DefaultLimits() : SmallLimits();
    const ParsedStream expected = ReadAtOnce(stream, limits);
    ASSERT_EQ(expected.broken, "") << "seed " << seed;
    const size_t largest = 1 + generator.Below(40);
    ASSERT_EQ(ReadInPieces(stream, limits, [&] { return 1 + generator.Below(largest); }), expected) << "seed " << seed;
  }
}

// Feeds byte by byte from one buffer. If the parser started over with each call, these would take hours.
void ReadByteByByte(std::string stream, size_t expected_arguments) {
  const RequestLimits limits = LimitsWithLinesOf(16 << 20);
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  for (size_t size = 1; size < stream.size(); ++size) {
    ASSERT_EQ(parser.Parse(std::span(stream).first(size), arguments).status, RequestParser::Status::kNeedMore);
    ASSERT_TRUE(arguments.empty());
  }
  const RequestParser::Result result = parser.Parse(stream, arguments);
  ASSERT_EQ(result.status, RequestParser::Status::kCommand);
  EXPECT_EQ(result.consumed, stream.size());
  EXPECT_EQ(arguments.size(), expected_arguments);
}

TEST(RequestParserStream, MillionArgumentsByteByByteAreLinear) {
  const size_t count = 1'000'000;
  ReadByteByByte(test::Encode(Command(count, "x")), count);
}

TEST(RequestParserStream, LongLineByteByByteIsLinear) { ReadByteByByte(std::string(2'000'000, 'x') + "\r\n", 1); }

TEST(RequestParserStream, LongArgumentByteByByteIsLinear) {
  ReadByteByByte(test::Encode({"ECHO", std::string(2'000'000, 'x')}), 2);
}

}  // namespace
}  // namespace bitsieve::protocol
