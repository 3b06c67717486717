// Whatever pieces BF.LOADCHUNK is given, it ends with a reply, and no memory is taken beyond the budget or kept for
// nothing; and a filter that came to be works, is dumped and is loaded again, and is then the same.
//
// The input is a series of pieces, each: 8 bytes of cursor, 2 of length, and as many of data (or what is left). A
// cursor's highest bit asks for right checksums: fuzzing would never find one.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "tests/fuzz/dump_checksums.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::test {
namespace {

constexpr uint64_t kBudgetBytes = 1 << 20;
constexpr size_t kMaxPieces = 64;

void Require(bool holds) {
  if (!holds) std::abort();
}

bool Starts(const std::string& text, std::string_view start) { return text.compare(0, start.size(), start) == 0; }

struct Piece {
  std::string cursor;
  std::string data;
};

// From "*2 :cursor $length data".
Piece ReadPiece(const std::string& reply) {
  Require(Starts(reply, "*2\r\n:"));
  const size_t cursor_end = reply.find("\r\n", 5);
  const size_t data_start = reply.find("\r\n", cursor_end + 2) + 2;
  return {reply.substr(5, cursor_end - 5), reply.substr(data_start, reply.size() - data_start - 2)};
}

void LoadPieces(CommandFixture& server, std::string_view input) {
  core::ByteReader in(input);
  for (size_t i = 0; i < kMaxPieces && in.remaining() > 0; ++i) {
    const auto cursor = in.Get<uint64_t>();
    const auto wanted = in.Get<uint16_t>();
    if (!in.ok()) return;
    std::string data(in.GetBytes(std::min<size_t>(wanted, in.remaining())));
    if (cursor >> 63 != 0) PutDumpChecksums(data);
    const auto number = static_cast<int64_t>(cursor & ~(uint64_t{1} << 63));
    const std::string reply = server.Reply({"BF.LOADCHUNK", "k", std::to_string(number), data});
    Require(Starts(reply, "+OK\r\n") || Starts(reply, "-"));
    Require(server.budget.used_bytes() <= kBudgetBytes);
  }
}

void DumpAndLoad(CommandFixture& server) {
  server.budget.set_limit_bytes(0);
  Piece piece = ReadPiece(server.Reply({"BF.SCANDUMP", "k", "0"}));
  while (piece.cursor != "0") {
    Require(server.Reply({"BF.LOADCHUNK", "copy", piece.cursor, piece.data}) == "+OK\r\n");
    piece = ReadPiece(server.Reply({"BF.SCANDUMP", "k", piece.cursor}));
  }
  Require(server.Reply({"BF.DEBUG", "copy"}) == server.Reply({"BF.DEBUG", "k"}));
  Require(server.Reply({"BF.DUMP", "copy"}) == server.Reply({"BF.DUMP", "k"}));
}

void UseIt(CommandFixture& server) {
  const std::string added = server.Reply({"BF.ADD", "k", "item"});
  if (added[0] == ':') Require(server.Reply({"BF.EXISTS", "k", "item"}) == ":1\r\n");
  Require(server.Reply({"BF.INFO", "k"})[0] == '*');
  DumpAndLoad(server);
}

void Try(std::string_view input) {
  CommandFixture server;
  const uint64_t before = server.budget.used_bytes();
  server.budget.set_limit_bytes(kBudgetBytes);
  LoadPieces(server, input);
  if (server.Reply({"EXISTS", "k"}) == ":1\r\n") UseIt(server);
  server.Reply({"FLUSHALL"});
  server.transfers.loads.Take("k");
  Require(server.budget.used_bytes() == before);
}

}  // namespace
}  // namespace bitsieve::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bitsieve::test::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
