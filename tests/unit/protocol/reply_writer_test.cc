#include "protocol/reply_writer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace bitsieve::protocol {
namespace {

using namespace std::string_literals;  // NOLINT: zero bytes inside of literals

// Returns the bytes that `write` writes in each version.
template <class Write>
std::string In(ProtocolVersion version, Write write) {
  std::string out;
  ReplyWriter reply(out);
  reply.set_version(version);
  write(reply);
  return out;
}
template <class Write>
std::string Resp2(Write write) {
  return In(ProtocolVersion::kResp2, write);
}
template <class Write>
std::string Resp3(Write write) {
  return In(ProtocolVersion::kResp3, write);
}

TEST(ReplyWriter, LeavesOutWhatIsOverTheLimit) {
  std::string out;
  ReplyWriter reply(out);
  reply.set_limit(100);
  reply.BulkString(std::string(50, 'x'));
  EXPECT_FALSE(reply.exceeded());
  EXPECT_TRUE(reply.Fits(20));
  const size_t size = out.size();
  reply.BulkString(std::string(100, 'x'));
  EXPECT_TRUE(reply.exceeded());
  reply.VerbatimText(std::string(100, 'x'));
  reply.SimpleString(std::string(100, 'x'));
  reply.Error(std::string(100, 'x'));
  EXPECT_EQ(out.size(), size);
}

TEST(ReplyWriter, ManySmallRepliesAreOverTheLimitToo) {
  std::string out;
  ReplyWriter reply(out);
  reply.set_limit(100);
  for (int i = 0; i < 25; ++i) reply.Integer(1);
  EXPECT_FALSE(reply.exceeded());
  reply.Integer(1);
  EXPECT_TRUE(reply.exceeded());
}

TEST(ReplyWriter, StartsInResp2) {
  std::string out;
  ReplyWriter reply(out);
  EXPECT_EQ(reply.version(), ProtocolVersion::kResp2);
  EXPECT_FALSE(reply.resp3());
}

TEST(ReplyWriter, SimpleStrings) {
  const auto write = [](ReplyWriter& reply) {
    reply.Ok();
    reply.SimpleString("");
  };
  EXPECT_EQ(Resp2(write), "+OK\r\n+\r\n");
  EXPECT_EQ(Resp3(write), "+OK\r\n+\r\n");
}

TEST(ReplyWriter, ErrorsStayOnOneLine) {
  const auto write = [](ReplyWriter& reply) { reply.Error("ERR unknown command 'a\r\n+OK\r\nb\0c'"s); };
  EXPECT_EQ(Resp2(write), "-ERR unknown command 'a  +OK  b c'\r\n");
  EXPECT_EQ(Resp3(write), Resp2(write));
}

TEST(ReplyWriter, ErrorsLeaveWhatWasWrittenBefore) {
  const auto write = [](ReplyWriter& reply) {
    reply.BulkString("a\r\nb");
    reply.Error("x");
  };
  EXPECT_EQ(Resp2(write), "$4\r\na\r\nb\r\n-x\r\n");
}

TEST(ReplyWriter, Integers) {
  for (const int64_t value : {INT64_C(0), INT64_C(1), INT64_C(9), INT64_C(10), INT64_C(-1), INT64_C(123456789),
                              std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    const auto write = [value](ReplyWriter& reply) { reply.Integer(value); };
    EXPECT_EQ(Resp2(write), ":" + std::to_string(value) + "\r\n");
    EXPECT_EQ(Resp3(write), Resp2(write));
  }
}

TEST(ReplyWriter, EachSmallIntegerHasItsText) {
  for (int value = 0; value <= 11; ++value) {
    EXPECT_EQ(Resp2([value](ReplyWriter& reply) { reply.Integer(value); }), ":" + std::to_string(value) + "\r\n");
  }
}

TEST(ReplyWriter, Booleans) {
  const auto write = [](ReplyWriter& reply) {
    reply.Boolean(true);
    reply.Boolean(false);
  };
  EXPECT_EQ(Resp2(write), ":1\r\n:0\r\n");
  EXPECT_EQ(Resp3(write), "#t\r\n#f\r\n");
}

TEST(ReplyWriter, ManyBooleansAreAsEachByItself) {
  for (const size_t count : {0, 1, 2, 3, 64, 1000}) {
    std::vector<uint8_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = (i * i / 3) % 2;
    const auto at_once = [&](ReplyWriter& reply) {
      reply.SimpleString("before");
      reply.Booleans(values);
    };
    const auto each = [&](ReplyWriter& reply) {
      reply.SimpleString("before");
      for (const uint8_t value : values) reply.Boolean(value != 0);
    };
    EXPECT_EQ(Resp2(at_once), Resp2(each)) << count;
    EXPECT_EQ(Resp3(at_once), Resp3(each)) << count;
  }
}

TEST(ReplyWriter, Doubles) {
  const auto write = [](double value) { return [value](ReplyWriter& reply) { reply.Double(value); }; };
  EXPECT_EQ(Resp3(write(1.5)), ",1.5\r\n");
  EXPECT_EQ(Resp2(write(1.5)), "$3\r\n1.5\r\n");
  EXPECT_EQ(Resp3(write(0)), ",0\r\n");
  EXPECT_EQ(Resp3(write(-0.0)), ",-0\r\n");
  EXPECT_EQ(Resp3(write(100)), ",100\r\n");
  EXPECT_EQ(Resp3(write(0.0001)), ",0.0001\r\n");
  EXPECT_EQ(Resp3(write(0.1 + 0.2)), ",0.30000000000000004\r\n");
}

TEST(ReplyWriter, DoublesThatAreNoNumbersAreWrittenAsRedisDoes) {
  const auto write = [](double value) { return [value](ReplyWriter& reply) { reply.Double(value); }; };
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Resp3(write(infinity)), ",inf\r\n");
  EXPECT_EQ(Resp3(write(-infinity)), ",-inf\r\n");
  EXPECT_EQ(Resp3(write(nan)), ",nan\r\n");
  EXPECT_EQ(Resp3(write(-nan)), ",nan\r\n");
  EXPECT_EQ(Resp2(write(-infinity)), "$4\r\n-inf\r\n");
}

TEST(ReplyWriter, DoublesReadBackTheSame) {
  std::mt19937_64 random(1);
  const auto check = [](double value) {
    const std::string text = Resp3([value](ReplyWriter& reply) { reply.Double(value); });
    ASSERT_EQ(std::strtod(text.c_str() + 1, nullptr), value) << text;
    ASSERT_LE(text.size(), 27u) << text;
  };
  using Limits = std::numeric_limits<double>;
  for (const double value : {Limits::min(), Limits::max(), Limits::lowest(), Limits::denorm_min(), Limits::epsilon()}) {
    check(value);
    check(-value);
  }
  for (int i = 0; i < 100'000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (std::isfinite(value)) check(value);
  }
}

TEST(ReplyWriter, BulkStringsAreBinarySafe) {
  const auto write = [](ReplyWriter& reply) {
    reply.BulkString("a\r\n\0\xff"s);
    reply.BulkString("");
  };
  EXPECT_EQ(Resp2(write), "$5\r\na\r\n\0\xff\r\n$0\r\n\r\n"s);
  EXPECT_EQ(Resp3(write), Resp2(write));
}

TEST(ReplyWriter, VerbatimText) {
  const auto write = [](ReplyWriter& reply) { reply.VerbatimText("Some string"); };
  EXPECT_EQ(Resp2(write), "$11\r\nSome string\r\n");
  EXPECT_EQ(Resp3(write), "=15\r\ntxt:Some string\r\n");
}

TEST(ReplyWriter, Nulls) {
  EXPECT_EQ(Resp2([](ReplyWriter& reply) { reply.Null(); }), "$-1\r\n");
  EXPECT_EQ(Resp2([](ReplyWriter& reply) { reply.NullArray(); }), "*-1\r\n");
  EXPECT_EQ(Resp3([](ReplyWriter& reply) { reply.Null(); }), "_\r\n");
  EXPECT_EQ(Resp3([](ReplyWriter& reply) { reply.NullArray(); }), "_\r\n");
}

TEST(ReplyWriter, Aggregates) {
  const auto write = [](ReplyWriter& reply) {
    reply.ArrayHeader(0);
    reply.ArrayHeader(12);
    reply.SetHeader(3);
    reply.MapHeader(4);
  };
  EXPECT_EQ(Resp2(write), "*0\r\n*12\r\n*3\r\n*8\r\n");
  EXPECT_EQ(Resp3(write), "*0\r\n*12\r\n~3\r\n%4\r\n");
}

TEST(ReplyWriter, TruncateTakesBack) {
  std::string out;
  ReplyWriter reply(out);
  reply.Ok();
  const size_t size = reply.size();
  reply.ArrayHeader(3);
  reply.Integer(1);
  reply.Truncate(size);
  reply.Error("ERR no");
  EXPECT_EQ(out, "+OK\r\n-ERR no\r\n");
  EXPECT_EQ(&reply.buffer(), &out);
}

TEST(ReplyWriter, ReusedBufferAllocatesNothing) {
  std::string out;
  ReplyWriter reply(out);
  const auto write = [&reply, &out] {
    out.clear();
    for (int i = 0; i < 100; ++i) reply.Integer(i * 1000);
    reply.BulkString(std::string_view("0123456789"));
  };
  write();
  const char* const data = out.data();
  write();
  EXPECT_EQ(out.data(), data);
}

TEST(ReplyWriterTest, ALongBulkStringTakesNoMoreMemoryThanItNeeds) {
  std::string out;
  ReplyWriter reply(out);
  const std::string bytes(10'000'000, 'x');
  reply.BulkString(bytes);
  EXPECT_EQ(out, "$10000000\r\n" + bytes + "\r\n");
  EXPECT_LT(out.capacity(), out.size() + 1000);
}

}  // namespace
}  // namespace bitsieve::protocol
