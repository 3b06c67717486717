// The bytes of the log's format versions, frozen. The head of golden_test.cc explains what to do if a test here fails.
#include <gtest/gtest.h>

#include <span>

#include "tests/support/log_fixture.h"
#include "tests/support/snapshot_fixture.h"
#include "tests/unit/server/persistence/golden_files.h"

namespace bitsieve::server {
namespace {

constexpr uint64_t kStart = 1000;
const std::string kName = "v1/log/" + LogFileName(kStart);

static_assert(kLogVersion == 1, "a new version needs a golden file of its own, beside those of the old ones");

TEST(LogGolden, TheSameBytesAreWritten) {
  TestLog log;
  auto writer = LogSegmentWriter::Create(log.disk, kLogDirectory, kStart, 7);
  ASSERT_TRUE(Ok(writer));
  const std::vector<log::Record> records = SampleRecords();
  ASSERT_TRUE(Ok(writer->Append(Encoded(std::span(records).first(2)), kStart)));
  ASSERT_TRUE(Ok(writer->Append(Encoded(std::span(records).subspan(2)), writer->end())));
  ExpectGolden(log.disk.Get(writer->path()), kName);
}

TEST(LogGolden, TheDocumentShowsTheseBytes) { ExpectDocumented(kName, "log.md"); }

TEST(LogGolden, ReleasedLogsAreRead) {
  TestLog log;
  log.disk.Put(kLogDirectory + ("/" + LogFileName(kStart)), ReadText(GoldenPath(kName)));
  const ReadBack back = log.Read(kStart);
  EXPECT_EQ(back.scan.damage, std::nullopt) << kBroken;
  EXPECT_EQ(back.scan.torn, std::nullopt) << kBroken;
  const std::vector<log::Record> records = SampleRecords();
  ASSERT_EQ(back.records.size(), records.size()) << kBroken;
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(back.records[i], Encoded(records[i])) << kBroken;
}

}  // namespace
}  // namespace bitsieve::server
