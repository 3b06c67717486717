#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;

using test::kOk;
constexpr const char* kRefusedChunk = "-Couldn't load chunk!\r\n";

// Three sub-filters of 64, 128 and 256 bytes.
class CuckooDumpTest : public testing::Test, protected CommandFixture {
 protected:
  struct Piece {
    std::string iterator, data;
  };

  void MakeChain() {
    ASSERT_EQ(Reply({"CF.RESERVE", "f", "64", "EXPANSION", "2"}), kOk);
    Words insert{"CF.INSERT", "f", "ITEMS"};
    for (int i = 0; i < 200; ++i) insert.push_back(std::to_string(i));
    ASSERT_THAT(Reply(insert), testing::Not(testing::HasSubstr("-1")));
  }
  // Reads `*2 :iterator $size data`.
  static Piece Parsed(const std::string& reply) {
    const size_t iterator = reply.find(':') + 1;
    const size_t size = reply.find('$') + 1;
    const size_t data = reply.find('\n', size) + 1;
    const size_t bytes = std::stoul(reply.substr(size));
    return {reply.substr(iterator, reply.find('\r', iterator) - iterator), reply.substr(data, bytes)};
  }
  std::vector<Piece> Dump(const std::string& name) {
    std::vector<Piece> pieces;
    for (std::string iterator = "0";; iterator = pieces.back().iterator) {
      const std::string reply = Reply({"CF.SCANDUMP", name, iterator});
      if (reply == "*2\r\n:0\r\n$-1\r\n") return pieces;
      EXPECT_EQ(reply.substr(0, 5), "*2\r\n:");
      pieces.push_back(Parsed(reply));
    }
  }
  std::string Load(const std::string& name, const Piece& piece) {
    return Reply({"CF.LOADCHUNK", name, piece.iterator, piece.data});
  }
  // Its bytes; the low one of a number first.
  static std::string Header(uint64_t items, uint64_t buckets, uint64_t filters, uint16_t bucket_size,
                            uint16_t expansion) {
    std::string bytes;
    const auto put = [&bytes](uint64_t number, int size) {
      for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 255);
    };
    put(items, 8), put(buckets, 8), put(0, 8), put(filters, 8), put(bucket_size, 2), put(20, 2), put(expansion, 2);
    return bytes;
  }
};

TEST_F(CuckooDumpTest, ADumpIsAHeaderAndOneChunkASubFilter) {
  MakeChain();
  const std::vector<Piece> pieces = Dump("f");
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].iterator, "1");
  EXPECT_EQ(pieces[0].data, Header(200, 32, 3, 2, 2));
  EXPECT_EQ(pieces[1].iterator, "65");
  EXPECT_EQ(pieces[2].iterator, "193");
  EXPECT_EQ(pieces[3].iterator, "449");
  EXPECT_EQ(pieces[3].data.size(), 256U);
}

TEST_F(CuckooDumpTest, AFilterWithoutItemsHasNoChunks) {
  const auto expect_end = [this](const std::string& name) {
    for (const std::string iterator : {"0", "1", "9"}) {
      EXPECT_EQ(Reply({"CF.SCANDUMP", name, iterator}), "*2\r\n:0\r\n$-1\r\n") << name << " " << iterator;
    }
  };
  ASSERT_EQ(Reply({"CF.RESERVE", "reserved", "8"}), kOk);
  expect_end("reserved");
  const std::string dump = Reply({"BF.DUMP", "reserved"});
  const size_t head = dump.find('\n') + 1;
  EXPECT_EQ(Reply({"BF.RESTORE", "moved", dump.substr(head, dump.size() - head - 2)}), kOk);
  EXPECT_EQ(Reply({"CF.DEBUG", "moved"}), Reply({"CF.DEBUG", "reserved"}));
  ASSERT_EQ(Reply({"CF.ADD", "emptied", "x"}), ":1\r\n");
  ASSERT_EQ(Reply({"CF.DEL", "emptied", "x"}), ":1\r\n");
  expect_end("emptied");
}

