#include "cli/shell/resp_value.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace bitsieve::cli {
namespace {

using Kind = RespValue::Kind;

// Gives the bytes in pieces of this size, and then an error.
RespReader::Source SourceOf(std::string_view bytes, size_t piece) {
  return [bytes, piece](std::span<char> room) mutable -> core::Outcome<size_t> {
    if (bytes.empty()) return tl::unexpected<std::string>("the end");
    const size_t size = std::min({piece, bytes.size(), room.size()});
    std::ranges::copy(bytes.substr(0, size), room.begin());
    bytes.remove_prefix(size);
    return size;
  };
}

core::Outcome<RespValue> Read(std::string_view bytes, size_t piece = 1) {
  return RespReader().Read(SourceOf(bytes, piece));
}

std::string ErrorOf(std::string_view bytes) {
  const auto value = Read(bytes);
  return value ? "" : value.error();
}

TEST(RespReaderTest, ReadsEachKind) {
  const std::string bytes =
      "*12\r\n+OK\r\n-ERR no\r\n:-7\r\n$3\r\na\r\n\r\n_\r\n$-1\r\n*-1\r\n,1.5\r\n#t\r\n(12345678901234567890\r\n"
      "=5\r\ntxt:x\r\n!5\r\nERR x\r\n";
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, bytes.size()}) {
    const auto value = Read(bytes, piece);
    ASSERT_TRUE(value) << value.error();
    std::vector<Kind> kinds;
    for (const RespValue& each : value->elements) kinds.push_back(each.kind);
    EXPECT_EQ(kinds, (std::vector{Kind::kStatus, Kind::kError, Kind::kInteger, Kind::kString, Kind::kNil, Kind::kNil,
                                  Kind::kNil, Kind::kDouble, Kind::kBoolean, Kind::kBigNumber, Kind::kVerbatim,
                                  Kind::kError}));
    EXPECT_EQ(value->elements[2].text, "-7");
    EXPECT_EQ(value->elements[3].text, "a\r\n");
    EXPECT_EQ(value->elements[10].text, "x");
  }
}

TEST(RespReaderTest, ReadsOneReplyAfterTheOther) {
  RespReader reader;
  const auto source = SourceOf("+one\r\n%1\r\n+k\r\n:2\r\n|1\r\n+ttl\r\n:3\r\n+three\r\n", 5);
  EXPECT_EQ(reader.Read(source)->text, "one");
  EXPECT_EQ(reader.Read(source)->elements.size(), 2);
  EXPECT_EQ(reader.Read(source)->text, "three");  // its attributes are left out
  EXPECT_EQ(reader.Read(source).error(), "the end");
}

TEST(RespReaderTest, RefusesWhatIsNoReply) {
  for (const std::string_view bytes :
       {"HTTP/1.1 200 OK\r\n", "\r\n", "+OK\n", ":x\r\n", ":1 \r\n", "$x\r\n", "$-2\r\n", "$1\r\nab\r\n", "*x\r\n",
        "*-2\r\n", "#true\r\n", "=3\r\nabc\r\n", "*9999999999\r\n", "$?\r\n"}) {
    EXPECT_TRUE(ErrorOf(bytes).starts_with("the server does not speak RESP: ")) << bytes << ErrorOf(bytes);
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "*1\r\n";
  EXPECT_EQ(ErrorOf(deep), "the server does not speak RESP: arrays are nested more than 128 deep");
  EXPECT_EQ(Read("+" + std::string(2 << 20, 'x'), 4096).error(),
            "the server does not speak RESP: a line without an end");
}

TEST(RespReaderTest, MemoryFollowsTheBytes) {
  EXPECT_EQ(ErrorOf("$9223372036854775807\r\nabc"), "the end");
  EXPECT_EQ(ErrorOf("*4294967296\r\n:1\r\n"), "the end");
}

}  // namespace
}  // namespace bitsieve::cli
