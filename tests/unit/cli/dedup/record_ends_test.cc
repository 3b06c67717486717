#include "cli/dedup/record_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/bulk/record_parser.h"

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// All ends of a text that comes `step` bytes at a time, `room` ends at a time.
std::vector<uint32_t> EndsOf(std::string_view text, const RecordFormat& format, size_t step, size_t room) {
  RecordEnds ends(format);
  std::vector<uint32_t> all;
  std::vector<uint32_t> found(room);
  size_t scanned = 0;
  for (size_t visible = 0; scanned < text.size() || visible < text.size();) {
    if (scanned == visible) visible = std::min(visible + step, text.size());
    const auto result = ends.Find(text.substr(0, visible), all.empty() ? 0 : all.back(), scanned, found);
    all.insert(all.end(), found.begin(), found.begin() + static_cast<ptrdiff_t>(result.count));
    EXPECT_EQ(result.scanned, result.count == room ? all.back() : visible);
    scanned = result.scanned;
  }
  return all;
}

TEST(RecordEnds, OfLines) {
  EXPECT_THAT(EndsOf("a\n\nbc\nd", {}, 3, 2), ElementsAre(2, 3, 6));
  EXPECT_THAT(EndsOf("", {}, 3, 2), IsEmpty());
  const RecordFormat nul{.kind = RecordFormat::kNul, .field = ""};
  EXPECT_THAT(EndsOf(std::string_view("a\nb\0c\0", 6), nul, 1, 9), ElementsAre(4, 6));
}

TEST(RecordEnds, AreTheSameHoweverTheTextComes) {
  std::string text;
  std::vector<uint32_t> expected;
  for (unsigned i = 0; i < 500; ++i) {
    text.append(i * 37 % 150, 'x') += '\n';
    expected.push_back(static_cast<uint32_t>(text.size()));
  }
  text += "rest";
  for (const size_t step : {1, 63, 64, 65, 1000, 100'000}) {
    for (const size_t room : {1, 5, 64, 100, 1000}) EXPECT_EQ(EndsOf(text, {}, step, room), expected) << step << room;
  }
}

TEST(RecordEnds, OfRowsAreOutsideOfQuotes) {
  const RecordFormat csv{.kind = RecordFormat::kCsv, .field = "1"};
  for (const size_t step : {1, 2, 100}) {
    EXPECT_THAT(EndsOf("a,\"b\nc\"\n\"d\"\"\n\"\ne\n", csv, step, 2), ElementsAre(8, 15, 17));
  }
}

TEST(RecordEnds, OfFixedLength) {
  const RecordFormat fixed{.kind = RecordFormat::kBinary, .field = "", .record_bytes = 3};
  RecordEnds ends(fixed);
  std::vector<uint32_t> found(2);
  EXPECT_EQ(ends.Find("\n\n\n\n\n\n\n\n", 0, 0, found).count, 2u);
  EXPECT_THAT(found, ElementsAre(3, 6));
  EXPECT_EQ(ends.Find("\n\n\n\n\n\n\n\n", 6, 6, found).count, 0u);
}

}  // namespace
}  // namespace bitsieve::cli