TEST_F(CuckooDumpTest, TheSmallestDump) {
  ASSERT_EQ(Reply({"CF.RESERVE", "cf", "8"}), kOk);
  ASSERT_EQ(Reply({"CF.ADD", "cf", "item1"}), ":1\r\n");
  EXPECT_EQ(Reply({"CF.SCANDUMP", "cf", "0"}), "*2\r\n:1\r\n$38\r\n" + Header(1, 4, 1, 2, 1) + "\r\n");
  EXPECT_EQ(Reply({"CF.SCANDUMP", "cf", "1"}), "*2\r\n:9\r\n$8\r\n" + std::string("\0\0\0\0\7\0\0\0", 8) + "\r\n");
  EXPECT_EQ(Reply({"CF.SCANDUMP", "cf", "9"}), "*2\r\n:0\r\n$-1\r\n");
  session.version = protocol::ProtocolVersion::kResp3;
  EXPECT_EQ(Reply({"CF.SCANDUMP", "cf", "9"}), "*2\r\n:0\r\n_\r\n");
  EXPECT_EQ(Reply({"CF.SCANDUMP", "cf", "9223372036854775807"}), "*2\r\n:0\r\n_\r\n");
}

TEST_F(CuckooDumpTest, ScanDumpRefusesOtherPositions) {
  for (const char* position : {"-1", "x", "", "1.0", "9223372036854775808"}) {
    EXPECT_EQ(Reply({"CF.SCANDUMP", "none", position}), "-Invalid position\r\n") << position;
  }
}

TEST_F(CuckooDumpTest, IsThereOnceItIsCompleteAndNotBefore) {
  MakeChain();
  const std::vector<Piece> pieces = Dump("f");
  for (const Piece& piece : pieces) {
    EXPECT_EQ(Reply({"EXISTS", "g"}), ":0\r\n");
    EXPECT_EQ(Reply({"CF.EXISTS", "g", "1"}), ":0\r\n");
    EXPECT_EQ(Load("g", piece), kOk);
  }
  EXPECT_EQ(Reply({"CF.DEBUG", "g"}), Reply({"CF.DEBUG", "f"}));
  const std::vector<Piece> again = Dump("g");
  ASSERT_EQ(again.size(), pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(again[i].data, pieces[i].data);
  EXPECT_EQ(transfers.loads.Size(), 0U);
}

TEST_F(CuckooDumpTest, ALoadGoesOnWithTheCommandThatBeganIt) {
  MakeChain();
  const std::vector<Piece> pieces = Dump("f");
  EXPECT_EQ(Load("g", pieces[0]), kOk);
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "g", pieces[1].iterator, pieces[1].data}), "-ERR not found\r\n");
  for (size_t i = 1; i < pieces.size(); ++i) EXPECT_EQ(Load("g", pieces[i]), kOk);
  EXPECT_EQ(Reply({"CF.DEBUG", "g"}), Reply({"CF.DEBUG", "f"}));

  ASSERT_EQ(Reply({"BF.RESERVE", "b", "0.01", "100", "TYPE", "redisbloom"}), kOk);
  const Piece header = Parsed(Reply({"BF.SCANDUMP", "b", "0"})), bits = Parsed(Reply({"BF.SCANDUMP", "b", "1"}));
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "c", header.iterator, header.data}), kOk);
  EXPECT_EQ(Load("c", bits), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.LOADCHUNK", "c", bits.iterator, bits.data}), kOk);
}

TEST_F(CuckooDumpTest, ChunksOfAnySizeInTheirOrder) {
  MakeChain();
  std::string body;
  const std::vector<Piece> pieces = Dump("f");
  for (size_t i = 1; i < pieces.size(); ++i) body += pieces[i].data;
  for (const size_t size : {1UL, 7UL, 100UL, 448UL}) {
    EXPECT_EQ(Load("g", pieces[0]), kOk);
    for (size_t offset = 0; offset < body.size(); offset += size) {
      const std::string data = body.substr(offset, size);
      EXPECT_EQ(Load("g", {std::to_string(offset + data.size() + 1), data}), kOk);
    }
    EXPECT_EQ(Reply({"CF.DEBUG", "g"}), Reply({"CF.DEBUG", "f"}));
    EXPECT_EQ(Reply({"DEL", "g"}), ":1\r\n");
  }
}

