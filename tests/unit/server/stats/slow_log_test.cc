#include "server/stats/slow_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitsieve::server {
namespace {

SlowCommand Command(const std::string& name, uint64_t us) {
  SlowCommand command;
  command.us = us;
  command.arguments = {name, "key"};
  return command;
}

std::vector<uint64_t> IdsOf(const std::vector<SlowCommand>& commands) {
  std::vector<uint64_t> ids;
  for (const SlowCommand& command : commands) ids.push_back(command.id);
  return ids;
}

TEST(SlowLog, NumbersCommandsAndShowsTheNewestFirst) {
  SlowLog log;
  log.set_max_size(10);
  for (int i = 0; i < 3; ++i) log.Add(Command("BF.ADD", 1));
  EXPECT_EQ(IdsOf(log.Newest(2)), (std::vector<uint64_t>{2, 1}));
  EXPECT_EQ(IdsOf(log.Newest(100)), (std::vector<uint64_t>{2, 1, 0}));
}

TEST(SlowLog, TheOldestGoWhenThereAreTooMany) {
  SlowLog log;
  log.set_max_size(2);
  for (int i = 0; i < 5; ++i) log.Add(Command("BF.ADD", 1));
  EXPECT_EQ(IdsOf(log.Newest(10)), (std::vector<uint64_t>{4, 3}));
  log.set_max_size(1);
  EXPECT_EQ(log.Size(), 1U);
  log.Clear();
  EXPECT_EQ(log.Size(), 0U);
  log.Add(Command("BF.ADD", 1));
  EXPECT_EQ(IdsOf(log.Newest(1)), std::vector<uint64_t>{5}) << "numbers go on after the log was cleared";
}

TEST(SlowLog, ASummaryIsOfTheCommandsSinceTheLastOne) {
  SlowLog log;
  log.Add(Command("BF.ADD", 20));
  log.Add(Command("BF.MERGE", 500));
  log.Add(Command("BF.INFO", 30));
  const SlowLog::Summary summary = log.TakeSummary();
  EXPECT_EQ(summary.commands, 3U) << "also of those that are not kept";
  EXPECT_EQ(summary.slowest_us, 500U);
  EXPECT_EQ(summary.slowest, "BF.MERGE");
  EXPECT_EQ(log.TakeSummary().commands, 0U);
}

}  // namespace
}  // namespace bitsieve::server
