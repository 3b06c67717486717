#include "protocol/rdb/valkey_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "core/families/valkeybloom/valkey_bloom_type.h"
#include "protocol/rdb/module_payload.h"
#include "protocol/rdb/rdb_file.h"
#include "tests/support/given_fields.h"

namespace bitsieve::rdb {
namespace {

using Fields = std::deque<ValueField>;
using core::ErrorCode;

std::string SliceOf(char bits) {
  return "\1" + std::string("\1\0\0\0\0\0\0\0\6\0\0\0", 12) + core::ValkeySeedOf({}) + bits;
}

// A filter of two sub-filters, the first of which holds "a". Each order of fields states the same.
Fields CurrentOrder() {
  return {uint64_t{2}, uint64_t{1},     0.5,         0.5,         uint64_t{0},
          uint64_t{1}, SliceOf('\x55'), uint64_t{1}, uint64_t{0}, SliceOf('\0')};
}
Fields OlderOrder() {
  return {uint64_t{2},     uint64_t{1}, 0.5,           0.5,         uint64_t{0},
          SliceOf('\x55'), uint64_t{1}, SliceOf('\0'), uint64_t{1}, uint64_t{0}};
}

class ValkeyValueTest : public testing::Test {
 protected:
  core::Result<core::FilterPtr> Read(Fields fields, bool sees_kinds, int version = kValkeyBloomVersion) {
    GivenFields given(std::move(fields), sees_kinds);
    return ReadValkeyBloom(given, version, memory_);
  }

  core::MemoryBudget memory_;
};

TEST_F(ValkeyValueTest, BothOrdersAreReadAndTheCurrentOneWritten) {
  for (const bool older : {false, true}) {
    const auto filter = Read(older ? OlderOrder() : CurrentOrder(), true);
    ASSERT_TRUE(filter) << filter.error().message;
    EXPECT_EQ((*filter)->SubFilters(), 2U);
    EXPECT_EQ((*filter)->ItemCount(), 1U);
    TakenFields taken;
    WriteValkeyBloom(**filter, taken);
    EXPECT_EQ(taken.fields, CurrentOrder());
  }
}

TEST_F(ValkeyValueTest, AReaderThatSeesNoKindsReadsTheCurrentOrder) {
  EXPECT_TRUE(Read(CurrentOrder(), false));
  const auto older = Read(OlderOrder(), false);
  ASSERT_FALSE(older);
  EXPECT_EQ(older.error().code, ErrorCode::kCorrupt);
}

TEST_F(ValkeyValueTest, NoPartIsEnough) {
  for (const Fields& fields : {CurrentOrder(), OlderOrder()}) {
    for (size_t count = 0; count < fields.size(); ++count) {
      const auto part = Read(Fields(fields.begin(), fields.begin() + static_cast<ptrdiff_t>(count)), true);
      ASSERT_FALSE(part) << count;
      EXPECT_EQ(part.error().code, ErrorCode::kCorrupt) << count;
    }
  }
  EXPECT_EQ(memory_.used_bytes(), 0U);
}

TEST_F(ValkeyValueTest, OtherVersionsAreUnsupported) {
  for (const int version : {0, 2, 1023}) {
    EXPECT_EQ(Read(CurrentOrder(), true, version).error().code, ErrorCode::kUnsupported) << version;
  }
}

// The bytes are those of valkey-bloom's DUMP of a filter for one item at a rate of 0.5 that holds "a"; RDB version 11.
TEST_F(ValkeyValueTest, APayloadHasValkeyBloomsBytes) {
  const auto filter =
      Read({uint64_t{1}, uint64_t{2}, 0.5, 0.5, uint64_t{0}, uint64_t{1}, uint64_t{1}, SliceOf('\x55')}, false);
  ASSERT_TRUE(filter) << filter.error().message;
  ModulePayload payload(core::kValkeyBloomValueName, kValkeyBloomVersion);
  WriteValkeyBloom(**filter, payload);
  const std::string bytes = std::move(payload).Finish();
  const std::string half("\4\0\0\0\0\0\0\xe0\x3f", 9);
  const std::string expected = std::string("\x07\x81\x6e\x5a\x28\x99\xf9\x6d\xac\x01\2\1\2\2", 14) + half + half +
                               std::string("\2\0\2\1\2\1\5\x2e", 8) + SliceOf('\x55') + '\0';
  EXPECT_EQ(bytes.substr(0, expected.size()), expected);
  EXPECT_EQ(bytes.size(), 97U);
  const auto opened = OpenDumpPayload(bytes);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto read = ReadFilter(*opened, memory_, core::SystemClock());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->filter->ItemCount(), 1U);
}

}  // namespace
}  // namespace bitsieve::rdb
