#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/families/bloom/bloom_types.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;
using testing::HasSubstr;
using testing::StartsWith;

class BloomCommandsTest : public testing::Test, protected CommandFixture {
 protected:
  void UseResp3() { session.version = protocol::ProtocolVersion::kResp3; }
  // A filter of room for three items that does not grow, and is full.
  void MakeFull() {
    Reply({"BF.RESERVE", "full", "0.000001", "3", "NONSCALING", "SEED", "1"});
    ASSERT_EQ(Reply({"BF.MADD", "full", "a", "b", "c"}), "*3\r\n:1\r\n:1\r\n:1\r\n");
  }
};

using test::kOk;

TEST_F(BloomCommandsTest, AddTellsNewFromPresent) {
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"bf.add", "f", ""}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "y"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", ""}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":2\r\n");
}

TEST_F(BloomCommandsTest, ItemsAndNamesAreBinarySafe) {
  const std::string item("\0\r\n\xff", 4), name("\xfe\0", 2);
  EXPECT_EQ(Reply({"BF.ADD", name, item}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", name, item}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", name, item.substr(0, 3)}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", name.substr(0, 1), item}), ":0\r\n");
}

TEST_F(BloomCommandsTest, Resp3AnswersYesOrNo) {
  UseResp3();
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), "#t\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), "#f\r\n");
  EXPECT_EQ(Reply({"BF.MADD", "f", "x", "y"}), "*2\r\n#f\r\n#t\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "f", "ITEMS", "x", "z"}), "*2\r\n#f\r\n#t\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), "#t\r\n");
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "x", "w"}), "*2\r\n#t\r\n#f\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "none", "x"}), "#f\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":3\r\n");
}

TEST_F(BloomCommandsTest, MissingFilterHasNothing) {
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "x", "y"}), "*2\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "NONSENSE"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), "-ERR not found\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "f", "NOCREATE", "ITEMS", "x"}), "-ERR not found\r\n");
  EXPECT_EQ(registry.Size(), 0u);
}

TEST_F(BloomCommandsTest, MultiCommandsAnswerEachItem) {
  Words add{"BF.MADD", "f"}, ask{"BF.MEXISTS", "f"};
  std::string ones = "*200\r\n";
  for (int i = 0; i < 200; ++i) {
    add.push_back("item" + std::to_string(i));
    ask.push_back("item" + std::to_string(i));
    ones += ":1\r\n";
  }
  Reply({"BF.RESERVE", "f", "0.000001", "1000", "SEED", "3"});
  EXPECT_EQ(Reply(add), ones);
  EXPECT_EQ(Reply(ask), ones);
  EXPECT_EQ(Reply({"BF.MADD", "f", "item1", "new", "new"}), "*3\r\n:0\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":201\r\n");
}

TEST_F(BloomCommandsTest, FullFilterEndsTheArrayAtTheError) {
  MakeFull();
  constexpr const char* kFull = "-ERR non scaling filter is full\r\n";
  EXPECT_EQ(Reply({"BF.ADD", "full", "d"}), kFull);
  EXPECT_EQ(Reply({"BF.ADD", "full", "a"}), ":0\r\n") << "what is there already is no addition";
  EXPECT_EQ(Reply({"BF.MADD", "full", "a", "d", "b", "e"}), std::string("*2\r\n:0\r\n") + kFull);
  EXPECT_EQ(Reply({"BF.INSERT", "full", "ITEMS", "d", "b"}), std::string("*1\r\n") + kFull);
  EXPECT_EQ(Reply({"BF.CARD", "full"}), ":3\r\n");
  EXPECT_EQ(Replies({{"BF.ADD", "full", "d"}, {"BF.ADD", "full", "a"}, {"BF.ADD", "full", "e"}}),
            std::string(kFull) + ":0\r\n" + kFull);
}

TEST_F(BloomCommandsTest, FullFilterInTheMiddleOfALongArray) {
  Reply({"BF.RESERVE", "f", "0.000001", "70", "NONSCALING", "SEED", "5"});
  Words add{"BF.MADD", "f"};
  for (int i = 0; i < 150; ++i) add.push_back("item" + std::to_string(i));
  std::string expected = "*71\r\n";
  for (int i = 0; i < 70; ++i) expected += ":1\r\n";
  EXPECT_EQ(Reply(add), expected + "-ERR non scaling filter is full\r\n");
}

struct Refusal {
  Words command;
  std::string error;
};

// RedisBloom's text, and the range that holds here.
constexpr const char* kErrorRateRange =
    "ERR error rate must be in the range (0.000000, 1.000000): from 1e-9 to 0.25, or a larger one below 1, which is "
    "taken "
    "as 0.25";

TEST_F(BloomCommandsTest, TheRangeOfErrorRatesIsStatedInOneWay) {
  EXPECT_THAT(AllCommands().Find("bf.reserve")->notes, HasSubstr(core::kErrorRates));
  EXPECT_THAT(kErrorRateRange, HasSubstr(core::kErrorRates));
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "1e-9", "100"}), kOk);
  EXPECT_EQ(Reply({"BF.RESERVE", "g", "9e-10", "100"}), "-" + std::string(kErrorRateRange) + "\r\n");
}

