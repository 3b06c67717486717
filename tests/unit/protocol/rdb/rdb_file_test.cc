#include "protocol/rdb/rdb_file.h"

#include <gtest/gtest.h>
#include <liblzf/lzf.h>

#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "protocol/rdb/module_payload.h"

namespace bitsieve::rdb {
namespace {

std::string Length(uint64_t number) {
  if (number < 64) return {static_cast<char>(number)};
  if (number < 16384) return {static_cast<char>(0x40 | number >> 8), static_cast<char>(number)};
  std::string bytes = number <= UINT32_MAX ? "\x80" : "\x81";
  for (int shift = number <= UINT32_MAX ? 24 : 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}
std::string Text(const std::string& text) { return Length(text.size()) + text; }
std::string Zeros(size_t bytes) { return std::string(bytes, '\0'); }

std::string Packed(const std::string& text) {
  std::string packed(text.size(), '\0');
  packed.resize(lzf_compress(text.data(), static_cast<unsigned>(text.size()), packed.data(),
                             static_cast<unsigned>(text.size() - 1)));
  return "\xc3" + Length(packed.size()) + Length(text.size()) + packed;
}

std::string Key(uint8_t type, const std::string& name, const std::string& value) {
  return static_cast<char>(type) + Text(name) + value;
}
std::string File(const std::string& keys, const std::string& head = "REDIS0012") {
  return head + keys + "\xff" + Zeros(8);
}

std::string Stream(int version) {
  const std::string id = Zeros(16);
  std::string bytes = Length(1) + Text(id) + Text("listpack") + Length(1) + Length(1) + Length(0);
  if (version >= 2) bytes += Length(1) + Length(0) + Length(0) + Length(0) + Length(1);
  bytes += Length(1) + Text("group") + Length(1) + Length(0);
  if (version >= 2) bytes += Length(1);
  bytes += Length(1) + id + Zeros(8) + Length(1);  // pending
  bytes += Length(1) + Text("reader") + Zeros(8);
  if (version >= 3) bytes += Zeros(8);
  return bytes + Length(1) + id;
}

struct Found {
  std::vector<std::string> names;
  std::string failure;
};
Found ReadAll(std::string_view bytes) {
  core::MemoryBudget memory;
  auto file = RdbFile::Open(bytes, memory);
  if (!file) return {.names = {}, .failure = file.error().message};
  Found found;
  while (auto key = file->Next()) found.names.push_back(key->name);
  found.failure = file->failure();
  return found;
}

const std::vector<std::string> kValues = {
    Key(0, "text", Text("v")),
    Key(0, "int8", std::string("\xc0\x05", 2)),
    Key(0, "int32", "\xc2" + Zeros(4)),
    Key(0, "packed", Packed(std::string(1000, 'a'))),
    Key(0, "long", Text(std::string(20000, 'a'))),
    Key(1, "list", Length(2) + Text("a") + Text("b")),
    Key(2, "set", Length(1) + Text("a")),
    Key(3, "zset", Length(3) + Text("a") + "\x03" + "1.5" + Text("b") + "\xfd" + Text("c") + "\xff"),
    Key(4, "hash", Length(1) + Text("f") + Text("v")),
    Key(5, "zset2", Length(1) + Text("a") + Zeros(8)),
    Key(9, "zipmap", Text("bytes")),
    Key(10, "ziplist", Text("bytes")),
    Key(11, "intset", Text("bytes")),
    Key(12, "zset of a ziplist", Text("bytes")),
    Key(13, "hash of a ziplist", Text("bytes")),
    Key(14, "quicklist", Length(1) + Text("ziplist")),
    Key(15, "stream", Stream(1)),
    Key(16, "hash of a listpack", Text("bytes")),
    Key(17, "zset of a listpack", Text("bytes")),
    Key(18, "quicklist 2", Length(1) + Length(2) + Text("listpack")),
    Key(19, "stream 2", Stream(2)),
    Key(20, "set of a listpack", Text("bytes")),
    Key(21, "stream 3", Stream(3)),
    Key(24, "hash with times", Zeros(8) + Length(1) + Length(5) + Text("f") + Text("v")),
    Key(25, "small hash with times", Zeros(8) + Text("listpack")),
    Key(7, "module",
        Length(77) + Length(1) + Length(7) + Length(2) + Length(8) + Length(3) + Zeros(4) + Length(4) + Zeros(8) +
            Length(5) + Text("s") + Length(0)),
};

TEST(RdbFileTest, EveryTypeIsPassedOver) {
  for (const std::string& value : kValues) {
    const Found found = ReadAll(File(value + Key(0, "after", Text("v"))));
    EXPECT_EQ(found.failure, "") << value.substr(0, 40);
    EXPECT_EQ(found.names.size(), 2U);
    EXPECT_EQ(found.names.back(), "after");
  }
}

// No end of the file at any other place is taken for a good one.
TEST(RdbFileTest, EveryCutIsFound) {
  for (const std::string& value : kValues) {
    if (value.size() > 1000) continue;
    const std::string file = File(value);
    for (size_t size = 9; size < file.size(); ++size) {
      EXPECT_NE(ReadAll(std::string_view(file).substr(0, size)).failure.find("ends too early"), std::string::npos)
          << value.substr(0, 20) << " cut to " << size;
    }
  }
}

TEST(RdbFileTest, Type22IsAnotherOneOfValkey) {
  const std::string valkey = Key(22, "hash", Length(1) + Text("f") + Text("v") + Zeros(8)) + Key(0, "after", Text("v"));
  const std::string redis = Key(22, "hash", Length(1) + Length(5) + Text("f") + Text("v")) + Key(0, "after", Text("v"));
  EXPECT_EQ(ReadAll(File(valkey, "VALKEY080")).names.size(), 2U);
  EXPECT_EQ(ReadAll(File(redis)).names.size(), 2U);
}

TEST(RdbFileTest, WhatStandsBetweenKeys) {
  const std::string between = "\xfa" + Text("redis-ver") + Text("7.4.0") + "\xf5" + Text("#!lua") + "\xf7" +
                              Length(77) + Length(2) + Length(2) + Length(0) + "\xfb" + Length(5) + Length(1) + "\xf4" +
                              Length(1) + Length(2) + Length(3) + "\xf8" + Length(9) + "\xf9" + "\x07";
  core::MemoryBudget memory;
  const std::string seconds = std::string("\xfd\x00\x94\x35\x77", 5);  // 2,000,000,000
  const std::string bytes =
      File("\xfe" + Length(3) + between + seconds + Key(0, "k", Text("v")) + Key(0, "l", Text("v")));
  auto file = RdbFile::Open(bytes, memory);
  ASSERT_TRUE(file);
  const auto key = file->Next();
  ASSERT_TRUE(key) << file->failure();
  EXPECT_EQ(key->name, "k");
  EXPECT_EQ(key->database, 3U);
  EXPECT_EQ(key->expires_ms, 2'000'000'000'000);
  const auto after = file->Next();
  ASSERT_TRUE(after);
  EXPECT_EQ(after->expires_ms, 0);  // it was the other one's
  EXPECT_FALSE(file->Next());
  EXPECT_EQ(file->failure(), "");
}

TEST(RdbFileTest, NamesThatArePackedOrNumbers) {
  const std::string name(500, 'n');
  EXPECT_EQ(ReadAll(File(std::string(1, '\0') + Packed(name) + Text("v"))).names, std::vector<std::string>{name});
  EXPECT_EQ(ReadAll(File(std::string("\0\xc1\xfe\xff", 4) + Text("v"))).names, std::vector<std::string>{"-2"});
}

TEST(RdbFileTest, WhatIsWrongIsNamed) {
  const auto failure = [](const std::string& bytes) { return ReadAll(bytes).failure; };
  EXPECT_NE(failure("RIFF....."), "");
  EXPECT_EQ(failure("REDIS00x1"), "its version is not a number: not an RDB file");
  EXPECT_EQ(failure(File(Key(99, "k", ""))), "a value of unknown type 99 at byte 12");
  EXPECT_NE(failure(File(Key(6, "k", Length(5)))).find("only that module"), std::string::npos);
  EXPECT_NE(failure(File(Key(0, "k", "\xc7"))).find("a string of unknown form"), std::string::npos);
  EXPECT_NE(failure(File(Key(1, "k", "\xc0"))).find("a length is missing"), std::string::npos);
  EXPECT_NE(failure(File(Key(0, "k", "\x85"))).find("a length of unknown form"), std::string::npos);
  EXPECT_NE(failure(File(Key(7, "k", Length(7) + Length(9)))).find("unknown kind 9"), std::string::npos);
  // 4 GB out of three bytes.
  EXPECT_NE(failure(File(Key(0, "k", "\xc3" + Length(3) + Length(UINT32_MAX) + "abc"))).find("impossible length"),
            std::string::npos);
  // The greatest length there is.
  EXPECT_NE(failure(File(Key(0, "k", Length(UINT64_MAX)))).find("ends too early"), std::string::npos);
  const std::string damaged = std::string("REDIS0012") + Key(0, "k", Text("v")) + "\xff" + "12345678";
  EXPECT_NE(failure(damaged).find("checksum is wrong"), std::string::npos);
}

TEST(RdbFileTest, UnpackingTakesNoMoreThanIsGiven) {
  core::MemoryBudget memory(999);
  const std::string bytes = Packed(std::string(1000, 'a'));
  RdbReader reader(bytes, memory);
  EXPECT_TRUE(reader.String().bytes.empty());
  EXPECT_NE(reader.failure().find("out of memory"), std::string::npos);
  EXPECT_EQ(memory.used_bytes(), 0U);
}

TEST(RdbFile, TheModuleOfAPayload) {
  const std::string payload = ModulePayload("CMSk-TYPE", 3).Finish();
  const auto module = ModuleOfPayload(payload.substr(0, 12));
  ASSERT_TRUE(module);
  EXPECT_EQ(module->name, "CMSk-TYPE");
  EXPECT_EQ(module->version, 3);
  EXPECT_FALSE(ModuleOfPayload(payload.substr(0, 5)));
  EXPECT_FALSE(ModuleOfPayload(""));
  EXPECT_FALSE(ModuleOfPayload(Zeros(20)));
}

}  // namespace
}  // namespace bitsieve::rdb
