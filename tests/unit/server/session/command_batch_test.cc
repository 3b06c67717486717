#include "server/session/command_batch.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace bitsieve::server {
namespace {

TEST(CommandBatch, DividesArgumentsIntoCommands) {
  CommandBatch batch;
  EXPECT_EQ(batch.size(), 0U);
  batch.arguments = {"PING", "BF.ADD", "f", "a"};
  batch.ends = {1, 4};
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(std::vector(batch[0].begin(), batch[0].end()), (std::vector<std::string_view>{"PING"}));
  EXPECT_EQ(std::vector(batch[1].begin(), batch[1].end()), (std::vector<std::string_view>{"BF.ADD", "f", "a"}));
  batch.Clear();
  EXPECT_EQ(batch.size(), 0U);
  EXPECT_TRUE(batch.arguments.empty());
}

TEST(CommandBatch, OnlyACommandByItselfMayTakeItsArgumentsOver) {
  CommandBatch batch;
  batch.arguments = {"BF.ADD", "f", "a"};
  batch.ends = {3};
  EXPECT_EQ(batch.Own(0), &batch.arguments);
  batch.arguments.push_back("PING");
  batch.ends.push_back(4);
  EXPECT_EQ(batch.Own(0), nullptr);
  EXPECT_EQ(batch.Own(1), nullptr);
}

}  // namespace
}  // namespace bitsieve::server
