// BF.* on filters whose items expire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {
namespace {

using test::kOk;
using testing::HasSubstr;

class ExpiryCommands : public testing::Test, protected test::CommandFixture {
 protected:
  ExpiryCommands() { clock.now_ms = 1'700'000'000'000 / kTtlMs * kTtlMs; }  // an epoch begins

  void Reserve(const std::string& options = "") {
    test::Words command{"BF.RESERVE", "f", "0.000001", "1000", "TYPE", "expiring", "TTL", "14s"};
    if (!options.empty())
      command.insert(command.end(), {options.substr(0, options.find(' ')), options.substr(options.find(' ') + 1)});
    ASSERT_EQ(Reply(command), kOk);
  }
  void Pass(int64_t ms) { clock.now_ms += ms; }

  static constexpr int64_t kTtlMs = 14'000;
};

TEST_F(ExpiryCommands, ItemsExpireAfterTheFiltersTtl) {
  Reserve();
  EXPECT_EQ(Reply({"BF.ADD", "f", "a"}), ":1\r\n");
  Pass(5000);
  EXPECT_EQ(Reply({"BF.MADD", "f", "b", "c"}), "*2\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.TTL", "f", "a", "b", "x"}), "*3\r\n:10000\r\n:15000\r\n:-2\r\n");
  Pass(10'000);
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "a", "b", "c"}), "*3\r\n:0\r\n:1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":2\r\n");
}

