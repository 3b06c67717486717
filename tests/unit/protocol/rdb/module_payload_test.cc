#include "protocol/rdb/module_payload.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "core/base/memory_budget.h"
#include "protocol/rdb/rdb_reader.h"

namespace bitsieve::rdb {
namespace {

using namespace std::string_view_literals;

// The check value of the CRC catalogue for this polynomial, and numbers that RedisBloom's payloads have.
TEST(ModulePayloadTest, KnownValues) {
  EXPECT_EQ(RdbChecksum("123456789"), 0xe9c6d914c4b8d9caU);
  EXPECT_EQ(ModuleIdOf(0x3016e5a289bef804).name, "MBbloom--");
  EXPECT_EQ(ModuleIdOf(0x3016e5a289bef804).version, 4);
  EXPECT_EQ(ModuleIdOf(0x3016e5a289821404).name, "MBbloomCF");
  EXPECT_EQ(NumberOf("MBbloom--", 4), 0x3016e5a289bef804U);
  EXPECT_EQ(NumberOf("CMSk-TYPE", 0), 0x08c4a4f9360f1000U);
  EXPECT_EQ(NumberOf("TopK-TYPE", 0), 0x4e8a4af9360f1000U);
  EXPECT_EQ(NumberOf("TDIS-TYPE", 0), 0x4c3212f9360f1000U);
}

// RedisBloom returns these bytes for DUMP after CMS.INITBYDIM k 1 1, except for the version of the format.
TEST(ModulePayloadTest, IsThatOfDump) {
  ModulePayload payload("CMSk-TYPE", 0);
  for (const uint64_t number : {1, 1, 0}) payload.Unsigned(number);
  payload.Bytes("\0\0\0\0"sv);
  const std::string bytes = std::move(payload).Finish();
  EXPECT_EQ(bytes.substr(0, bytes.size() - 10),
            "\x07\x81\x08\xc4\xa4\xf9\x36\x0f\x10\x00\x02\x01\x02\x01\x02\x00\x05\x04\0\0\0\0\0"sv);
  EXPECT_EQ(bytes.substr(bytes.size() - 10, 2), "\x09\x00"sv);
}

TEST(ModulePayloadTest, IsReadBack) {
  const std::string large(70'000, 'x');
  ModulePayload payload("TDIS-TYPE", 3);
  for (const uint64_t number : {uint64_t{63}, uint64_t{64}, uint64_t{16'383}, uint64_t{16'384}, uint64_t{UINT32_MAX},
                                uint64_t{1} << 32, UINT64_MAX}) {
    payload.Unsigned(number);
  }
  payload.Double(-0.1);
  payload.Bytes(large);
  const std::string bytes = std::move(payload).Finish();

  core::MemoryBudget memory;
  RdbReader reader(bytes, memory);
  EXPECT_EQ(reader.Byte(), kModule2);
  EXPECT_EQ(ModuleIdOf(reader.Length()).version, 3);
  RdbFields fields(reader);
  for (const uint64_t number : {uint64_t{63}, uint64_t{64}, uint64_t{16'383}, uint64_t{16'384}, uint64_t{UINT32_MAX},
                                uint64_t{1} << 32, UINT64_MAX}) {
    EXPECT_EQ(fields.Unsigned(), number);
  }
  EXPECT_EQ(fields.Double(), -0.1);
  EXPECT_EQ(fields.Bytes().bytes, large);
  fields.End();
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(reader.left(), 10U);
}

}  // namespace
}  // namespace bitsieve::rdb