TEST_F(BloomCommandsTest, WrongArityShowsTheUsageAfterRedisText) {
  EXPECT_EQ(Reply({"BF.ADD", "f"}), "-ERR wrong number of arguments for 'bf.add' command; usage: BF.ADD key item\r\n");
  for (const CommandRow* row : AllCommands().rows()) {
    const bool is_of_filters = row->group == CommandGroup::kBloom || row->group == CommandGroup::kCuckoo;
    const std::string text = "ERR wrong number of arguments for '" + std::string(row->name) + "' command";
    EXPECT_THAT(commands::ArityError(*row), StartsWith(text));
    EXPECT_EQ(commands::ArityError(*row) == text, !is_of_filters) << row->name << ": clients look up AUTH's text";
  }
}

TEST_F(BloomCommandsTest, ReserveRefusesInRedisBloomsOrder) {
  Reply({"BF.RESERVE", "there", "0.01", "100"});
  const Refusal refusals[] = {
      {{"BF.RESERVE", "f", "x", "y"}, "ERR bad error rate"},
      {{"BF.RESERVE", "f", "nan", "100"}, "ERR bad error rate"},
      {{"BF.RESERVE", "f", "0", "y"}, kErrorRateRange},
      {{"BF.RESERVE", "f", "1", "100"}, kErrorRateRange},
      {{"BF.RESERVE", "f", "inf", "100"}, kErrorRateRange},
      {{"BF.RESERVE", "f", "-0.1", "100"}, kErrorRateRange},
      {{"BF.RESERVE", "f", "1e-300", "100"}, kErrorRateRange},
      {{"BF.RESERVE", "f", "0.01", "y", "EXPANSION"}, "ERR bad capacity"},
      {{"BF.RESERVE", "f", "0.01", "+5"}, "ERR bad capacity"},
      {{"BF.RESERVE", "f", "0.01", "0", "EXPANSION"}, "ERR capacity must be in the range [1, 1073741824]"},
      {{"BF.RESERVE", "f", "0.01", "1099511627776"}, "ERR capacity must be in the range [1, 1073741824]"},
      {{"BF.RESERVE", "f", "0.01", "-1"}, "ERR capacity must be in the range [1, 1073741824]"},
      {{"BF.RESERVE", "f", "0.01", "100", "NONSCALING", "EXPANSION"}, "ERR no expansion"},
      {{"BF.RESERVE", "f", "0.01", "100", "NONSCALING", "EXPANSION", "x"}, "ERR bad expansion"},
      {{"BF.RESERVE", "f", "0.01", "100", "NONSCALING", "EXPANSION", "2"}, "Nonscaling filters cannot expand"},
      {{"BF.RESERVE", "f", "0.01", "100", "EXPANSION", "99999", "NONSCALING"}, "Nonscaling filters cannot expand"},
      {{"BF.RESERVE", "f", "0.01", "100", "EXPANSION", "32769"}, "ERR expansion must be in the range [0, 32768]"},
      {{"BF.RESERVE", "f", "0.01", "100", "EXPANSION", "-1"}, "ERR expansion must be in the range [0, 32768]"},
      {{"BF.RESERVE", "there", "0.01", "100", "EXPANSION", "-1"}, "ERR expansion must be in the range [0, 32768]"},
      {{"BF.RESERVE", "there", "0.01", "100"}, "ERR item exists"},
      {{"BF.RESERVE", "f", "0.01"}, test::ArityText("bf.reserve")},
      {Words(21, "BF.RESERVE"), test::ArityText("bf.reserve")},
      // Bitsieve's own options.
      {{"BF.RESERVE", "f", "0.01", "100", "EXPAND", "2"}, "ERR unknown option 'EXPAND'"},
      {{"BF.RESERVE", "f", "0.01", "100", "TYPE"}, "ERR no type"},
      {{"BF.RESERVE", "f", "0.01", "100", "TYPE", "magic"},
       "ERR unknown type 'magic', must be one of: " + std::string(core::FilterTypeNames())},
      {{"BF.RESERVE", "f", "0.01", "100", "SEED"}, "ERR no seed"},
      {{"BF.RESERVE", "f", "0.01", "100", "SEED", "-1"},
       "ERR bad seed: it must be an integer in the range [0, 18446744073709551615], or for TYPE valkeybloom 32 bytes"},
      {{"BF.RESERVE", "f", "0.01", "100", "TIGHTENING"}, "ERR no tightening ratio"},
      {{"BF.RESERVE", "f", "0.01", "100", "TIGHTENING", "1"},
       "ERR bad tightening ratio: it must be a number in the range (0.000000, 1.000000)"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(Reply(refusal.command), "-" + refusal.error + "\r\n") << testing::PrintToString(refusal.command);
  }
  EXPECT_EQ(registry.Size(), 1u);
}

TEST_F(BloomCommandsTest, ReserveTakesNameForNoKeyword) {
  EXPECT_EQ(Reply({"BF.RESERVE", "EXPANSION", "0.01", "100"}), kOk);
  EXPECT_EQ(Reply({"BF.RESERVE", "NONSCALING", "0.01", "100", "EXPANSION", "2"}), kOk);
  EXPECT_EQ(Reply({"BF.INFO", "NONSCALING", "EXPANSION"}), "*1\r\n:2\r\n");
}

TEST_F(BloomCommandsTest, ReserveKeepsWhatItIsAskedFor) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.001", "5000", "type", "Classic", "SEED", "18446744073709551615", "TIGHTENING",
                   "0.5", "expansion", "4"}),
            kOk);
  const core::FilterParams& params = registry.Find("f")->params();
  EXPECT_EQ(params.type, core::kClassicType);
  EXPECT_EQ(params.error_rate, 0.001);
  EXPECT_EQ(params.capacity, 5000u);
  EXPECT_EQ(params.seed, UINT64_MAX);
  EXPECT_EQ(params.tightening_ratio, 0.5);
  EXPECT_EQ(params.expansion, 4u);
  EXPECT_EQ(params.first_share, core::kReservedFirstShare);
}

