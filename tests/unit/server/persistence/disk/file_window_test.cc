#include "server/persistence/disk/file_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {
namespace {

// Counts what was read of a file, and makes the next reading fail on request.
struct Readings {
  uint64_t count = 0;
  uint64_t bytes = 0;
  bool fails = false;
};

class CountedFile final : public ReadableFile {
 public:
  CountedFile(std::string bytes, Readings& readings) : bytes_(std::move(bytes)), readings_(readings) {}
  uint64_t size() const override { return bytes_.size(); }
  core::Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
    ++readings_.count;
    readings_.bytes += out.size();
    EXPECT_LE(offset + out.size(), bytes_.size());
    if (std::exchange(readings_.fails, false)) return core::Fail(core::ErrorCode::kIo, "f: Input/output error");
    std::copy_n(reinterpret_cast<const std::byte*>(bytes_.data()) + offset, out.size(), out.begin());
    return {};
  }

 private:
  const std::string bytes_;
  Readings& readings_;
};

class FileWindowTest : public testing::Test {
 protected:
  FileWindowTest() {
    std::minstd_rand random(7);
    bytes_.resize(3'500'000);
    for (char& byte : bytes_) byte = static_cast<char>(random());
    window_ = std::make_unique<FileWindow>(std::make_unique<CountedFile>(bytes_, readings_));
  }
  void ExpectLook(uint64_t offset, size_t bytes) {
    const auto look = window_->Look(offset, bytes);
    ASSERT_TRUE(Ok(look));
    EXPECT_TRUE(*look == std::string_view(bytes_).substr(offset, bytes)) << offset << " + " << bytes;
  }

  std::string bytes_;
  Readings readings_;
  std::unique_ptr<FileWindow> window_;
};

TEST_F(FileWindowTest, ManySmallLooksForwardReadEachByteOnceInFewReadings) {
  constexpr size_t kLook = 1'000;
  for (uint64_t offset = 0; offset < bytes_.size(); offset += kLook) {
    ExpectLook(offset, std::min<uint64_t>(kLook + 300, bytes_.size() - offset));  // they overlap
  }
  EXPECT_EQ(readings_.bytes, bytes_.size());
  EXPECT_LE(readings_.count, 5U);
}

TEST_F(FileWindowTest, ShowsAnyPartInAnyOrder) {
  std::minstd_rand random(11);
  for (int i = 0; i < 300; ++i) {
    const uint64_t offset = random() % bytes_.size();
    ExpectLook(offset, random() % std::min<uint64_t>(bytes_.size() - offset + 1, 5'000));
  }
}

TEST_F(FileWindowTest, ALookMayBeAsLongAsTheFileOrEmpty) {
  ExpectLook(bytes_.size(), 0);
  ExpectLook(0, bytes_.size());
  EXPECT_EQ(window_->size(), bytes_.size());
  FileWindow empty(std::make_unique<CountedFile>("", readings_));
  EXPECT_EQ(*empty.Look(0, 0), "");
}

TEST_F(FileWindowTest, AfterAFailedReadingNothingOldIsShown) {
  ExpectLook(0, 100);
  readings_.fails = true;
  const auto failed = window_->Look(2'000'000, 100);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, core::ErrorCode::kIo);
  ExpectLook(2'000'000, 100);
  ExpectLook(0, 100);
}

}  // namespace
}  // namespace bitsieve::server
