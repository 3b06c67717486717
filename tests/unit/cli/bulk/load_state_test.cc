#include "cli/bulk/load_state.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace bitsieve::cli {
namespace {

class LoadStateTest : public testing::Test {
 protected:
  LoadStateTest() { std::ofstream(file_) << "a\nb\n"; }
  ~LoadStateTest() override {
    std::filesystem::remove(file_);
    RemoveLoadState(file_);
  }

  const std::string file_ =
      testing::TempDir() + "load_state_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(LoadStateTest, ComesBackAsItWas) {
  EXPECT_FALSE(*ReadLoadState(file_));
  ASSERT_TRUE(WriteLoadState(file_, {"k\"", 2, 1, {5, 3, 1, 1}}));
  const auto state = ReadLoadState(file_);
  ASSERT_TRUE(state && *state);
  EXPECT_EQ((*state)->key, "k\"");
  EXPECT_EQ((*state)->position, 2u);
  EXPECT_EQ((*state)->records, 1u);
  EXPECT_EQ((*state)->counts.added, 3u);
  RemoveLoadState(file_);
  EXPECT_FALSE(*ReadLoadState(file_));
}

TEST_F(LoadStateTest, IsOfOneFileAsItWas) {
  ASSERT_TRUE(WriteLoadState(file_, {"k", 2, 1, {}}));
  std::ofstream(file_, std::ios::app) << "c\n";
  const auto state = ReadLoadState(file_);
  ASSERT_FALSE(state);
  EXPECT_NE(state.error().find("has changed"), std::string::npos);
}

TEST_F(LoadStateTest, GarbageIsRefused) {
  for (const char* text : {"", "{}", "[1]", "{\"file\":1}"}) {
    std::ofstream(LoadStatePath(file_), std::ios::trunc) << text;
    EXPECT_FALSE(ReadLoadState(file_)) << text;
  }
}

}  // namespace
}  // namespace bitsieve::cli
