#include "core/base/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace bitsieve::core {
namespace {

using nlohmann::json;

std::string StringOf(std::string_view text) {
  std::string out;
  AppendJsonString(text, out);
  return out;
}

TEST(JsonWriterTest, CommasAreBetweenMembersAndValues) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Member("a", 1);
  writer.Key("b");
  writer.BeginArray();
  writer.Value(true);
  writer.BeginObject();
  writer.EndObject();
  writer.BeginArray();
  writer.EndArray();
  writer.Null();
  writer.EndArray();
  writer.Member("c", "x");
  writer.EndObject();
  EXPECT_EQ(out, R"({"a":1,"b":[true,{},[],null],"c":"x"})");
}

TEST(JsonWriterTest, NumbersAreReadAsTheyWere) {
  const double numbers[] = {0, -1.5, 1e-9, 0.1, 1e300, std::numeric_limits<double>::denorm_min()};
  std::string out;
  JsonWriter writer(out);
  writer.BeginArray();
  for (const double number : numbers) writer.Value(number);
  writer.Value(std::numeric_limits<double>::infinity());
  writer.Value(std::numeric_limits<double>::quiet_NaN());
  writer.Value(std::optional<double>());
  writer.Value(UINT64_MAX);
  writer.Value(INT64_MIN);
  writer.EndArray();
  const json read = json::parse(out);
  for (size_t i = 0; i < std::size(numbers); ++i) EXPECT_EQ(read[i].get<double>(), numbers[i]) << out;
  for (size_t i = 6; i < 9; ++i) EXPECT_TRUE(read[i].is_null()) << out;
  EXPECT_EQ(read[9].get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(read[10].get<int64_t>(), INT64_MIN);
}

TEST(JsonWriterTest, EachByteOfAStringIsReadAsItWasOrReplaced) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text = std::string("a") + static_cast<char>(byte) + "b";
    EXPECT_EQ(json::parse(StringOf(text)).get<std::string>(), byte < 0x80 ? text
                                                                          : "a\xEF\xBF\xBD"
                                                                            "b")
        << byte;
  }
}

TEST(JsonWriterTest, CharactersStayAndWhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(StringOf("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"");
  const std::string_view bad[] = {"\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                                  "\xE2\x82", "\xFF",         "\xF8\x88\x80\x80\x80"};
  for (const std::string_view text : bad) {
    std::string replaced;
    for (size_t i = 0; i < text.size(); ++i) replaced += "\xEF\xBF\xBD";
    EXPECT_EQ(StringOf(text), "\"" + replaced + "\"");
  }
}

}  // namespace
}  // namespace bitsieve::core