TEST_F(BloomCommandsTest, HighErrorRatesAreUsedAsTheHighest) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.9", "100"}), kOk);
  EXPECT_EQ(registry.Find("f")->params().error_rate, core::kMaxErrorRate);
  EXPECT_EQ(Reply({"BF.INSERT", "g", "ERROR", "0.9", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_EQ(registry.Find("g")->params().error_rate, core::kMaxErrorRate);
}

TEST_F(BloomCommandsTest, ExpansionOfZeroIsNonscaling) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "EXPANSION", "0", "NONSCALING"}), kOk);
  EXPECT_EQ(Reply({"BF.INFO", "f", "EXPANSION"}), "*1\r\n$-1\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "g", "EXPANSION", "2", "NONSCALING", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "g", "EXPANSION"}), "*1\r\n$-1\r\n");
  settings.default_expansion = 0;
  EXPECT_EQ(Reply({"BF.ADD", "h", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "h", "EXPANSION"}), "*1\r\n$-1\r\n");
  EXPECT_EQ(Reply({"BF.RESERVE", "i", "0.01", "100", "EXPANSION", "2"}), "-Nonscaling filters cannot expand\r\n");
}

TEST_F(BloomCommandsTest, SeedsAreRandomUnlessGiven) {
  Reply({"BF.RESERVE", "a", "0.01", "100"});
  Reply({"BF.RESERVE", "b", "0.01", "100"});
  Reply({"BF.ADD", "c", "x"});
  EXPECT_NE(registry.Find("a")->params().seed, registry.Find("b")->params().seed);
  EXPECT_NE(registry.Find("a")->params().seed, registry.Find("c")->params().seed);
}

