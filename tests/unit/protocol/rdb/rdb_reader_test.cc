#include "protocol/rdb/rdb_reader.h"

#include <gtest/gtest.h>
#include <liblzf/lzf.h>

#include <bit>
#include <string>

namespace bitsieve::rdb {
namespace {

using namespace std::string_literals;

class RdbReaderTest : public testing::Test {
 protected:
  core::MemoryBudget memory_;
};

TEST_F(RdbReaderTest, LengthsOfEachForm) {
  const std::string bytes = "\x3f\x41\x02\x80\x00\x01\x00\x00\x81\x00\x00\x00\x01\x00\x00\x00\x00"s;
  RdbReader reader(bytes, memory_);
  EXPECT_EQ(reader.Length(), 63U);
  EXPECT_EQ(reader.Length(), 258U);
  EXPECT_EQ(reader.Length(), 65'536U);
  EXPECT_EQ(reader.Length(), uint64_t{1} << 32);
  EXPECT_EQ(reader.left(), 0U);
  EXPECT_FALSE(reader.failed());
}

TEST_F(RdbReaderTest, NumbersAreStringsOfTheirDigits) {
  const std::string bytes = "\xc0\x80\xc1\xff\x7f\xc2\x00\x00\x00\x80\x02hi"s;
  RdbReader reader(bytes, memory_);
  EXPECT_EQ(reader.String().bytes, "-128");
  EXPECT_EQ(reader.String().bytes, "32767");
  EXPECT_EQ(reader.String().bytes, "-2147483648");
  const ValueBytes plain = reader.String();
  EXPECT_EQ(plain.bytes, "hi");
  EXPECT_EQ(plain.bytes.data(), bytes.data() + bytes.size() - 2) << "read in place";
}

TEST_F(RdbReaderTest, AfterTheFirstFailureEveryReadGivesNothing) {
  const std::string bytes =
      "\x05"
      "ab\x01\x01\x01"s;
  RdbReader reader(std::string_view(bytes).substr(0, 4), memory_);
  EXPECT_EQ(reader.String().bytes, "");
  ASSERT_TRUE(reader.failed());
  const std::string failure = reader.failure();
  const uint64_t position = reader.position();
  EXPECT_EQ(reader.Byte(), 0);
  EXPECT_EQ(reader.Length(), 0U);
  EXPECT_EQ(reader.Little<uint16_t>(), 0U);
  EXPECT_EQ(reader.String().bytes, "");
  reader.Fail("another reason");
  EXPECT_EQ(reader.failure(), failure) << "the first reason stays";
  EXPECT_EQ(reader.position(), position);
}

TEST_F(RdbReaderTest, UnpackedStringsTakeMemoryUntilTheReaderDies) {
  const std::string text(1000, 'a');
  std::string packed(text.size(), '\0');
  packed.resize(lzf_compress(text.data(), 1000, packed.data(), 999));
  ASSERT_LT(packed.size(), 64U);
  const std::string bytes = "\xc3" + std::string(1, static_cast<char>(packed.size())) + "\x43\xe8" + packed;
  {
    RdbReader reader(bytes, memory_);
    EXPECT_EQ(reader.String().bytes, text);
    EXPECT_EQ(memory_.used_bytes(), 1000U);
    EXPECT_EQ(reader.String().bytes, "");
  }
  EXPECT_EQ(memory_.used_bytes(), 0U);
}

TEST_F(RdbReaderTest, AFieldOfAnotherKindIsAFailure) {
  const std::string bytes = "\x02\x07\x04\x00\x00\x00\x00\x00\x00\xf0\x3f\x05\x01x\x00"s;
  RdbReader reader(bytes, memory_);
  RdbFields fields(reader);
  EXPECT_EQ(fields.Unsigned(), 7U);
  EXPECT_EQ(fields.Double(), 1.0);
  EXPECT_EQ(fields.Bytes().bytes, "x");
  fields.End();
  EXPECT_FALSE(fields.failed());

  RdbReader other(bytes, memory_);
  RdbFields wrong(other);
  EXPECT_EQ(wrong.Double(), 0.0);
  EXPECT_TRUE(wrong.failed());
  EXPECT_EQ(wrong.Unsigned(), 0U);
}

}  // namespace
}  // namespace bitsieve::rdb