TEST_F(CuckooDumpTest, WhatIsNotTheNextChunkIsRefusedAndHarmsNothing) {
  MakeChain();
  const std::vector<Piece> pieces = Dump("f");
  EXPECT_EQ(Load("g", pieces[0]), kOk);
  EXPECT_EQ(Load("g", pieces[2]), kRefusedChunk);
  EXPECT_EQ(Load("g", {"65", ""}), kRefusedChunk);
  EXPECT_EQ(Load("g", {"65", "x"}), kRefusedChunk);
  EXPECT_EQ(Load("g", {"2", pieces[1].data}), kRefusedChunk);
  EXPECT_EQ(Load("g", {"450", std::string(449, 'x')}), kRefusedChunk);
  EXPECT_EQ(Load("g", {"9223372036854775807", "x"}), kRefusedChunk);
  EXPECT_EQ(Load("g", pieces[1]), kOk);
  EXPECT_EQ(Load("g", pieces[1]), kRefusedChunk);
  EXPECT_EQ(Load("g", pieces[2]), kOk);
  EXPECT_EQ(Load("g", pieces[3]), kOk);
  // It is there: nothing is written into a filter in use.
  EXPECT_EQ(Load("g", pieces[1]), kRefusedChunk);
  EXPECT_EQ(Load("g", pieces[0]), "-ERR item exists\r\n");
  EXPECT_EQ(Reply({"CF.DEBUG", "g"}), Reply({"CF.DEBUG", "f"}));
}

TEST_F(CuckooDumpTest, PositionsAndHeadersThatAreNone) {
  for (const char* position : {"0", "-1", "x", ""}) {
    EXPECT_EQ(Reply({"CF.LOADCHUNK", "g", position, "x"}), "-Invalid position\r\n") << position;
  }
  const std::string good = Header(1, 4, 1, 2, 1);
  for (const std::string& header : {std::string(), good.substr(1), good + "x"}) {
    EXPECT_EQ(Load("g", {"1", header}), "-Invalid header\r\n");
  }
  EXPECT_THAT(Load("g", {"1", good.substr(0, 32)}), testing::StartsWith("-Invalid header: RedisBloom 2.0 wrote it"));
  for (const std::string& header :
       {Header(1, 3, 1, 2, 1), Header(1, 0, 1, 2, 1), Header(1, 4, 0, 2, 1), Header(1, 4, 2, 2, 0),
        Header(9, 4, 1, 2, 1), Header(1, 4, 1, 0, 1), Header(1, 4, 1, 256, 1), Header(1, 4, 2, 2, 3),
        Header(1, uint64_t{1} << 63, 1, 2, 1), Header(1, 4, 65536, 2, 1), Header(1, 4, 65535, 2, 32768)}) {
    EXPECT_EQ(Load("g", {"1", header}), "-Couldn't create filter!\r\n");
  }
  EXPECT_EQ(Load("g", {"1", good + std::string(8, '\x7f')}), kOk);
}

TEST_F(CuckooDumpTest, MemoryIsTakenBeforeAnythingIsLoaded) {
  const uint64_t used = budget.used_bytes();
  budget.set_limit_bytes(used + 100'000);
  EXPECT_THAT(Load("g", {"1", Header(0, uint64_t{1} << 40, 1, 2, 1)}), testing::StartsWith("-OOM "));
  EXPECT_THAT(Load("g", {"1", Header(0, 1, 65535, 1, 1)}), testing::StartsWith("-OOM "));
  EXPECT_EQ(budget.used_bytes(), used);
  EXPECT_EQ(Load("g", {"1", Header(0, 16384, 1, 2, 1)}), kOk);
  EXPECT_GT(budget.used_bytes(), used + 32768);
  // A new header begins anew.
  EXPECT_EQ(Load("g", {"1", Header(0, 4, 1, 2, 1)}), kOk);
  EXPECT_LT(budget.used_bytes(), used + 2000);
}

TEST_F(CuckooDumpTest, WhoTakesTheNameFirstHasIt) {
  MakeChain();
  const std::vector<Piece> pieces = Dump("f");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(Load("g", pieces[i]), kOk);
  EXPECT_EQ(Reply({"CF.ADD", "g", "x"}), ":1\r\n");
  EXPECT_EQ(Load("g", pieces[3]), kRefusedChunk);
  EXPECT_EQ(Reply({"BF.CARD", "g"}), ":1\r\n");
  EXPECT_EQ(transfers.loads.Size(), 0U);
}

}  // namespace
}  // namespace bitsieve::server