TEST_F(BloomCommandsTest, ReserveIfNotExistsTakesAnEqualFilter) {
  const Words reserve{"BF.RESERVE", "f", "0.01", "100", "IFNOTEXISTS"};
  EXPECT_EQ(Reply(reserve), kOk);
  Reply({"BF.ADD", "f", "x"});
  EXPECT_EQ(Reply(reserve), kOk);
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":1\r\n");
  const Refusal refusals[] = {
      {{"BF.RESERVE", "f", "0.02", "100", "IFNOTEXISTS"},
       "ERR item exists with a different error rate: it has 0.01, not 0.02"},
      {{"BF.RESERVE", "f", "0.01", "200", "IFNOTEXISTS"},
       "ERR item exists with a different capacity: it has 100, not 200"},
      {{"BF.RESERVE", "f", "0.01", "100", "TYPE", "classic", "IFNOTEXISTS"},
       "ERR item exists with a different type: it has blocked, not classic"},
      {{"BF.RESERVE", "f", "0.01", "100", "NONSCALING", "IFNOTEXISTS"},
       "ERR item exists with a different expansion: it has 2, not 0"},
      {{"BF.RESERVE", "f", "0.01", "100", "TIGHTENING", "0.5", "IFNOTEXISTS"},
       "ERR item exists with a different tightening ratio: it has 0.8, not 0.5"},
  };
  for (const Refusal& refusal : refusals) EXPECT_EQ(Reply(refusal.command), "-" + refusal.error + "\r\n");
  EXPECT_THAT(Reply({"BF.RESERVE", "f", "0.01", "100", "SEED", "5", "IFNOTEXISTS"}),
              StartsWith("-ERR item exists with a different seed: it has "));
}

TEST_F(BloomCommandsTest, InsertRefusesAsRedisBloom) {
  const std::string arity = test::ArityText("bf.insert");
  const Refusal refusals[] = {
      {{"BF.INSERT", "f", "ITEMS"}, arity},
      {{"BF.INSERT", "f", "NOCREATE", "NONSCALING"}, arity},
      {{"BF.INSERT", "f", "NOCREATE", "ITEMS"}, arity},
      {{"BF.INSERT", "f", "NOCREATE", "CAPACITY"}, arity},
      {{"BF.INSERT", "f", "NOCREATE", "ERROR"}, arity},
      {{"BF.INSERT", "f", "NOCREATE", "EXPANSION"}, arity},
      {{"BF.INSERT", "f", "NOCREATE", "SEED"}, arity},
      {{"BF.INSERT", "f", "CAPACITY", "x", "ITEMS", "a"}, "Bad capacity"},
      {{"BF.INSERT", "f", "CAPACITY", "0", "ITEMS", "a"}, "Bad capacity"},
      {{"BF.INSERT", "f", "CAPACITY", "1073741825", "ITEMS", "a"}, "Bad capacity"},
      {{"BF.INSERT", "f", "ERROR", "x", "ITEMS", "a"}, "Bad error rate"},
      {{"BF.INSERT", "f", "ERROR", "1", "ITEMS", "a"}, "Bad error rate"},
      {{"BF.INSERT", "f", "EXPANSION", "x", "ITEMS", "a"}, "Bad expansion"},
      {{"BF.INSERT", "f", "EXPANSION", "32769", "ITEMS", "a"}, "Bad expansion"},
      {{"BF.INSERT", "f", "EXPANSION", "-1", "ITEMS", "a"}, "Bad expansion"},
      {{"BF.INSERT", "f", "ITEM", "a", "b"}, "Unknown argument received"},
      {{"BF.INSERT", "f", "WHAT", "ITEMS", "b"}, "Unknown argument received"},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(Reply(refusal.command), "-" + refusal.error + "\r\n") << testing::PrintToString(refusal.command);
  }
  EXPECT_EQ(registry.Size(), 0u);
}

TEST_F(BloomCommandsTest, InsertMakesWhatItSays) {
  EXPECT_EQ(Reply({"BF.INSERT", "f", "CAPACITY", "1000", "ERROR", "0.001", "EXPANSION", "3", "TYPE", "classic", "SEED",
                   "9", "TIGHTENING", "0.7", "ITEMS", "ITEMS", "ITEMS", "CAPACITY"}),
            "*3\r\n:1\r\n:0\r\n:1\r\n")
      << "what is behind ITEMS is items, whatever it reads";
  const core::FilterParams& params = registry.Find("f")->params();
  EXPECT_EQ(params.capacity, 1000u);
  EXPECT_EQ(params.error_rate, 0.001);
  EXPECT_EQ(params.expansion, 3u);
  EXPECT_EQ(params.type, core::kClassicType);
  EXPECT_EQ(params.seed, 9u);
  EXPECT_EQ(params.tightening_ratio, 0.7);
}

