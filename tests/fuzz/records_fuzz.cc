// However an input of any format comes in pieces, its records are the same, each with an item or an error, and together
// they are the input; and a reader that continues after one of them gets the others.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk/record_reader.h"

namespace bitsieve::cli {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

struct Found {
  std::string item;
  uint64_t position;
  uint64_t records;
  bool operator==(const Found&) const = default;
};

RecordReader::Read InPieces(std::string_view& input, size_t most) {
  return [&input, most] {
    const std::string_view piece = input.substr(0, most);
    input.remove_prefix(piece.size());
    return piece;
  };
}

std::vector<Found> RecordsOf(std::string_view input, const RecordFormat& format, size_t piece,
                             const Found& after = {}) {
  std::string_view left = input;
  RecordReader reader(InPieces(left, piece), format);
  if (after.position != 0) Require(reader.SkipTo(after.position, after.records).has_value());
  std::vector<Found> found;
  while (true) {
    const auto record = reader.Next();
    if (record && !*record) break;
    if (!record && !reader.is_bad_record()) {
      found.push_back({"error: " + record.error(), 0, 0});
      return found;
    }
    found.push_back({record ? std::string((*record)->item) : record.error(), reader.position(), reader.records()});
  }
  Require(reader.position() == input.size());
  return found;
}

void Check(const uint8_t* data, size_t size) {
  if (size < 2) return;
  constexpr RecordFormat::Kind kKinds[] = {RecordFormat::kLines, RecordFormat::kNul,       RecordFormat::kCsv,
                                           RecordFormat::kTsv,   RecordFormat::kJsonLines, RecordFormat::kBinary};
  RecordFormat format{.kind = kKinds[data[0] % 6], .field = {}, .record_bytes = 0, .crlf = (data[0] & 0x80) != 0};
  if (format.kind == RecordFormat::kCsv || format.kind == RecordFormat::kTsv) format.field = data[0] & 0x40 ? "b" : "2";
  if (format.kind == RecordFormat::kJsonLines) format.field = "b";
  if (!format.field.empty() && (data[0] & 0x20) != 0) format.ttl_field = "a";
  if (format.kind == RecordFormat::kBinary) format.record_bytes = 1 + data[1] % 16;
  const std::string_view input(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::vector<Found> whole = RecordsOf(input, format, SIZE_MAX);
  Require(RecordsOf(input, format, 1) == whole);
  Require(RecordsOf(input, format, 3 + data[1] % 8) == whole);
  if (whole.size() < 2 || whole[whole.size() / 2].position == 0) return;
  const auto middle = whole.begin() + static_cast<ptrdiff_t>(whole.size() / 2);
  Require(std::ranges::equal(RecordsOf(input, format, 5, *middle), std::vector<Found>(middle + 1, whole.end())));
}

}  // namespace
}  // namespace bitsieve::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bitsieve::cli::Check(data, size);
  return 0;
}
