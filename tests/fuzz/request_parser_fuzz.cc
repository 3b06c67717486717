// The request parser's results must depend only on the bytes of a stream: read at once and read in pieces, it gives the
// same commands, the same consumed bytes and the same error; and its commands, written as arrays, are parsed back to
// the same.
//
// Input: one byte for the limits, three that steer the sizes of the pieces, then the stream.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/default_settings.h"
#include "tests/support/request_streams.h"

namespace {

using bitsieve::protocol::RequestLimits;
using bitsieve::test::ParsedStream;

constexpr size_t kSettingBytes = 4;
constexpr size_t kMaxStreamBytes = 16 * 1024;  // reading in pieces copies what is pending, each time

RequestLimits LimitsFrom(uint8_t choice) {
  if (choice % 2 == 0) return bitsieve::test::Default<RequestLimits>();
  const size_t scale = 1 + (choice >> 1) % 8;
  return {.max_line_bytes = 4 * scale,
          .max_arguments = scale,
          .max_argument_bytes = 6 * scale,
          .max_request_bytes = 16 * scale};
}

void Expect(bool holds, const std::string& promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise.c_str());
  std::abort();
}

void CheckReadsBack(const ParsedStream& parsed) {
  std::string stream;
  for (const auto& command : parsed.commands) stream += bitsieve::test::Encode(command);
  const ParsedStream again = bitsieve::test::ReadAtOnce(stream);
  Expect(again.error.empty() && again.broken.empty(), "commands are readable when written as arrays");
  Expect(again.consumed == stream.size(), "commands are read whole when written as arrays");
  Expect(again.commands == parsed.commands, "commands read back as they were");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kSettingBytes || size > kMaxStreamBytes) return 0;
  const RequestLimits limits = LimitsFrom(data[0]);
  const std::string_view stream(reinterpret_cast<const char*>(data) + kSettingBytes, size - kSettingBytes);
  size_t piece = 0;
  const auto next_piece = [data, &piece] { return size_t{1} + data[1 + piece++ % 3]; };

  const ParsedStream whole = bitsieve::test::ReadAtOnce(stream, limits);
  Expect(whole.broken.empty(), whole.broken);
  const ParsedStream pieces = bitsieve::test::ReadInPieces(stream, limits, next_piece);
  Expect(pieces.broken.empty(), pieces.broken);
  Expect(pieces == whole, "pieces read as the whole does");
  CheckReadsBack(whole);
  return 0;
}