TEST_F(BloomCommandsTest, InsertSharesTheRateByWhatIsStated) {
  Reply({"BF.INSERT", "stated", "CAPACITY", "1000", "ITEMS", "x"});
  Reply({"BF.INSERT", "growing", "ERROR", "0.001", "ITEMS", "x"});
  Reply({"BF.ADD", "added", "x"});
  EXPECT_EQ(registry.Find("stated")->params().first_share, core::kReservedFirstShare);
  EXPECT_DOUBLE_EQ(registry.Find("growing")->params().first_share, 1 - core::kDefaultTighteningRatio);
  EXPECT_DOUBLE_EQ(registry.Find("added")->params().first_share, 1 - core::kDefaultTighteningRatio);
  EXPECT_EQ(registry.Find("growing")->params().error_rate, 0.001);
}

TEST_F(BloomCommandsTest, InsertIgnoresOptionsOfAFilterThatIsThere) {
  Reply({"BF.RESERVE", "f", "0.01", "100"});
  EXPECT_EQ(Reply({"BF.INSERT", "f", "CAPACITY", "5", "NOCREATE", "NONSCALING", "ITEMS", "x"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "CAPACITY"}), "*1\r\n:100\r\n");
}

TEST_F(BloomCommandsTest, AutoCreatedFiltersFollowTheDefaults) {
  settings.default_type = core::kClassicType;
  settings.default_error_rate = 0.001;
  settings.default_capacity = 1234;
  settings.default_expansion = 7;
  Reply({"BF.MADD", "f", "x"});
  const core::FilterParams& params = registry.Find("f")->params();
  EXPECT_EQ(params.type, core::kClassicType);
  EXPECT_EQ(params.error_rate, 0.001);
  EXPECT_EQ(params.capacity, 1234u);
  EXPECT_EQ(params.expansion, 7u);
}

TEST_F(BloomCommandsTest, InfoIsRedisBloomsFieldsAndWithFullAllOfOurs) {
  Reply({"BF.RESERVE", "f", "0.01", "100", "SEED", "18446744073709551615", "NONSCALING"});
  Reply({"BF.ADD", "f", "x"});
  const core::FilterInfo info = registry.Find("f")->Info();
  const std::string five = "+Capacity\r\n:100\r\n+Size\r\n:" + std::to_string(info.size_bytes) +
                           "\r\n+Number of filters\r\n:1\r\n+Number of items inserted\r\n:1\r\n+Expansion rate\r\n";
  EXPECT_EQ(Reply({"BF.INFO", "f"}), "*10\r\n" + five + "$-1\r\n");
  EXPECT_THAT(Reply({"BF.INFO", "f", "full"}),
              StartsWith("*38\r\n" + five + "$-1\r\n+Type\r\n$7\r\nblocked\r\n+Error rate\r\n$4\r\n0.01\r\n"));
  EXPECT_THAT(Reply({"BF.INFO", "f", "FULL"}), HasSubstr("+Seed\r\n$20\r\n18446744073709551615\r\n"));
  EXPECT_THAT(Reply({"BF.INFO", "f", "FULL"}), HasSubstr("+Tightening ratio\r\n$3\r\n0.8\r\n"));
  UseResp3();
  EXPECT_EQ(Reply({"BF.INFO", "f"}), "%5\r\n" + five + "_\r\n");
  const std::string all = Reply({"BF.INFO", "f", "FULL"});
  EXPECT_THAT(all, StartsWith("%19\r\n" + five + "_\r\n+Type\r\n$7\r\nblocked\r\n+Error rate\r\n,0.01\r\n"));
  EXPECT_THAT(all, HasSubstr("+Hash functions\r\n:" + std::to_string(info.hash_functions) + "\r\n"));
}

