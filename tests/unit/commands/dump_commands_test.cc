#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_dump.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"
#include "tests/support/redis_bloom_header.h"

namespace bitsieve::test {
namespace {

constexpr char kOk[] = "+OK\r\n";
constexpr char kBadData[] = "-ERR received bad data\r\n";
constexpr char kNotFound[] = "-ERR not found\r\n";
constexpr char kExists[] = "-ERR item exists\r\n";
constexpr char kNoSuchDump[] = "-ERR no such dump: it has ended or timed out; begin again with iterator 0\r\n";

struct Piece {
  std::string cursor;
  std::string data;
};

class DumpCommands : public testing::Test, public CommandFixture {
 protected:
  // Reads "*2 :cursor $data".
  Piece Scan(const std::string& key, const std::string& cursor) {
    const std::string reply = Reply({"BF.SCANDUMP", key, cursor});
    EXPECT_EQ(reply.substr(0, 5), "*2\r\n:") << reply;
    const size_t cursor_end = reply.find("\r\n", 5);
    const size_t data_start = reply.find("\r\n", cursor_end + 2) + 2;
    EXPECT_EQ(reply.substr(data_start - 2 + 2 + std::strtoul(reply.c_str() + cursor_end + 3, nullptr, 10)), "\r\n");
    return {reply.substr(5, cursor_end - 5), reply.substr(data_start, reply.size() - data_start - 2)};
  }
  // Reads a whole dump as every client does.
  std::vector<Piece> ScanAll(const std::string& key) {
    std::vector<Piece> pieces;
    for (Piece piece = Scan(key, "0"); piece.cursor != "0"; piece = Scan(key, piece.cursor)) pieces.push_back(piece);
    return pieces;
  }
  std::string Load(const std::string& key, const std::vector<Piece>& pieces) {
    std::string reply;
    for (const Piece& piece : pieces) reply = Reply({"BF.LOADCHUNK", key, piece.cursor, piece.data});
    return reply;
  }
  std::string Bulk(const std::string& reply) {
    EXPECT_EQ(reply[0], '$') << reply;
    const size_t start = reply.find("\r\n") + 2;
    return reply.substr(start, reply.size() - start - 2);
  }
  void Fill(const std::string& key, int count) {
    Words command{"BF.MADD", key};
    for (int i = 0; i < count; ++i) command.push_back(std::to_string(i));
    Reply(command);
  }
  // The test vector of one item.
  const std::string header_ = FromHex(kOneItemHeader);
  const std::string bits_ = FromHex(kOneItemBits);
};

class OfRedisBloom : public DumpCommands {
 protected:
  OfRedisBloom() { settings.default_type = core::kRedisBloomType; }
};

// The module keeps the expansion in the header of a filter that does not grow, unless EXPANSION 0 made it so.
TEST_F(OfRedisBloom, NonscalingDumpsHoldTheExpansionThatIsNotUsed) {
  const auto growth_of = [this](const Words& command) {
    EXPECT_NE(Reply(command)[0], '-');
    const std::string header = Scan("bf", "0").data;
    EXPECT_EQ(Load("loaded", ScanAll("bf")), kOk);
    EXPECT_EQ(Scan("loaded", "0").data, header);
    EXPECT_EQ(header[12], 13) << "options: does not scale";
    Reply({"DEL", "bf", "loaded"});
    return static_cast<uint8_t>(header[16]) + 256 * static_cast<uint8_t>(header[17]);
  };
  EXPECT_EQ(growth_of({"BF.RESERVE", "bf", "0.01", "10", "NONSCALING"}), 2);
  EXPECT_EQ(growth_of({"BF.RESERVE", "bf", "0.01", "10", "EXPANSION", "0"}), 0);
  EXPECT_EQ(growth_of({"BF.RESERVE", "bf", "0.01", "10", "EXPANSION", "0", "NONSCALING"}), 0);
  EXPECT_EQ(growth_of({"BF.INSERT", "bf", "NONSCALING", "ITEMS", "a"}), 2);
  EXPECT_EQ(growth_of({"BF.INSERT", "bf", "EXPANSION", "4", "NONSCALING", "ITEMS", "a"}), 4);
  EXPECT_EQ(growth_of({"BF.INSERT", "bf", "NONSCALING", "EXPANSION", "300", "ITEMS", "a"}), 300);
  EXPECT_EQ(growth_of({"BF.INSERT", "bf", "EXPANSION", "0", "ITEMS", "a"}), 0);
  settings.default_expansion = 7;
  EXPECT_EQ(growth_of({"BF.RESERVE", "bf", "0.01", "10", "NONSCALING"}), 7);
  settings.default_expansion = 0;
  EXPECT_EQ(growth_of({"BF.ADD", "bf", "a"}), 0);
}

TEST_F(OfRedisBloom, DumpsRedisBloomsBytes) {
  Reply({"BF.RESERVE", "bf", "0.1", "10"});
  Reply({"BF.ADD", "bf", "item1"});
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "0"}), "*2\r\n:1\r\n$73\r\n" + header_ + "\r\n");
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "1"}), "*2\r\n:9\r\n$8\r\n" + bits_ + "\r\n");
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "9"}), "*2\r\n:0\r\n$0\r\n\r\n");
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "5"}), "*2\r\n:9\r\n$4\r\n" + bits_.substr(4) + "\r\n");
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "-1"}), "*2\r\n:0\r\n$0\r\n\r\n");
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "9223372036854775807"}), "*2\r\n:0\r\n$0\r\n\r\n");
  EXPECT_EQ(Reply({"BF.DEBUG", "bf"}),
            "*2\r\n$6\r\nsize:1\r\n$67\r\nbytes:8 bits:64 hashes:5 hashwidth:64 capacity:10 size:1 ratio:0.05\r\n");
}

