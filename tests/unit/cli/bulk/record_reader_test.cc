#include "cli/bulk/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The items, or errors, of an input that comes some bytes at a time.
std::vector<std::string> ItemsOf(std::string_view input, const RecordFormat& format, size_t piece = 3) {
  RecordReader reader(
      [&] {
        const std::string_view next = input.substr(0, piece);
        input.remove_prefix(next.size());
        return next;
      },
      format);
  std::vector<std::string> items;
  while (true) {
    const auto record = reader.Next();
    if (record && !*record) return items;
    items.emplace_back(record ? (*record)->item : "! " + record.error());
    if (record && !format.ttl_field.empty()) items.back() += " " + std::to_string((*record)->ttl_ms);
    if (!record && !reader.is_bad_record()) return items;
  }
}

RecordFormat Of(RecordFormat::Kind kind, std::string field = "") {
  return {.kind = kind, .field = std::move(field), .record_bytes = 0, .crlf = false};
}

TEST(RecordReader, LinesAreByteForByte) {
  const std::string odd("\"a\"\n\n\\\r\nb\0c\n\xff", 13);
  EXPECT_THAT(ItemsOf(odd, Of(RecordFormat::kLines)), ElementsAre("\"a\"", "", "\\\r", std::string("b\0c", 3), "\xff"));
  EXPECT_THAT(ItemsOf("", Of(RecordFormat::kLines)), ElementsAre());
  EXPECT_THAT(ItemsOf("\n", Of(RecordFormat::kLines)), ElementsAre(""));
  RecordFormat crlf = Of(RecordFormat::kLines);
  crlf.crlf = true;
  EXPECT_THAT(ItemsOf("a\r\nb\nc\r", crlf), ElementsAre("a", "b", "c"));
}

TEST(RecordReader, ItemsMayEndInNul) {
  EXPECT_THAT(ItemsOf(std::string("a\nb\0\0c", 6), Of(RecordFormat::kNul)), ElementsAre("a\nb", "", "c"));
}

TEST(RecordReader, CellsOfATable) {
  const std::string table = "id,url\r\n1,\"x, \"\"y\"\"\nz\"\r\n2,plain\n3\n";
  EXPECT_THAT(ItemsOf(table, Of(RecordFormat::kCsv, "url")),
              ElementsAre("x, \"y\"\nz", "plain", "! record 4: has 1 columns, not 2"));
  EXPECT_THAT(ItemsOf(table, Of(RecordFormat::kCsv, "1")), ElementsAre("id", "1", "2", "3"));
  EXPECT_THAT(ItemsOf("a\tb\n\"1\"\t2\n", Of(RecordFormat::kTsv, "a")), ElementsAre("\"1\""));
  EXPECT_THAT(ItemsOf("a,b\n", Of(RecordFormat::kCsv, "c")), ElementsAre(HasSubstr("has no column \"c\"")));
}

TEST(RecordReader, MembersOfObjects) {
  EXPECT_THAT(
      ItemsOf("{\"b\":\"x\\n\\u00e9\"}\n{\"b\":-5}\nnone\n{\"a\":1}\n{\"b\":[]}", Of(RecordFormat::kJsonLines, "b")),
      ElementsAre("x\n\xc3\xa9", "-5", "! line 3: is not JSON", HasSubstr("line 4: has no member \"b\""),
                  HasSubstr("line 5: the member \"b\" is neither")));
}

TEST(RecordReader, AFieldCanHaveTheTimeOfTheItem) {
  RecordFormat csv = Of(RecordFormat::kCsv, "url");
  csv.ttl_field = "ttl";
  EXPECT_THAT(ItemsOf("url,ttl\na,90\nb,30m\n\"c,\",\"1.5\"\nd,\ne\nf,500ms\n", csv),
              ElementsAre("a 90000", "b 1800000", "c, 1500", "d 0", "e 0", "f 500"));
  EXPECT_THAT(ItemsOf("x,ttl,url\n1,2,a\n", csv), ElementsAre("a 2000"));
  const std::string problem = "neither a number of seconds nor a duration such as 90s, 30m or 24h";
  for (const std::string bad : {"soon", "-1", "0", "0s", "1y", "nan", "1e300", "0.0001"}) {
    EXPECT_THAT(ItemsOf("url,ttl\na," + bad + "\nb,1\n", csv),
                ElementsAre("! record 2: has the time \"" + bad + "\", which is " + problem, "b 1000"));
  }
  EXPECT_THAT(ItemsOf("url\na\n", csv), ElementsAre(HasSubstr("has no column \"ttl\"")));
  csv.field = "2";
  csv.ttl_field = "1";
  EXPECT_THAT(ItemsOf("5,a\n", csv), ElementsAre("a 5000"));
  csv.ttl_field = "ttl";
  EXPECT_THAT(ItemsOf("ttl,url\n5,a\n", csv), ElementsAre("a 5000"));
  RecordFormat json = Of(RecordFormat::kJsonLines, "b");
  json.ttl_field = "t";
  EXPECT_THAT(ItemsOf("{\"b\":1,\"t\":2}\n{\"b\":2,\"t\":\"1h\"}\n{\"b\":3}\n{\"b\":4,\"t\":null}\n"
                      "{\"b\":5,\"t\":[]}\n",
                      json),
              ElementsAre("1 2000", "2 3600000", "3 0", "4 0", HasSubstr("line 5: the member \"t\" is neither")));
  RecordFormat lines = Of(RecordFormat::kLines);
  lines.ttl_field = "t";
  EXPECT_EQ(lines.Problem(), "--ttl-field is for the formats csv, tsv and jsonl");
}

TEST(RecordReader, RecordsOfOneLength) {
  RecordFormat format = Of(RecordFormat::kBinary);
  format.record_bytes = 4;
  EXPECT_THAT(ItemsOf("abcd\n\r\n!", format), ElementsAre("abcd", "\n\r\n!"));
  EXPECT_THAT(ItemsOf("abcdef", format), ElementsAre("abcd", "! record 2: has 2 bytes, not 4: the input ends"));
}

TEST(RecordReader, ARecordHasAnEnd) {
  const std::string endless(kMaxRecordBytes + 2, 'x');
  EXPECT_THAT(ItemsOf(endless, Of(RecordFormat::kLines), 1 << 20), ElementsAre(HasSubstr("line 1: is longer than")));
}

TEST(RecordReader, GoesOnWhereItWas) {
  const std::string input = "id,url\n1,a\n2,b\n3,c\n";
  std::string_view left = input;
  const auto read = [&] { return std::exchange(left, {}); };
  RecordReader reader(read, Of(RecordFormat::kCsv, "url"));
  ASSERT_TRUE(reader.SkipTo(input.find("2,b"), 2));
  EXPECT_EQ((*reader.Next())->item, "b");
  EXPECT_EQ(reader.records(), 3u);
  EXPECT_EQ(reader.position(), input.find("3,c"));
  left = "short";
  EXPECT_FALSE(RecordReader(read, Of(RecordFormat::kLines)).SkipTo(100, 1));
}

TEST(RecordFormats, MustMakeSense) {
  EXPECT_EQ(Of(RecordFormat::kLines).Problem(), "");
  EXPECT_NE(Of(RecordFormat::kCsv).Problem(), "");
  EXPECT_NE(Of(RecordFormat::kLines, "x").Problem(), "");
  EXPECT_NE(Of(RecordFormat::kBinary).Problem(), "");
}

}  // namespace
}  // namespace bitsieve::cli