TEST_F(BloomCommandsTest, InfoTellsOneField) {
  Reply({"BF.RESERVE", "f", "0.01", "100", "SEED", "42"});
  EXPECT_EQ(Reply({"BF.INFO", "f", "capacity"}), "*1\r\n:100\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "ITEMS"}), "*1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "FILTERS"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "SEED"}), "*1\r\n$2\r\n42\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "FILL"}), "*1\r\n$1\r\n0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "Capacity of it"}), "-Invalid information value\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "SIZE", "ITEMS"}), test::ArityReply("bf.info"));
  UseResp3();
  EXPECT_EQ(Reply({"BF.INFO", "f", "EXPANSION"}), "%1\r\n+Expansion rate\r\n:2\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "TYPE"}), "%1\r\n+Type\r\n$7\r\nblocked\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "ERROR"}), "%1\r\n+Error rate\r\n,0.01\r\n");
}

TEST_F(BloomCommandsTest, ClearEmptiesAndKeepsTheParameters) {
  Reply({"BF.RESERVE", "f", "0.001", "500", "SEED", "42", "EXPANSION", "3"});
  Reply({"BF.MADD", "f", "a", "b"});
  const FilterPtr old = registry.Find("f");
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), kOk);
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "a", "b"}), "*2\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":0\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "SEED"}), "*1\r\n$2\r\n42\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "CAPACITY"}), "*1\r\n:500\r\n");
  EXPECT_EQ(old->ItemCount(), 2u) << "who still holds the old one sees no half of it";
}

TEST_F(BloomCommandsTest, MemoryLimitRefusesWithAnError) {
  constexpr const char* kOom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
  Reply({"BF.RESERVE", "small", "0.01", "1000", "EXPANSION", "1000"});
  budget.set_limit_bytes(budget.used_bytes() + 1000);
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "1000000"}), kOom);
  EXPECT_EQ(Reply({"BF.INSERT", "f", "CAPACITY", "1000000", "ITEMS", "x"}), kOom);
  EXPECT_EQ(Reply({"BF.CLEAR", "small"}), kOom);
  budget.set_limit_bytes(1);
  EXPECT_EQ(Reply({"BF.ADD", "f", "x"}), kOom);
  EXPECT_EQ(Reply({"BF.MADD", "f", "x"}), kOom);
  EXPECT_EQ(registry.Size(), 1u);
  Words add{"BF.MADD", "small"};
  for (int i = 0; i < 1100; ++i) add.push_back("item" + std::to_string(i));
  const std::string reply = Reply(add);
  EXPECT_THAT(reply, StartsWith("*1100\r\n:1\r\n")) << "growth that fails is an error of its item, not of the command";
  EXPECT_THAT(reply, HasSubstr(kOom));
  EXPECT_EQ(Reply({"BF.ADD", "small", "item0"}), ":0\r\n");
}

TEST_F(BloomCommandsTest, LongNamesTakeMemoryToo) {
  budget.set_limit_bytes(1'000'000);
  settings.max_name_bytes = 2'000'000;
  EXPECT_EQ(Reply({"BF.ADD", std::string(1'000'001, 'n'), "x"}),
            "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST_F(BloomCommandsTest, LargestReservationsAreRefusedNotTried) {
  budget.set_limit_bytes(100'000'000);
  EXPECT_THAT(Reply({"BF.RESERVE", "f", "0.000000001", "1073741824"}), StartsWith("-OOM"));
}

// Many connections add to a name that is not there: one filter comes to be, and every item is in it.
TEST(BloomCommandsRaceTest, OneFilterComesToBe) {
  CommandFixture first;
  constexpr int kThreads = 4, kRounds = 200;
  std::atomic<int> added{0};
  std::vector<std::thread> threads;
  std::deque<LoopStats> loop_stats(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Dispatcher dispatcher({{.settings = &first.settings},
                             &AllCommands(),
                             &first.registry,
                             &core::SystemClock(),
                             &first.control,
                             &first.clients,
                             &first.stats,
                             &loop_stats[t]});
      Session session(std::make_shared<ClientRecord>(100 + t, "", "", 0));
      for (int round = 0; round < kRounds; ++round) {
        const std::vector<Words> commands{{"BF.ADD", "f" + std::to_string(round), "item"}};
        std::string out;
        protocol::ReplyWriter reply(out);
        dispatcher.Execute(session, test::BatchOf(commands), 0, reply);
        if (out == ":1\r\n") ++added;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(added, kRounds);
  EXPECT_EQ(first.registry.Size(), static_cast<uint64_t>(kRounds));
}

}  // namespace
}  // namespace bitsieve::server