TEST_F(OfRedisBloom, ErrorsAreRedisBlooms) {
  EXPECT_EQ(Reply({"BF.SCANDUMP", "none", "x"}), kNotFound);
  EXPECT_EQ(Reply({"BF.DEBUG", "none"}), kNotFound);
  Reply({"BF.ADD", "bf", "item1"});
  EXPECT_EQ(Reply({"BF.SCANDUMP", "bf", "x"}), "-Second argument must be numeric\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "bf", "x", header_}), "-ERR Second argument must be numeric\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "bf", "1", header_}), kBadData);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "bf", "9", bits_}), kBadData) << "a filter in use is not written over";
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "1", "x"}), "-ERR received bad data: RedisBloom header: it is too short\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "1", ""}), Reply({"BF.LOADCHUNK", "new", "1", "x"}));
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "9", bits_}), kNotFound);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "0", ""}), kNotFound);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "1", header_}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "0", ""}), kBadData);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "-1", ""}), kBadData);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "7", bits_}), kBadData);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "8", bits_}), "-ERR invalid offset - no link found\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "17", bits_}), "-ERR invalid offset - no link found\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "10", bits_ + "x"}), "-ERR invalid chunk - Too big for current filter\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "9", bits_.substr(4)}),
            "-ERR received bad data: this is not the next chunk; load the chunks in order\r\n");
  // None of these errors has ended the load.
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "new", "9", bits_}), kOk);
  EXPECT_EQ(Reply({"BF.EXISTS", "new", "item1"}), ":1\r\n");
}

TEST_F(OfRedisBloom, IsThereWithItsLastByteOnly) {
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", header_}), kOk);
  for (size_t i = 0; i < bits_.size(); ++i) {
    EXPECT_EQ(Reply({"EXISTS", "k"}), ":0\r\n");
    EXPECT_EQ(Reply({"BF.EXISTS", "k", "item1"}), ":0\r\n");
    EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", std::to_string(i + 2), bits_.substr(i, 1)}), kOk);
  }
  EXPECT_EQ(Reply({"BF.EXISTS", "k", "item1"}), ":1\r\n");
  EXPECT_EQ(transfers.loads.Size(), 0U);
}

