#include <gtest/gtest.h>

#include <string>

#include "commands/followed_filters.h"
#include "commands/wire_errors.h"
#include "core/base/clock.h"
#include "core/filter/change.h"
#include "core/filter/change_runs.h"
#include "core/filter/filter_dump.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::commands {
namespace {

using test::kOk;
using test::Words;

class ChangeCommandsTest : public testing::Test, protected test::CommandFixture {
 protected:
  // Reads what BF.FOLLOW returns, chunk by chunk, and makes a copy of the filter.
  void Begin(const std::string& name) {
    std::string dump;
    for (std::string iterator = "0";;) {
      const std::vector<std::string> parts = Parts(Reply({"BF.FOLLOW", name, iterator}));
      ASSERT_EQ(parts.size(), 3U);
      iterator = parts[0];
      if (iterator == "0") break;
      dump += parts[1];
      position_ = parts[2];
    }
    auto copy = core::RestoreFilter(dump, copies_, copy_clock_);
    ASSERT_TRUE(copy) << copy.error().message;
    copy_ = std::move(*copy);
  }
  // Brings the copy up to date. Returns the number of replies that it took.
  int CatchUp(const std::string& name, const std::string& count = "100") {
    for (int replies = 1;; ++replies) {
      const std::vector<std::string> parts = Parts(Reply({"BF.CHANGES", name, position_, "COUNT", count}));
      if (parts.size() != 3) return -1;
      for (std::string_view rest = parts[1]; !rest.empty();) {
        const auto run = core::TakeChangeRun(rest);
        EXPECT_TRUE(run) << run.error().message;
        const core::Status applied = core::ApplyChangeRun(*copy_, copy_clock_, *run);
        EXPECT_TRUE(applied) << applied.error().message;
      }
      position_ = parts[0];
      if (parts[2] == "0") return replies;
    }
  }
  void ExpectSame(const std::string& name) {
    EXPECT_TRUE(*core::DumpFilter(*copy_) == *core::DumpFilter(*registry.Find(name))) << name;
  }
  bool IsGap(const std::string& name) {
    return Reply({"BF.CHANGES", name, position_}) == "-" + std::string(wire::kGap) + "\r\n";
  }
  void Add(const std::string& name, int first, int count) {
    Words add{"BF.MADD", name};
    for (int i = first; i < first + count; ++i) add.push_back(std::to_string(i));
    Reply(add);
  }
  // Returns the elements of an array of integers and bulk strings.
  static std::vector<std::string> Parts(std::string_view reply) {
    std::vector<std::string> parts;
    if (!reply.starts_with('*')) return parts;
    const auto line = [&reply] {
      const size_t end = reply.find("\r\n");
      const std::string text(reply.substr(1, end - 1));
      reply.remove_prefix(end + 2);
      return text;
    };
    const size_t count = std::stoul(line());
    while (parts.size() < count) {
      const bool is_bulk = reply[0] == '$';
      parts.push_back(line());
      if (!is_bulk) continue;
      const size_t size = std::stoul(parts.back());
      parts.back() = reply.substr(0, size);
      reply.remove_prefix(size + 2);
    }
    return parts;
  }

