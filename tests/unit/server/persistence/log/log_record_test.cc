#include "server/persistence/log/log_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/window/window_type.h"
#include "tests/support/log_fixture.h"

namespace bitsieve::server::log {
namespace {

using core::ChangeKind;
using testing::HasSubstr;

// Returns the result of Decode for one record with these bytes after its length.
core::Status DecodeContent(const std::string& content) {
  std::string bytes;
  core::ByteWriter(bytes).PutString(content);
  std::string_view rest = bytes;
  Record record;
  return Decode(rest, record);
}

template <class... Fields>
std::string Content(uint8_t kind, Fields... fields) {
  std::string bytes;
  core::ByteWriter writer(bytes);
  writer.Put(kind);
  (writer.Put(fields), ...);
  return bytes;
}

std::string ErrorOf(const core::Status& status) {
  if (status) return "no error";
  EXPECT_EQ(status.error().code, core::ErrorCode::kCorrupt);
  return status.error().message;
}

// Every field differs from its default.
core::FilterParams UnusualParams() {
  core::FilterParams params;
  params.type = core::kWindowType;
  params.error_rate = 0.003;
  params.capacity = 1000;
  params.expansion = 0;
  params.tightening_ratio = 0.6;
  params.first_share = 0.7;
  params.seed = 0x123456789abcdef0;
  core::SetWindow(params, {0, 5000});
  return params;
}

TEST(LogRecord, EveryKindComesBack) {
  const std::vector<Record> records = SampleRecords();
  std::vector<bool> seen(kRecordKinds + 1);
  const std::string bytes = Encoded(records);
  std::string_view rest = bytes;
  Record decoded;
  for (const Record& record : records) {
    const core::Status status = Decode(rest, decoded);
    ASSERT_TRUE(status.has_value()) << NameOf(KindOf(record)) << ": " << status.error().message;
    EXPECT_EQ(KindOf(decoded), KindOf(record));
    EXPECT_EQ(Encoded(decoded), Encoded(record)) << NameOf(KindOf(record));
    seen[static_cast<size_t>(KindOf(record))] = true;
  }
  EXPECT_TRUE(rest.empty());
  seen[0] = true;  // the number of none
  EXPECT_THAT(seen, testing::Each(true)) << "a kind has no sample";
}

TEST(LogRecord, FieldsComeBackWhereTheyWere) {
  Record decoded;
  const auto back = [&decoded](const Record& record) -> Record& {
    const std::string bytes = Encoded(record);
    std::string_view rest = bytes;
    EXPECT_TRUE(Decode(rest, decoded).has_value());
    return decoded;
  };
  const Changed added = std::get<Changed>(back(Changed{ChangeKind::kAdded, 1, 2, 3, {{4, 5}, {6, 7}}}));
  EXPECT_EQ(added.kind, ChangeKind::kAdded);
  EXPECT_EQ(std::tie(added.id, added.sequence, added.time_ms), std::make_tuple(1u, 2u, 3u));
  ASSERT_EQ(added.hashes.size(), 2u);
  EXPECT_EQ(added.hashes[1].low, 6u);
  EXPECT_EQ(added.hashes[1].high, 7u);
  EXPECT_EQ(added.until_ms, 0u);
  const Changed renewed = std::get<Changed>(back(Changed{ChangeKind::kRenewed, 1, 2, 3, {{4, 5}}, 6}));
  EXPECT_EQ(std::tie(renewed.kind, renewed.time_ms, renewed.until_ms), std::make_tuple(ChangeKind::kRenewed, 3u, 6u));
  const Image image = std::get<Image>(back(Image{1, 2, 3, {4, 5}}));
  EXPECT_EQ(std::tie(image.id, image.sequence, image.file_id), std::make_tuple(1u, 2u, 3u));
  EXPECT_EQ(image.seal, (FileSeal{4, 5}));
  const auto content = std::get<server::log::Content>(back(server::log::Content{1, 2, "ab", "cde"}));
  EXPECT_EQ(std::tie(content.id, content.sequence), std::make_tuple(1u, 2u));
  EXPECT_EQ(std::tie(content.header, content.body), std::make_tuple("ab", "cde"));
  const Changed rewritten = std::get<Changed>(back(Changed{ChangeKind::kRewritten, 1, 2, 0, {}}));
  EXPECT_EQ(std::tie(rewritten.kind, rewritten.id, rewritten.sequence),
            std::make_tuple(ChangeKind::kRewritten, 1u, 2u));
  EXPECT_TRUE(rewritten.hashes.empty());
  const Named named = std::get<Named>(back(Named{"a", 2, 3}));
  EXPECT_EQ(std::tie(named.name, named.id, named.expires_ms), std::make_tuple("a", 2u, 3));
  const Renamed renamed = std::get<Renamed>(back(Renamed{"a", "b"}));
  EXPECT_EQ(std::tie(renamed.from, renamed.to), std::make_tuple("a", "b"));
}

TEST(LogRecord, EveryParameterComesBack) {
  const core::FilterParams params = UnusualParams();
  const std::string bytes = Encoded(Made{9, params});
  std::string_view rest = bytes;
  Record decoded;
  ASSERT_TRUE(Decode(rest, decoded).has_value());
  const core::FilterParams& back = std::get<Made>(decoded).params;
  EXPECT_EQ(back.type, params.type);
  EXPECT_EQ(back.error_rate, params.error_rate);
  EXPECT_EQ(back.capacity, params.capacity);
  EXPECT_EQ(back.expansion, params.expansion);
  EXPECT_EQ(back.tightening_ratio, params.tightening_ratio);
  EXPECT_EQ(back.first_share, params.first_share);
  EXPECT_EQ(back.seed, params.seed);
  EXPECT_EQ(back.hash, params.hash);
  EXPECT_EQ(back.own, params.own);
}

TEST(LogRecord, AChangeCostsLittleMoreThanItsHashes) {
  EXPECT_EQ(Encoded(Changed{ChangeKind::kAdded, 1, 1, 0, {{1, 2}, {3, 4}}}).size(), 4u + 1 + 8 + 8 + 2 * 16);
  EXPECT_EQ(Encoded(Changed{ChangeKind::kAdded, 1, 1, 9, {{1, 2}}}).size(), 4u + 1 + 8 + 8 + 8 + 16);
  EXPECT_EQ(Encoded(Changed{ChangeKind::kAdded, 1, 1, 9, {{1, 2}}, 10}).size(), 4u + 1 + 8 + 8 + 8 + 8 + 16);
  EXPECT_EQ(Encoded(Changed{ChangeKind::kRemoved, 1, 1, 0, {{1, 2}}}).size(), 4u + 1 + 8 + 8 + 16);
  EXPECT_EQ(Encoded(Changed{ChangeKind::kFalsePositives, 1, 1, 0, {{1, 2}}}).size(), 4u + 1 + 8 + 8 + 16);
}

TEST(LogRecord, TheWayOfEveryAddWritesTheSame) {
  const std::vector<core::KeyHash> hashes{{1, 2}, {3, 4}};
  std::string bytes = "before";
  std::string expected = bytes;
  for (const auto& [kind, sequence, time_ms, until_ms] :
       {std::tuple(ChangeKind::kAdded, 2, 0, 0), std::tuple(ChangeKind::kAdded, 3, 4, 0),
        std::tuple(ChangeKind::kAdded, 4, 4, 9), std::tuple(ChangeKind::kRenewed, 5, 4, 9),
        std::tuple(ChangeKind::kRemoved, 6, 0, 0), std::tuple(ChangeKind::kRemoved, 7, 4, 0),
        std::tuple(ChangeKind::kFalsePositives, 8, 0, 0)}) {
    const auto number = static_cast<uint64_t>(sequence), time = static_cast<uint64_t>(time_ms);
    const auto until = static_cast<uint64_t>(until_ms);
    Encode(core::Change{kind, 1, number, time, hashes, until}, bytes);
    expected += Encoded(Changed{kind, 1, number, time, hashes, until});
  }
  Encode(core::Change{ChangeKind::kRewritten, 1, 6, 0, {}}, bytes);
  expected += Encoded(Changed{ChangeKind::kRewritten, 1, 6, 0, {}});
  EXPECT_EQ(bytes, expected);
}

TEST(LogRecord, MemoryIsUsedAgain) {
  const std::string bytes = Encoded(Changed{ChangeKind::kAdded, 1, 1, 0, {{1, 2}, {3, 4}}}) +
                            Encoded(Changed{ChangeKind::kAdded, 1, 2, 0, {{5, 6}}});
  std::string_view rest = bytes;
  Record record;
  ASSERT_TRUE(Decode(rest, record).has_value());
  const core::KeyHash* const data = std::get<Changed>(record).hashes.data();
  ASSERT_TRUE(Decode(rest, record).has_value());
  EXPECT_EQ(std::get<Changed>(record).hashes.data(), data);
}

TEST(LogRecord, NoneIsReadFromLessThanAllOfItsBytes) {
  for (const Record& sample : SampleRecords()) {
    const std::string whole = Encoded(sample);
    for (size_t size = 0; size < whole.size(); ++size) {
      std::string_view rest = std::string_view(whole).substr(0, size);
      Record record;
      EXPECT_THAT(ErrorOf(Decode(rest, record)), HasSubstr("cut short"));
      EXPECT_EQ(rest.size(), size) << "nothing is taken off";
    }
  }
}

// The length is right, but the content is not.
TEST(LogRecord, NoneIsReadFromTooFewOrTooManyFields) {
  for (const Record& sample : SampleRecords()) {
    if (std::holds_alternative<server::log::Content>(sample)) continue;  // its body has any length
    const std::string content = Encoded(sample).substr(sizeof(uint32_t));
    const auto* const changed = std::get_if<Changed>(&sample);
    const bool of_hashes = changed != nullptr && changed->kind != ChangeKind::kRewritten;
    for (size_t size = 0; size < content.size(); ++size) {
      if (of_hashes && (content.size() - size) % 16 == 0 && size > 32) continue;  // one hash less is a record, too
      EXPECT_THAT(ErrorOf(DecodeContent(content.substr(0, size))), testing::Ne("no error"))
          << NameOf(KindOf(sample)) << " of " << size;
    }
    EXPECT_THAT(ErrorOf(DecodeContent(content + "x")), HasSubstr(of_hashes ? "bytes of hashes" : "too long"));
  }
}

TEST(LogRecord, ImpossibleFieldsAreFound) {
  constexpr uint64_t kOne = 1;
  EXPECT_THAT(ErrorOf(DecodeContent("")), HasSubstr("too short"));
  // Only some kinds of changes have a time, or a time at which items expire.
  for (const uint8_t kind : {0, 14, 15, 0x43, 0x44, 0x4e, 0x80, 0x81, 0x8b, 0x8d, 0x8e, 0xc1, 0xc4, 0xcd, 0xff}) {
    EXPECT_THAT(ErrorOf(DecodeContent(Content(kind))), HasSubstr("unknown kind " + std::to_string(kind)));
  }
  EXPECT_THAT(ErrorOf(DecodeContent(Content(5, uint64_t{0}))), HasSubstr("of filter 0"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(5, kMaxFilterId))), HasSubstr("which is not a valid id"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(3, kOne, uint64_t{0}, kOne, kOne))), HasSubstr("without a number"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(4, kOne, kOne))), HasSubstr("0 bytes of hashes"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(4, kOne, kOne) + std::string(16 * (kMaxHashes + 1), 'x'))),
              HasSubstr("1 to 4096 of 16 bytes are allowed"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(0x83, kOne, kOne, uint64_t{0}, kOne, kOne))), HasSubstr("without a time"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(0xc3, kOne, kOne, kOne, uint64_t{0}, kOne, kOne))),
              HasSubstr("of items that expire without a time"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(2, kOne, kOne, uint64_t{0}, kOne, kOne))), HasSubstr("in file 0"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(9, int64_t{-1}, uint32_t{0}))), HasSubstr("before 1970"));
  EXPECT_THAT(ErrorOf(DecodeContent(Content(6, kOne, int64_t{-1}, uint32_t{0}))), HasSubstr("before 1970"));
}