TEST_F(OfRedisBloom, ChainComesBackWhole) {
  for (const char* expansion : {"1", "2", "4"}) {
    Reply({"BF.RESERVE", "chain", "0.001", "100", "EXPANSION", expansion});
    Fill("chain", 2000);
    const std::vector<Piece> pieces = ScanAll("chain");
    EXPECT_EQ(Load("copy", pieces), kOk);
    EXPECT_EQ(Reply({"BF.DEBUG", "copy"}), Reply({"BF.DEBUG", "chain"}));
    EXPECT_EQ(LastingInfo("copy"), LastingInfo("chain"));
    EXPECT_EQ(Bulk(Reply({"BF.DUMP", "copy"})), Bulk(Reply({"BF.DUMP", "chain"})));
    Reply({"DEL", "chain", "copy"});
  }
}

TEST_F(OfRedisBloom, MemoryIsAskedBeforeAnythingIsAllocated) {
  budget.set_limit_bytes(budget.used_bytes() + 100'000);
  const uint64_t used = budget.used_bytes();
  RedisBloomFields fields;
  fields.sub_filter[0].bytes = uint64_t{1} << 40;
  fields.sub_filter[0].bits = uint64_t{1} << 43;
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", fields.Encode()}),
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_EQ(budget.used_bytes(), used);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", header_}), kOk);
  EXPECT_GT(budget.used_bytes(), used);
}

TEST_F(OfRedisBloom, ANewHeaderBeginsAnew) {
  Reply({"BF.LOADCHUNK", "k", "1", header_});
  Reply({"BF.LOADCHUNK", "k", "5", bits_.substr(0, 4)});
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", header_}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "9", bits_.substr(4)}),
            "-ERR received bad data: this is not the next chunk; load the chunks in order\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "9", bits_}), kOk);
}

TEST_F(OfRedisBloom, WhoTakesTheNameMeanwhileHasIt) {
  Reply({"BF.LOADCHUNK", "k", "1", header_});
  const uint64_t loading = budget.used_bytes();
  Reply({"BF.ADD", "k", "other"});
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "9", bits_}), kBadData);
  EXPECT_EQ(transfers.loads.Size(), 0U);
  Reply({"DEL", "k"});
  EXPECT_LT(budget.used_bytes(), loading);
}

// RedisBloom hands them out if not all chunks had arrived, or if its counts had drifted.
TEST_F(OfRedisBloom, CountsBeyondCapacityAndBitsGoThroughEveryForm) {
  RedisBloomFields fields;
  fields.items = fields.sub_filter[0].items = 1 << 24;
  const std::string header = fields.Encode();
  ASSERT_EQ(Reply({"BF.LOADCHUNK", "k", "1", header}), kOk);
  ASSERT_EQ(Reply({"BF.LOADCHUNK", "k", "9", std::string(8, '\0')}), kOk);
  EXPECT_EQ(Reply({"BF.CARD", "k"}), ":16777216\r\n");
  EXPECT_EQ(Scan("k", "0").data, header);
  ASSERT_EQ(Reply({"BF.RESTORE", "restored", Bulk(Reply({"BF.DUMP", "k"}))}), kOk);
  ASSERT_EQ(Load("loaded", ScanAll("restored")), kOk);
  ASSERT_EQ(Reply({"BF.ADD", "restored", "item"}), ":1\r\n");
  ASSERT_EQ(Load("grown", ScanAll("restored")), kOk);
  EXPECT_EQ(Reply({"BF.DUMP", "loaded"}), Reply({"BF.DUMP", "k"}));
  EXPECT_EQ(Reply({"BF.DUMP", "grown"}), Reply({"BF.DUMP", "restored"}));
  EXPECT_EQ(Reply({"BF.CARD", "grown"}), ":16777217\r\n");
  EXPECT_EQ(transfers.loads.Size(), 0U);
}

TEST_F(OfRedisBloom, ATotalThatIsNotTheSumIsRefused) {
  RedisBloomFields fields;
  fields.items = 2;
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", fields.Encode()}),
            "-ERR received bad data: RedisBloom header: the sizes of its filters do not add up to its total\r\n");
}

TEST_F(OfRedisBloom, LoadsAreBounded) {
  for (int i = 0; i < 64; ++i) EXPECT_EQ(Reply({"BF.LOADCHUNK", std::to_string(i), "1", header_}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", header_}),
            "-ERR too many loads in progress: try again when another has ended\r\n");
  std::this_thread::sleep_for(commands::PendingLoads::kMoment + std::chrono::milliseconds(10));
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "k", "1", header_}), kOk);
  EXPECT_EQ(transfers.loads.Size(), 64U);
}

