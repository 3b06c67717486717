// Measures the cost of a request and a reply, apart from sockets and filters: nanoseconds per command, per argument,
// per reply.
#include <benchmark/benchmark.h>

#include <string>
#include <string_view>
#include <vector>

#include "protocol/reply_writer.h"
#include "protocol/request_parser.h"
#include "tests/support/default_settings.h"

namespace bitsieve::protocol {
namespace {

void AppendBulk(std::string& out, std::string_view bytes) {
  out += '$' + std::to_string(bytes.size()) + "\r\n";
  out += bytes;
  out += "\r\n";
}

std::string Command(std::string_view name, size_t items) {
  std::string out = '*' + std::to_string(items + 2) + "\r\n";
  AppendBulk(out, name);
  AppendBulk(out, "key");
  for (size_t i = 0; i < items; ++i) AppendBulk(out, "item:00000000001");
  return out;
}

// Parses a read buffer of `repeats` commands, command by command, as a connection does.
void ParseAll(benchmark::State& state, const std::string& command, size_t repeats) {
  std::string stream;
  for (size_t i = 0; i < repeats; ++i) stream += command;
  const test::Default<RequestLimits> limits;
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  for (auto _ : state) {
    arguments.clear();
    std::span<char> rest(stream);
    while (!rest.empty()) rest = rest.subspan(parser.Parse(rest, arguments).consumed);
    benchmark::DoNotOptimize(arguments.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(repeats));
  state.counters["command"] = benchmark::Counter(
      static_cast<double>(repeats), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_ParseExists(benchmark::State& state) { ParseAll(state, Command("BF.EXISTS", 1), 64); }
BENCHMARK(BM_ParseExists);

void BM_ParseMexists(benchmark::State& state) {
  ParseAll(state, Command("BF.MEXISTS", static_cast<size_t>(state.range(0))), 16);
}
BENCHMARK(BM_ParseMexists)->Arg(10)->Arg(100)->Arg(1000);

void BM_ParsePlainLine(benchmark::State& state) { ParseAll(state, "BF.EXISTS key item:00000000001\r\n", 64); }
BENCHMARK(BM_ParsePlainLine);

// Parses a command of 100,000 arguments that arrives in pieces of the given number of bytes: the total work must stay
// linear.
void BM_ParsePieces(benchmark::State& state) {
  std::string stream = Command("BF.MADD", 100'000);
  const auto piece = static_cast<size_t>(state.range(0));
  const test::Default<RequestLimits> limits;
  RequestParser parser(limits);
  std::vector<std::string_view> arguments;
  for (auto _ : state) {
    arguments.clear();
    for (size_t end = 0; end < stream.size();) {
      end = std::min(end + piece, stream.size());
      parser.Parse(std::span(stream).first(end), arguments);
    }
    if (arguments.size() != 100'002) state.SkipWithError("the command was not read");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(stream.size()));
}
BENCHMARK(BM_ParsePieces)->Arg(1)->Arg(100)->Arg(16384);

template <class Write>
void WriteReplies(benchmark::State& state, Write write) {
  constexpr size_t kReplies = 64;
  std::string out;
  ReplyWriter reply(out);
  for (auto _ : state) {
    out.clear();
    for (size_t i = 0; i < kReplies; ++i) write(reply, i);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kReplies));
  state.counters["reply"] = benchmark::Counter(
      static_cast<double>(kReplies), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_WriteBoolean(benchmark::State& state) {
  WriteReplies(state, [](ReplyWriter& reply, size_t i) { reply.Boolean(i % 3 == 0); });
}
BENCHMARK(BM_WriteBoolean);

void BM_WriteInteger(benchmark::State& state) {
  WriteReplies(state, [](ReplyWriter& reply, size_t i) { reply.Integer(static_cast<int64_t>(1'000'000 + i)); });
}
BENCHMARK(BM_WriteInteger);

void BM_WriteSimpleString(benchmark::State& state) {
  WriteReplies(state, [](ReplyWriter& reply, size_t) { reply.SimpleString("PONG"); });
}
BENCHMARK(BM_WriteSimpleString);

void BM_WriteBulkString(benchmark::State& state) {
  WriteReplies(state, [](ReplyWriter& reply, size_t) { reply.BulkString("item:00000000001"); });
}
BENCHMARK(BM_WriteBulkString);

}  // namespace
}  // namespace bitsieve::protocol
