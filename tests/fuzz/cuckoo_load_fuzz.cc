// Whatever is sent to CF.LOADCHUNK, loading ends with a filter or an error: no crash, no hang, no memory beyond the
// budget. And a filter that was loaded works, and its dump loads again as the same filter.
//
// The first byte chooses how many of the next bytes are the header (any number, or one of the three that mean
// something) and whether iterators are the right ones. Of what follows, two bytes at a time give a chunk's length and,
// where they are not right, its iterator; the rest of the body is zeros.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/families/redisbloom/redis_cuckoo_codec.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::test {
namespace {

constexpr uint64_t kBudgetBytes = 256 << 10;
constexpr char kOk[] = "+OK\r\n";

void Require(bool holds) {
  if (!holds) std::abort();
}

class Target {
 public:
  Target() { server_.budget.set_limit_bytes(kBudgetBytes); }

  void Try(std::string_view input) {
    const auto choice = static_cast<uint8_t>(input[0]);
    input.remove_prefix(1);
    constexpr size_t kSizes[] = {38, 46, 32};
    const size_t size = choice % 4 < 3 ? kSizes[choice % 4] : choice >> 3;
    const std::string header(input.substr(0, size));
    input.remove_prefix(header.size());
    const bool begun = Load("1", header) == kOk;
    Require(server_.budget.used_bytes() <= kBudgetBytes);
    SendChunks(input, (choice & 4) == 0);
    if (begun) Finish(header);
    if (Exists("k")) Use();
    server_.Reply({"FLUSHALL"});
    Load("1", std::string(38, '\0'));  // nothing that is left over is in its way
  }

 private:
  std::string Load(const std::string& iterator, const std::string& data) {
    return server_.Reply({"CF.LOADCHUNK", "k", iterator, data});
  }
  bool Exists(const std::string& name) { return server_.Reply({"EXISTS", name}) == ":1\r\n"; }

  void SendChunks(std::string_view input, bool right) {
    for (int sent = 0; input.size() > 2 && sent < 64; ++sent) {
      const size_t wanted = static_cast<uint8_t>(input[0]) + 1;
      const auto place = static_cast<uint8_t>(input[1]);
      const std::string data(input.substr(2, wanted));
      input.remove_prefix(2 + data.size());
      const uint64_t iterator = right ? received_ + data.size() + 1 : place;
      if (Load(std::to_string(iterator), data) == kOk && iterator != 1) received_ += data.size();
    }
  }

  // The header, or one that came after it, holds within the budget: its body can be sent whole.
  void Finish(const std::string& header) {
    const auto decoded = core::DecodeRedisCuckooHeader(header);
    Require(decoded.has_value());
    const uint64_t body = decoded->BodyBytes();
    Require(body <= kBudgetBytes);
    if (Exists("k") || received_ >= body) return;
    Load(std::to_string(body + 1), std::string(body - received_, '\0'));
  }

  void Use() {
    for (const char* item : {"a", "b", "c"}) {
      server_.Reply({"CF.DEL", "k", item});
      server_.Reply({"BF.ADD", "k", item});
      Require(server_.Reply({"CF.COUNT", "k", item}).size() > 3);
    }
    server_.Reply({"CF.COMPACT", "k"});
    std::string iterator = "0";
    for (;;) {
      const std::string reply = server_.Reply({"CF.SCANDUMP", "k", iterator});
      if (reply == "*2\r\n:0\r\n$-1\r\n") break;
      const size_t size = reply.find('$') + 1;
      const size_t data = reply.find('\n', size) + 1;
      iterator = reply.substr(5, reply.find('\r', 5) - 5);
      const std::string loaded =
          server_.Reply({"CF.LOADCHUNK", "copy", iterator, reply.substr(data, std::stoul(reply.substr(size)))});
      if (loaded.starts_with("-OOM")) return;
      Require(loaded == kOk || loaded.starts_with("-ERR Insufficient memory"));
    }
    if (Exists("copy")) Require(server_.Reply({"CF.DEBUG", "copy"}) == server_.Reply({"CF.DEBUG", "k"}));
  }

  CommandFixture server_;
  uint64_t received_ = 0;
};

}  // namespace
}  // namespace bitsieve::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  bitsieve::test::Target().Try(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