  core::MemoryBudget copies_;
  core::FilterClock copy_clock_;
  std::unique_ptr<core::Filter> copy_;
  std::string position_;
};

TEST_F(ChangeCommandsTest, ACopyOfEachTypeStaysTheSame) {
  for (const std::string& type : test::TypeNames(test::ByReserve)) {
    Words reserve{"BF.RESERVE", type, "0.01", "500", "TYPE", type};
    for (const auto& [word, value] : test::RequiredOptions(type, 500)) reserve.insert(reserve.end(), {word, value});
    ASSERT_EQ(Reply(reserve), kOk);
    Add(type, 0, 50);
    Begin(type);
    ExpectSame(type);
    Add(type, 40, 300);
    Reply({"BF.MDEL", type, "1", "2", "3"});
    Reply({"BF.FPADD", type, "x", "y", "z"});
    clock.now_ms += 1000;
    Add(type, 1000, 30);
    Reply({"BF.TOUCH", type, "1000", "1001"});
    EXPECT_EQ(CatchUp(type), 4) << type;
    ExpectSame(type);
    EXPECT_EQ(CatchUp(type), 1);
  }
}

TEST_F(ChangeCommandsTest, ACuckooFilterOfRedisBloomCanBeFollowed) {
  ASSERT_EQ(Reply({"CF.RESERVE", "cf", "100"}), kOk);
  Begin("cf");
  for (int i = 0; i < 300; ++i) Reply({"CF.ADD", "cf", std::to_string(i)});
  for (int i = 0; i < 50; ++i) Reply({"CF.DEL", "cf", std::to_string(i)});
  EXPECT_EQ(CatchUp("cf"), 4);
  ExpectSame("cf");
  EXPECT_EQ(Reply({"CF.COMPACT", "cf"}), kOk);
  EXPECT_TRUE(IsGap("cf"));
}

TEST_F(ChangeCommandsTest, OtherChangesOfTheContentAreAGap) {
  const std::vector<std::vector<Words>> changes{
      {{"BF.CLEAR", "f"}},
      {{"BF.FOLD", "f", "1000"}},
      {{"DEL", "f"}, {"BF.RESERVE", "f", "0.01", "10000", "SEED", "7"}},
      {{"BF.RESERVE", "g", "0.01", "10000", "SEED", "7"}, {"BF.MADD", "g", "x", "y"}, {"BF.MERGE", "f", "f", "g"}},
      {{"BF.RESERVE", "g", "0.01", "10000", "SEED", "7"}, {"RENAME", "g", "f"}},
      {{"BF.RESERVE", "g", "0.01", "10000", "SEED", "7"}, {"COPY", "g", "f", "REPLACE"}}};
  for (const std::vector<Words>& commands : changes) {
    Reply({"FLUSHALL"});
    ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.01", "10000", "SEED", "7"}), kOk);
    Add("f", 0, 300);
    Begin("f");
    EXPECT_FALSE(IsGap("f"));
    for (const Words& command : commands) Reply(command);
    EXPECT_TRUE(IsGap("f")) << commands.back()[0];
    Begin("f");
    Add("f", 300, 10);
    EXPECT_EQ(CatchUp("f"), 1);
    ExpectSame("f");
  }
}

TEST_F(ChangeCommandsTest, ARenamedFilterKeepsItsHistory) {
  ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100"}), kOk);
  Begin("f");
  Add("f", 0, 10);
  EXPECT_EQ(Reply({"RENAME", "f", "g"}), "+OK\r\n");
  EXPECT_EQ(CatchUp("g"), 1);
  ExpectSame("g");
}

TEST_F(ChangeCommandsTest, AFrozenFilterIsAGap) {
  ASSERT_EQ(Reply({"BF.RESERVE", "r", "0.01", "100", "TYPE", "ribbon"}), kOk);
  Add("r", 0, 10);
  Begin("r");
  EXPECT_EQ(Reply({"BF.FREEZE", "r"}), kOk);
  EXPECT_TRUE(IsGap("r"));
}

TEST_F(ChangeCommandsTest, WithoutAReaderForLongTheHistoryEnds) {
  ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100"}), kOk);
  Begin("f");
  clock.now_ms += core::ChangeHistory::kPatienceMs;
  Add("f", 0, 1);
  EXPECT_FALSE(IsGap("f"));
  EXPECT_GT(followed.used_bytes(), 0U);
  clock.now_ms += core::ChangeHistory::kPatienceMs + 1;
  ASSERT_EQ(Reply({"BF.RESERVE", "g", "0.01", "100"}), kOk);
  Begin("g");
  EXPECT_EQ(followed.used_bytes(), 0U) << "a filter that is followed next ends what is no longer read";
  EXPECT_TRUE(IsGap("f"));
}

TEST_F(ChangeCommandsTest, CopiesShareOneHistory) {
  ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100"}), kOk);
  Begin("f");
  Add("f", 0, 10);
  const std::string first = position_;
  Begin("f");
  EXPECT_EQ(position_.substr(0, 17), first.substr(0, 17));
  EXPECT_EQ(first.substr(17), "0");
  EXPECT_EQ(position_.substr(17), "10");
}

TEST_F(ChangeCommandsTest, WrongArgumentsAreRefused) {
  ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100"}), kOk);
  const auto error = [](std::string_view text) { return "-" + std::string(text) + "\r\n"; };
  for (const std::string position : {"", "0", "1-1", "0123456789abcdef", "0123456789abcdef-", "0123456789abcdef-x",
                                     "0123456789abcdeg-1", "0123456789abcdef-18446744073709551616"}) {
    EXPECT_EQ(Reply({"BF.CHANGES", "f", position}), error(wire::kBadPosition)) << position;
  }
  const std::string position = "0123456789abcdef-1";
  EXPECT_EQ(Reply({"BF.CHANGES", "f", position}), error(wire::kGap));
  EXPECT_EQ(Reply({"BF.CHANGES", "none", position}), error(wire::kNotFound));
  for (const std::string count : {"0", "65537", "-1", "many"}) {
    EXPECT_EQ(Reply({"BF.CHANGES", "f", position, "COUNT", count}), error(wire::kBadChangeCount)) << count;
  }
  EXPECT_EQ(Reply({"BF.CHANGES", "f", position, "COUNT"}), error(wire::kBadChangeCount));
  EXPECT_EQ(Reply({"BF.CHANGES", "f", position, "LIMIT", "1"}), error(wire::kSyntax));
  EXPECT_EQ(Reply({"BF.FOLLOW", "none", "0"}), error(wire::kNotFound));
  EXPECT_EQ(Reply({"BF.FOLLOW", "f", "x"}), error(wire::kScanCursorNotNumeric));
  EXPECT_EQ(Reply({"BF.FOLLOW", "f", "99"}), error(wire::kNoSuchDump));
}

TEST_F(ChangeCommandsTest, PositionsAreTextAndBack) {
  const core::ChangePosition position{0xab, 12};
  EXPECT_EQ(PositionText(position), "00000000000000ab-12");
  EXPECT_EQ(ParsePosition("00000000000000ab-12"), position);
}

}  // namespace
}  // namespace bitsieve::commands