TEST_F(OfRedisBloom, HasNoSeedAndNoRatioToChoose) {
  const char* refused =
      "-ERR TYPE redisbloom uses RedisBloom's seed and tightening ratio: omit SEED and TIGHTENING\r\n";
  EXPECT_EQ(Reply({"BF.RESERVE", "k", "0.01", "100", "SEED", "1"}), refused);
  EXPECT_EQ(Reply({"BF.RESERVE", "k", "0.01", "100", "TIGHTENING", "0.5"}), refused);
  EXPECT_EQ(Reply({"BF.INSERT", "k", "SEED", "1", "ITEMS", "a"}), refused);
  EXPECT_EQ(Reply({"BF.RESERVE", "k", "0.01", "100", "TYPE", "classic", "SEED", "1"}), kOk);
}

class OfAnyKind : public DumpCommands, public testing::WithParamInterface<core::FilterType> {
 protected:
  void Make(const std::string& key) {
    Words command{"BF.RESERVE", key, "0.01", "1000", "TYPE", std::string(core::FilterTypeName(GetParam()))};
    for (const auto& [word, value] : RequiredOptions(core::FilterTypeName(GetParam()), 1000)) {
      command.insert(command.end(), {word, value});
    }
    if (GetParam() == core::kRedisCuckooType) command = {"CF.RESERVE", key, "1000"};
    ASSERT_EQ(Reply(command), kOk);
  }
};

std::vector<core::FilterType> AllTypes() {
  std::vector<core::FilterType> types;
  for (const core::FilterTypeRow* row : core::FilterTypes()) types.push_back(row->type);
  return types;
}
INSTANTIATE_TEST_SUITE_P(Types, OfAnyKind, testing::ValuesIn(AllTypes()),
                         [](const auto& test) { return std::string(core::FilterTypeName(test.param)); });

