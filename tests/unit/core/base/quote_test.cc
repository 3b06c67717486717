#include "core/base/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace bitsieve::core {
namespace {

TEST(Quote, TextStaysAsItIs) {
  EXPECT_EQ(Quoted(""), "\"\"");
  EXPECT_EQ(Quoted("100mb"), "\"100mb\"");
  EXPECT_EQ(Quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
}

TEST(Quote, ControlBytesAndQuotesAreEscaped) {
  EXPECT_EQ(Quoted(std::string("a\0\n\x7f\"\\", 6)), R"("a\x00\x0a\x7f\"\\")");
}

TEST(Quote, LongTextIsCut) {
  EXPECT_EQ(Quoted(std::string(100, 'x')), "\"" + std::string(100, 'x') + "\"");
  EXPECT_EQ(Quoted(std::string(101, 'x')), "\"" + std::string(100, 'x') + "\"...");
}

}  // namespace
}  // namespace bitsieve::core
