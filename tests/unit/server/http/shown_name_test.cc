#include "server/http/shown_name.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

TEST(ShownName, KeepsText) {
  EXPECT_EQ(ShownName("users:2026"), "users:2026");
  EXPECT_EQ(ShownName("größe 大 😀"), "größe 大 😀");
  EXPECT_EQ(ShownName("<b onclick='x'>&"), "<b onclick='x'>&");
}

TEST(ShownName, EscapesWhatIsNoText) {
  EXPECT_EQ(ShownName(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(ShownName("\n\x7f\\"), "\\x0a\\x7f\\x5c");
  EXPECT_EQ(ShownName("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(ShownName("\xc0\xaf"), "\\xc0\\xaf") << "longer than it needs to be";
  EXPECT_EQ(ShownName("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(ShownName("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(ShownName("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "turns the direction of what follows";
}

TEST(ShownName, CutsLongNamesAndKeepsThemApart) {
  const std::string name(100'000, 'a');
  EXPECT_LT(ShownName(name).size(), 200U);
  EXPECT_NE(ShownName(name), ShownName(name + "b"));
}

TEST(UrlEncoded, IsPlainAscii) { EXPECT_EQ(UrlEncoded(std::string_view("a b\0\xff&~", 7)), "a%20b%00%FF%26~"); }

}  // namespace
}  // namespace bitsieve::server
