#include "cli/migrate/dry_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/migrate/migration_report.h"

namespace bitsieve::cli {
namespace {

FoundFilter FoundOf(const std::string& name) { return {.name = name, .bytes = 1000}; }

TEST(DryRun, MemoryOfInfo) {
  const TargetMemory memory = MemoryOf("# Memory\r\nused_memory:120\r\nused_memory_human:1\r\nmaxmemory:4000\r\n");
  EXPECT_EQ(memory.used, 120);
  EXPECT_EQ(memory.maximum, 4000);
  EXPECT_EQ(MemoryOf("").maximum, 0);
}

TEST(DryRun, Table) {
  DryRun dry_run(false, false);
  std::ostringstream out;
  dry_run.Add(out, FoundOf("a"), {.type = "redisbloom", .before = 2000, .after = 1500});
  dry_run.Add(out, FoundOf("b"), {.type = "rediscuckoo", .before = 0, .after = 1200, .is_estimate = true});
  dry_run.Print(out, OtherKeys());
  EXPECT_EQ(out.str(),
            "'a': redisbloom, 2.0 kB before, 1.5 kB after\n"
            "'b': rediscuckoo, about 1.2 kB after\n"
            "type         filters  memory before  memory after\n"
            "redisbloom         1         2.0 kB        1.5 kB\n"
            "rediscuckoo        1        unknown  about 1.2 kB\n"
            "all                2        unknown  about 2.7 kB\n"
            "2 filters would be moved\n");
  EXPECT_TRUE(dry_run.all_well());
}

TEST(DryRun, WhatCannotBeMoved) {
  DryRun dry_run(false, true);
  std::ostringstream out;
  dry_run.Add(out, FoundOf("a"), {.problem = "why"});
  dry_run.AddTaken(FoundOf("b"), false);
  EXPECT_FALSE(dry_run.all_well());
  dry_run.Print(out, OtherKeys());
  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["all"]["filters"], 0);
  EXPECT_EQ(json["failed"][0]["reason"], "why");
  EXPECT_EQ(json["failed"][1]["reason"], kNameIsTaken);
}

TEST(DryRun, Room) {
  for (const uint64_t maximum : {0, 999, 1000, 2000}) {
    DryRun dry_run(true, true);
    std::ostringstream out;
    dry_run.Add(out, FoundOf("a"), {.type = "redisbloom", .after = 900});
    dry_run.set_target({.used = 100, .maximum = maximum});
    EXPECT_EQ(dry_run.all_well(), maximum != 999);
    dry_run.Print(out, OtherKeys());
    const auto json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json["fits"], maximum != 999);
    EXPECT_EQ(json["all"]["memory_before"], nullptr);
    EXPECT_EQ(json["all"]["file_bytes"], 1000);
  }
}

TEST(DryRun, AnotherType) {
  const FilterSize size =
      SizeAs("blocked", {.error_rate = 0.01, .capacity = 100'000}, {.type = "redisbloom", .before = 7});
  EXPECT_EQ(size.type, "blocked");
  EXPECT_EQ(size.before, 7);
  EXPECT_TRUE(size.is_estimate);
  EXPECT_EQ(size.problem, "");
  EXPECT_GT(size.after, 100'000);
  EXPECT_LT(size.after, 200'000);
}

}  // namespace
}  // namespace bitsieve::cli