TEST_F(ExpiryCommands, InsertGivesItemsATimeOfTheirOwn) {
  Reserve();
  EXPECT_EQ(Reply({"BF.INSERT", "f", "EX", "2", "ITEMS", "a"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "f", "PX", "3500", "NOCREATE", "ITEMS", "b"}), "*1\r\n:1\r\n");
  const int64_t now_s = clock.now_ms / 1000;
  EXPECT_EQ(Reply({"BF.INSERT", "f", "EXAT", std::to_string(now_s + 5), "ITEMS", "c"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "f", "ITEMS", "d"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.TTL", "f", "a", "b", "c", "d"}), "*4\r\n:3000\r\n:4000\r\n:6000\r\n:15000\r\n");
}

TEST_F(ExpiryCommands, InsertCreatesAFilterForItemsWithATime) {
  EXPECT_EQ(Reply({"BF.INSERT", "f", "TYPE", "expiring", "TTL", "14s", "PX", "1", "ITEMS", "a"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.TTL", "f", "a"}), "*1\r\n:1000\r\n");
}

TEST_F(ExpiryCommands, TimesThatItemsCannotHaveAreRefusedAndChangeNothing) {
  const auto insert = [&](const std::string& word, const std::string& value) {
    return Reply({"BF.INSERT", "new", "TYPE", "expiring", "TTL", "14s", word, value, "ITEMS", "a"});
  };
  const std::string bad =
      "-ERR bad time of items: EX, PX and EXAT take a positive integer, and only one of them may be given\r\n";
  for (const char* value : {"0", "-1", "x", "", "1.5", "9223372036854775807"})
    EXPECT_EQ(insert("EX", value), bad) << value;
  EXPECT_EQ(insert("PX", "0"), bad);
  EXPECT_EQ(Reply({"BF.INSERT", "new", "TYPE", "expiring", "TTL", "14s", "PX", "1", "EX", "1", "ITEMS", "a"}), bad);
  EXPECT_EQ(insert("PX", "14001"),
            "-ERR items cannot expire 14001 ms from now; the range is [1, 14000], up to the filter's TTL\r\n");
  const int64_t now_s = clock.now_ms / 1000;
  EXPECT_THAT(insert("EXAT", std::to_string(now_s)), HasSubstr("cannot expire 0 ms from now"));
  EXPECT_THAT(insert("EXAT", std::to_string(now_s - 10)), HasSubstr("cannot expire -10000 ms from now"));
  EXPECT_THAT(insert("EXAT", std::to_string(now_s + 15)), HasSubstr("cannot expire 15000 ms from now"));
  EXPECT_THAT(Reply({"BF.INSERT", "new", "PX", "1", "ITEMS", "a"}),
              HasSubstr("-ERR a blocked filter cannot expire items; types that can: expiring"));
  EXPECT_EQ(Reply({"EXISTS", "new"}), ":0\r\n");
  Reserve();
  EXPECT_THAT(Reply({"BF.INSERT", "f", "PX", "14001", "ITEMS", "a"}), HasSubstr("cannot expire 14001 ms from now"));
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "a"}), ":0\r\n");
}

TEST_F(ExpiryCommands, ATouchRenewsWhatIsThere) {
  Reserve();
  EXPECT_EQ(Reply({"BF.TOUCH", "f", "a"}), "*1\r\n:0\r\n");
  Reply({"BF.ADD", "f", "a"});
  Pass(9000);
  EXPECT_EQ(Reply({"BF.TOUCH", "f", "a", "b"}), "*2\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.TTL", "f", "a", "b"}), "*2\r\n:15000\r\n:-2\r\n");
}

TEST_F(ExpiryCommands, RenewSaysWhetherAnAddRenews) {
  Reserve("RENEW no");
  Reply({"BF.ADD", "f", "a"});
  Pass(9000);
  EXPECT_EQ(Reply({"BF.ADD", "f", "a"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.TTL", "f", "a"}), "*1\r\n:6000\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "RENEW"}), "*1\r\n$2\r\nno\r\n");
}

TEST_F(ExpiryCommands, ItemsCanBeRemovedButNotCounted) {
  Reserve();
  Reply({"BF.MADD", "f", "a", "b"});
  EXPECT_EQ(Reply({"BF.DEL", "f", "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "f", "a", "b"}), "*2\r\n:0\r\n:1\r\n");
  EXPECT_THAT(Reply({"BF.COUNT", "f", "a"}), HasSubstr("-ERR an expiring filter cannot count items"));
}

TEST_F(ExpiryCommands, OfNoFilterNoItemIsThere) {
  EXPECT_EQ(Reply({"BF.TTL", "f", "a", "b"}), "*2\r\n:-2\r\n:-2\r\n");
  EXPECT_EQ(Reply({"BF.TOUCH", "f", "a"}), "-ERR not found\r\n");
}

TEST_F(ExpiryCommands, OtherTypesHaveNoTimes) {
  Reply({"BF.ADD", "f", "a"});
  const std::string error = "-ERR a blocked filter cannot expire items; types that can: expiring\r\n";
  EXPECT_EQ(Reply({"BF.TTL", "f", "a"}), error);
  EXPECT_EQ(Reply({"BF.TOUCH", "f", "a"}), error);
}

TEST_F(ExpiryCommands, InfoShowsWhenItemsExpire) {
  Reserve("EPOCHBITS 4");
  Reply({"BF.INSERT", "f", "PX", "500", "ITEMS", "a", "b"});
  Reply({"BF.ADD", "f", "c"});
  Pass(400);
  EXPECT_EQ(Reply({"BF.INFO", "f", "TTL"}), "*1\r\n$3\r\n14s\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "EPOCHBITS"}), "*1\r\n:4\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "EPOCHITEMS"}), "*1\r\n$29\r\n2 0 0 0 0 0 0 0 0 0 0 0 0 0 1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "NEXTEXPIRY"}), "*1\r\n:600\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "EPOCHEND"}), "*1\r\n:600\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "ITEMS"}), "*1\r\n:3\r\n");
}

TEST_F(ExpiryCommands, ReserveNamesWhatIsWrong) {
  const auto reserve = [&](const test::Words& options) {
    test::Words command{"BF.RESERVE", "f", "0.01", "1000", "TYPE", "expiring"};
    command.insert(command.end(), options.begin(), options.end());
    return Reply(command);
  };
  EXPECT_EQ(reserve({}), "-ERR an expiring filter needs TTL, a duration such as 24h\r\n");
  for (const char* bad : {"", "99ms", "3651d", "24", "1y", "-1s"}) {
    EXPECT_THAT(reserve({"TTL", bad}), HasSubstr("-ERR bad time to live: it must be a duration in the range [100ms"));
  }
  EXPECT_THAT(reserve({"TTL", "1h", "EPOCHBITS", "5"}), HasSubstr("they must be 4 or 8"));
  EXPECT_THAT(reserve({"TTL", "1h", "RENEW", "maybe"}), HasSubstr("it must be yes or no"));
  EXPECT_THAT(Reply({"BF.RESERVE", "f", "0.01", "10", "TTL", "1h"}), HasSubstr("TTL is for TYPE expiring only"));
  EXPECT_EQ(Reply({"EXISTS", "f"}), ":0\r\n");
}

// The notes are text, so nothing else keeps them up to date.
TEST_F(ExpiryCommands, TheNotesOfRemovalNameEachTypeThatRemoves) {
  const std::string notes(AllCommands().FindFull("bf.del")->notes);
  for (const std::string& type : test::TypeNames(test::Removes)) EXPECT_THAT(notes, HasSubstr(type));
}

}  // namespace
}  // namespace bitsieve::server