TEST(LogRecord, ImpossibleParametersAreFound) {
  const auto error_of = [](auto change) {
    core::FilterParams params = UnusualParams();
    change(params);
    return ErrorOf(DecodeContent(Encoded(Made{1, params}).substr(sizeof(uint32_t))));
  };
  EXPECT_EQ(error_of([](core::FilterParams&) {}), "no error");
  EXPECT_THAT(error_of([](auto& params) { params.type = core::FilterType{0}; }), HasSubstr("filter type must be"));
  EXPECT_THAT(error_of([](auto& params) { params.error_rate = 2; }), HasSubstr("error rate must be"));
  EXPECT_THAT(error_of([](auto& params) { core::SetWindow(params, {3, 5000}); }), HasSubstr("not of both"));
  // Validate does not look at the hash of this kind; hashing with one that is none would be the end.
  EXPECT_THAT(error_of([](auto& params) {
                params.type = core::kRedisCuckooType;
                params.hash = core::HashKind{static_cast<int>(core::kNewestHashKind) + 1};
              }),
              HasSubstr("hash function is unknown"));
}

TEST(LogRecord, HostileLengthsAllocateNothing) {
  const std::string name_of_4gb = Content(7, uint32_t{0xffffffff});
  EXPECT_THAT(ErrorOf(DecodeContent(name_of_4gb)), HasSubstr("too short"));
  std::string bytes("\xff\xff\xff\xff\x03", 5);
  std::string_view rest = bytes;
  Record record = Changed{};
  EXPECT_THAT(ErrorOf(Decode(rest, record)), HasSubstr("cut short"));
  EXPECT_EQ(std::get<Changed>(record).hashes.capacity(), 0u);
}

TEST(LogRecord, KindsHaveNames) {
  EXPECT_EQ(NameOf(KindOf(Record(Flushed{}))), "flushed");
  EXPECT_EQ(NameOf(RecordKind::kMade), "made");
  EXPECT_EQ(NameOf(KindOf(Record(Changed{}))), "added");
}

}  // namespace
}  // namespace bitsieve::server::log