TEST_P(OfAnyKind, ComesBackByPieces) {
  Make("k");
  Fill("k", 900);
  EXPECT_EQ(Load("copy", ScanAll("k")), kOk);
  EXPECT_EQ(Bulk(Reply({"BF.DUMP", "copy"})), Bulk(Reply({"BF.DUMP", "k"})));
  EXPECT_EQ(Reply({"BF.EXISTS", "copy", "899"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.DEBUG", "copy"}), Reply({"BF.DEBUG", "k"}));
  EXPECT_EQ(transfers.loads.Size(), 0U);
  EXPECT_EQ(transfers.dumps.Size(), 0U);
}

TEST_P(OfAnyKind, ComesBackInOneString) {
  Make("k");
  Fill("k", 900);
  const std::string dump = Bulk(Reply({"BF.DUMP", "k"}));
  EXPECT_EQ(Reply({"BF.RESTORE", "k", dump}), kExists);
  EXPECT_EQ(Reply({"BF.RESTORE", "copy", dump}), kOk);
  EXPECT_EQ(Bulk(Reply({"BF.DUMP", "copy"})), dump);
  // The chunks can also be decoded without a server.
  const auto restored = core::RestoreFilter(dump, budget, core::SystemClock());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(*core::DumpFilter(**restored), dump);
}

TEST_P(OfAnyKind, TakesThePlaceOfAnotherWhenAsked) {
  Make("k");
  const std::string dump = Bulk(Reply({"BF.DUMP", "k"}));
  Reply({"BF.RESERVE", "other", "0.01", "5", "TYPE", "classic"});
  Reply({"BF.ADD", "other", "there"});
  Reply({"EXPIRE", "other", "1000"});
  EXPECT_EQ(Reply({"BF.RESTORE", "other", dump}), kExists);
  EXPECT_EQ(Reply({"BF.RESTORE", "other", dump, "AGAIN"}), "-ERR syntax error\r\n");
  EXPECT_EQ(Reply({"BF.RESTORE", "other", dump.substr(1), "REPLACE"}).substr(0, 23), "-ERR received bad data:");
  EXPECT_EQ(Reply({"BF.EXISTS", "other", "there"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.RESTORE", "other", dump, "replace"}), kOk);
  EXPECT_EQ(Reply({"BF.EXISTS", "other", "there"}), ":0\r\n");
  EXPECT_EQ(Reply({"TTL", "other"}), ":-1\r\n");
}

class OfOwnTypes : public DumpCommands {
 protected:
  OfOwnTypes() {
    Reply({"BF.RESERVE", "k", "0.01", "10000000"});  // 12 MB: with a second one, more than a piece
    Reply({"BF.RESERVE", "big", "0.001", "20000000"});
    Reply({"BF.ADD", "big", "before"});
  }
};

TEST_F(OfOwnTypes, AreOfOneMomentWhileOthersAdd) {
  const Piece first = Scan("big", "0");
  EXPECT_EQ(first.data.size(), 16U << 20);
  std::vector<Piece> pieces{first};
  for (Piece piece = Scan("big", first.cursor); piece.cursor != "0"; piece = Scan("big", piece.cursor)) {
    Reply({"BF.ADD", "big", piece.cursor});
    pieces.push_back(piece);
  }
  ASSERT_EQ(pieces.size(), 3U);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[i].cursor, pieces[i].data}), kOk);
  EXPECT_EQ(Reply({"EXISTS", "copy"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[2].cursor, pieces[2].data}), kOk);
  EXPECT_EQ(Reply({"BF.EXISTS", "copy", "before"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "copy"}), ":1\r\n");
}

TEST_F(OfOwnTypes, CursorsAreOfOneDumpOfOneFilter) {
  const Piece first = Scan("big", "0");
  EXPECT_LT(std::strtoull(first.cursor.c_str(), nullptr, 10), uint64_t{1} << 53) << "as JavaScript keeps integers";
  EXPECT_EQ(Reply({"BF.SCANDUMP", "k", first.cursor}), kNoSuchDump);
  EXPECT_NE(Reply({"BF.SCANDUMP", "big", first.cursor}), kNoSuchDump) << "a wrong question does not end it";
  for (const char* cursor : {"1", "-1", "9223372036854775807"}) {
    EXPECT_EQ(Reply({"BF.SCANDUMP", "big", cursor}), kNoSuchDump);
  }
  const Piece other = Scan("big", "0");
  Reply({"DEL", "big"});
  EXPECT_EQ(Reply({"BF.SCANDUMP", "big", other.cursor}), kNotFound);
  Reply({"BF.RESERVE", "big", "0.01", "100"});
  EXPECT_EQ(Reply({"BF.SCANDUMP", "big", other.cursor}), kNoSuchDump);
}

// A client that lost a reply asks again: for a chunk in the middle, for the last one, and for the end.
TEST_F(OfOwnTypes, AskingAgainGivesTheSameChunk) {
  std::string undisturbed, disturbed;
  for (const Piece& piece : ScanAll("big")) undisturbed += piece.data;
  Piece piece = Scan("big", "0");
  disturbed += piece.data;
  while (piece.cursor != "0") {
    const std::string asked = piece.cursor;
    Reply({"BF.ADD", "big", "meanwhile:" + asked});
    piece = Scan("big", asked);
    disturbed += piece.data;
    for (int again = 0; again < 2; ++again) {
      const Piece same = Scan("big", asked);
      EXPECT_EQ(same.cursor, piece.cursor);
      EXPECT_TRUE(same.data == piece.data) << asked;
    }
  }
  EXPECT_TRUE(disturbed == undisturbed);
  EXPECT_EQ(transfers.dumps.Size(), 0U) << "a dump that was read to its end takes no memory";
}

TEST_F(OfOwnTypes, TheKeptChunkIsAccountedFor) {
  const uint64_t before = budget.used_bytes();
  const Piece first = Scan("big", "0");
  EXPECT_GE(budget.used_bytes(), before + first.data.size());
  // Without memory to keep the chunk, the dump continues all the same.
  budget.set_limit_bytes(before);
  const Piece second = Scan("big", first.cursor);
  EXPECT_EQ(second.data.size(), first.data.size());
  EXPECT_EQ(Reply({"BF.SCANDUMP", "big", first.cursor}), kNoSuchDump);
  budget.set_limit_bytes(0);
  for (Piece piece = second; piece.cursor != "0";) piece = Scan("big", piece.cursor);
  EXPECT_EQ(budget.used_bytes(), before);
}

TEST_F(OfOwnTypes, TwoDumpsAtOnceDoNotDisturbEachOther) {
  Piece a = Scan("big", "0");
  Piece b = Scan("big", "0");
  EXPECT_NE(a.cursor, b.cursor);
  while (a.cursor != "0") {
    a = Scan("big", a.cursor);
    b = Scan("big", b.cursor);
    EXPECT_EQ(a.data, b.data);
  }
  EXPECT_EQ(b.cursor, "0");
}

TEST_F(OfOwnTypes, DumpsAreBounded) {
  Reply({"BF.RESERVE", "small", "0.01", "100"});
  for (int i = 0; i < 64; ++i) Scan("small", "0");
  EXPECT_EQ(Reply({"BF.SCANDUMP", "small", "0"}),
            "-ERR too many dumps in progress: try again when another has ended\r\n");
}

TEST_F(OfOwnTypes, PiecesComeInOrder) {
  const std::vector<Piece> pieces = ScanAll("big");
  const std::string out_of_order = "-ERR received bad data: this is not the next chunk; load the chunks in order\r\n";
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[1].cursor, pieces[1].data}), kNotFound);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[0].cursor, pieces[0].data}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[2].cursor, pieces[2].data}), out_of_order);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[1].cursor, pieces[1].data}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[1].cursor, pieces[1].data}), out_of_order);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[2].cursor, pieces[2].data}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "copy", pieces[0].cursor, pieces[0].data}), kExists);
}

TEST_F(OfOwnTypes, AreToldApartFromRedisBloomsByTheirFirstBytes) {
  EXPECT_EQ(Load("copy", ScanAll("k")), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "old", "1", header_}), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "old", "9", bits_}), kOk);
  EXPECT_EQ(Reply({"BF.INFO", "old", "TYPE"}), "*1\r\n$10\r\nredisbloom\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "copy", "TYPE"}), "*1\r\n$7\r\nblocked\r\n");
}

TEST_F(OfOwnTypes, ADamagedOneSaysSo) {
  Reply({"BF.RESERVE", "small", "0.01", "100"});
  Reply({"BF.ADD", "small", "a"});
  std::vector<Piece> pieces = ScanAll("small");
  pieces[0].data.back() ^= 1;
  EXPECT_EQ(Load("copy", pieces), "-ERR received bad data: dump: its checksum does not match\r\n");
  EXPECT_EQ(Reply({"EXISTS", "copy"}), ":0\r\n");
  pieces[0].data[4] = 9;
  EXPECT_EQ(Load("copy", pieces),
            "-ERR received bad data: dump: version 9 is not supported; this server reads version 1\r\n");
}

TEST_F(OfOwnTypes, TooLargeForOneReplyNamesTheOther) {
  Reply({"BF.RESERVE", "huge", "0.001", "100000000"});
  const std::string reply = Reply({"BF.DUMP", "huge"});
  EXPECT_EQ(reply.substr(0, 15), "-ERR a dump of ");
  EXPECT_NE(reply.find("is at most 134217728 bytes: read it with BF.SCANDUMP\r\n"), std::string::npos) << reply;
  EXPECT_EQ(Reply({"BF.DUMP", "none"}), kNotFound);
}

TEST_F(DumpCommands, RedisBloomsDumpIsNoDataForRestore) {
  EXPECT_EQ(Reply({"BF.RESTORE", "k", header_ + bits_}),
            "-ERR received bad data: dump: it does not start with the magic number\r\n");
}

TEST_F(DumpCommands, ArityAndFlagsAreRedisBlooms) {
  for (const auto& [name, arity, flag] :
       {std::tuple{"bf.scandump", "3", "readonly"}, {"bf.loadchunk", "4", "write"}, {"bf.debug", "2", "readonly"}}) {
    const std::string info = Reply({"COMMAND", "INFO", name});
    EXPECT_NE(info.find(std::string("\r\n:") + arity + "\r\n"), std::string::npos) << info;
    EXPECT_NE(info.find(std::string("+") + flag + "\r\n"), std::string::npos) << info;
  }
}

}  // namespace
}  // namespace bitsieve::test
