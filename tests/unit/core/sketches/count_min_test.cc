#include "core/sketches/count_min.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace bitsieve::core {
namespace {

// A sketch of RedisBloom's, of 3 rows of 64 counters, and what CMS.QUERY answered for some items.
constexpr std::array<uint32_t, 192> kCells{
    790, 355, 573, 131,  690,  180,  421,  85,   83,   399, 94,  87,   360,  597,  71,  310,  63,  1007, 193,  91,
    406, 110, 816, 358,  1242, 740,  248,  1141, 7,    658, 427, 899,  687,  188,  500, 757,  822, 34,   348,  493,
    391, 854, 135, 528,  603,  308,  681,  640,  579,  374, 446, 871,  202,  215,  791, 59,   338, 859,  80,   158,
    232, 2,   14,  353,  189,  479,  402,  430,  208,  270, 118, 495,  88,   41,   64,  966,  272, 583,  310,  20,
    4,   617, 665, 1019, 946,  948,  139,  746,  640,  0,   549, 492,  1052, 45,   608, 419,  16,  2,    710,  1393,
    186, 3,   686, 867,  223,  34,   472,  46,   89,   45,  275, 1149, 188,  303,  235, 447,  78,  892,  1346, 725,
    135, 287, 336, 844,  14,   475,  511,  338,  539,  254, 704, 918,  855,  206,  95,  1144, 347, 997,  401,  647,
    535, 269, 557, 535,  6,    248,  67,   144,  150,  627, 406, 1801, 10,   1040, 12,  61,   198, 729,  0,    302,
    624, 893, 111, 9,    331,  835,  39,   30,   12,   42,  410, 43,   164,  98,   735, 873,  0,   582,  397,  100,
    489, 77,  726, 11,   95,   1129, 1027, 320,  1246, 255, 236, 431,
};
struct Answer {
  const char* item;
  uint32_t count;
};
constexpr std::array kAnswers{
    Answer{"w339563", 835}, Answer{"w993908", 573}, Answer{"w158176", 681}, Answer{"w414002", 918},
    Answer{"w682554", 859}, Answer{"w50631", 603},  Answer{"w75954", 686},  Answer{"w861168", 627},
    Answer{"w561913", 757}, Answer{"w98702", 647},  Answer{"w383452", 740}, Answer{"w611097", 640},
    Answer{"w60816", 790},  Answer{"w953893", 472}, Answer{"w532084", 430}, Answer{"w225127", 528},
    Answer{"w39317", 549},  Answer{"w90122", 493},  Answer{"w454710", 579}, Answer{"w438485", 690},
    Answer{"w73248", 406},  Answer{"w252353", 374}, Answer{"w95119", 310},  Answer{"w577814", 427},
};

std::span<const std::byte> Bytes(std::span<const uint32_t> cells) { return std::as_bytes(cells); }

class CountMinTest : public testing::Test {
 protected:
  CountMin Make(uint64_t width, uint64_t depth) { return CountMin::Make({width, depth}, budget_).value(); }
  CountMin RedisBlooms() { return CountMin::FromBytes({64, 3}, 27174, Bytes(kCells), budget_).value(); }
  static std::vector<uint32_t> CellsOf(const CountMin& sketch) {
    std::vector<uint32_t> cells(sketch.cells().size() / sizeof(uint32_t));
    std::memcpy(cells.data(), sketch.cells().data(), sketch.cells().size());
    return cells;
  }

  MemoryBudget budget_;
};

TEST_F(CountMinTest, AnswersAsRedisBloom) {
  const CountMin sketch = RedisBlooms();
  for (const Answer& answer : kAnswers) EXPECT_EQ(sketch.Count(answer.item), answer.count) << answer.item;
  EXPECT_EQ(sketch.total(), 27174U);
  EXPECT_EQ(CellsOf(sketch), std::vector<uint32_t>(kCells.begin(), kCells.end()));
}

TEST_F(CountMinTest, CountsAreNeverTooLowAndRarelyMuchTooHigh) {
  const CountMinShape shape = ShapeForError(0.001, 0.01).value();
  CountMin sketch = Make(shape.width, shape.depth);
  std::map<std::string, uint64_t> truth;
  std::mt19937_64 random(1);
  for (int i = 0; i < 50'000; ++i) {
    const std::string item = std::to_string(random() % (1 + random() % 10'000));
    const uint64_t more = random() % 5;
    truth[item] += more;
    EXPECT_GE(sketch.Increase(item, more), truth[item]);
  }
  size_t far = 0;
  for (const auto& [item, count] : truth) {
    ASSERT_GE(sketch.Count(item), count);
    far += static_cast<double>(sketch.Count(item) - count) > 0.001 * static_cast<double>(sketch.total());
  }
  EXPECT_LE(far, truth.size() / 100);
}

TEST_F(CountMinTest, AFullCounterStaysFull) {
  CountMin sketch = Make(10, 2);
  EXPECT_EQ(sketch.Increase("a", CountMin::kFull - 1), CountMin::kFull - 1);
  EXPECT_EQ(sketch.Increase("a", 0), CountMin::kFull - 1);
  EXPECT_EQ(sketch.Increase("a", 1), CountMin::kFull);
  EXPECT_EQ(sketch.Increase("a", 5), CountMin::kFull);
  EXPECT_EQ(sketch.Increase("b", uint64_t{1} << 40), CountMin::kFull) << "more than a counter can hold";
  EXPECT_EQ(sketch.total(), uint64_t{CountMin::kFull} + 5 + (uint64_t{1} << 40));
  sketch.Increase("c", UINT64_MAX);
  EXPECT_EQ(sketch.total(), uint64_t{CountMin::kFull} + 4 + (uint64_t{1} << 40)) << "modulo 2^64";
}

TEST_F(CountMinTest, ItemsAreAnyBytes) {
  CountMin sketch = Make(1000, 5);
  const std::string with_nul("a\0b", 3);
  sketch.Increase(with_nul, 3);
  sketch.Increase("", 2);
  EXPECT_EQ(sketch.Count(with_nul), 3U);
  EXPECT_EQ(sketch.Count("a"), 0U);
  EXPECT_EQ(sketch.Count(""), 2U);
}

TEST_F(CountMinTest, ManyRowsAreAllUsed) {
  CountMin sketch = Make(7, 40);
  sketch.Increase("a", 2);
  uint64_t sum = 0;
  for (const uint32_t cell : CellsOf(sketch)) sum += cell;
  EXPECT_EQ(sum, 80U);
}

TEST_F(CountMinTest, MergesAreWeightedSums) {
  CountMin sum = Make(64, 3);
  sum.Increase("what was there is overwritten", 5);
  const CountMin sketch = RedisBlooms();
  CountMin other = Make(64, 3);
  other.Increase("a", 100);
  ASSERT_TRUE(sum.Merge(std::array{CountMin::Weighted{&sketch, 3}, CountMin::Weighted{&other, 2}}));
  EXPECT_EQ(sum.total(), 3 * sketch.total() + 200);
  const std::vector<uint32_t> cells = CellsOf(sum), of_other = CellsOf(other);
  for (size_t i = 0; i < cells.size(); ++i) ASSERT_EQ(cells[i], 3 * kCells[i] + 2 * of_other[i]);
  ASSERT_TRUE(sum.Merge(std::array{CountMin::Weighted{&sum, 1}, CountMin::Weighted{&other, -2}}));
  for (size_t i = 0; i < cells.size(); ++i) ASSERT_EQ(CellsOf(sum)[i], 3 * kCells[i]);
}

TEST_F(CountMinTest, AMergeThatPassesItsLimitsChangesNothing) {
  CountMin large = Make(4, 1), small = Make(4, 1), target = Make(4, 1);
  large.Increase("a", CountMin::kFull);
  small.Increase("a", 1);
  target.Increase("b", 7);
  const auto refused = [&](std::initializer_list<CountMin::Weighted> sources) {
    const std::vector<uint32_t> before = CellsOf(target);
    const bool merged = target.Merge({sources.begin(), sources.size()});
    EXPECT_EQ(CellsOf(target), before);
    EXPECT_EQ(target.total(), 7U);
    return !merged;
  };
  EXPECT_TRUE(refused({{&large, 1}, {&small, 1}})) << "above what a counter holds";
  EXPECT_TRUE(refused({{&small, -1}})) << "below 0";
  EXPECT_TRUE(refused({{&large, INT64_MAX}})) << "a product beyond 64 bits";
  EXPECT_TRUE(refused({{&small, INT64_MAX}, {&small, 1}})) << "a sum beyond 64 bits";
  EXPECT_TRUE(target.Merge(std::array{CountMin::Weighted{&large, 1}, CountMin::Weighted{&small, -1}}));
  EXPECT_EQ(target.Count("a"), CountMin::kFull - 1);
  EXPECT_TRUE(target.Merge(std::array{CountMin::Weighted{&small, -3}, CountMin::Weighted{&small, 4}}))
      << "a sum may be negative in between";
}

// The reference values are those of RedisBloom.
TEST_F(CountMinTest, ShapesFollowFromErrorAndProbability) {
  EXPECT_EQ(ShapeForError(0.001, 0.01), (CountMinShape{2000, 7}));
  EXPECT_EQ(ShapeForError(0.5, 0.25), (CountMinShape{4, 2}));
  EXPECT_EQ(ShapeForError(0.01, 0.999999999), (CountMinShape{200, 0})) << "which narrows to 1";
  EXPECT_EQ(ShapeForError(1e-300, 0.1), std::nullopt);
}

TEST_F(CountMinTest, ImpossibleShapesAndBytesAreRefused) {
  const auto code = [](const Result<CountMin>& made) { return made ? std::nullopt : std::optional(made.error().code); };
  EXPECT_EQ(code(CountMin::Make({0, 1}, budget_)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(CountMin::Make({1, 0}, budget_)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(CountMin::Make({UINT64_MAX, 2}, budget_)), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code(CountMin::Make({uint64_t{1} << 33, uint64_t{1} << 33}, budget_)), ErrorCode::kInvalidArgument);
  const std::vector<uint32_t> cells(12);
  for (const CountMinShape shape : {CountMinShape{4, 0}, {0, 4}, {5, 2}, {3, 5}, {12, 2}, {UINT64_MAX / 2, 2}}) {
    EXPECT_EQ(code(CountMin::FromBytes(shape, 0, Bytes(cells), budget_)), ErrorCode::kCorrupt);
  }
  EXPECT_EQ(code(CountMin::FromBytes({4, 3}, 0, Bytes(cells), budget_)), std::nullopt);
  EXPECT_EQ(code(CountMin::FromBytes({4, 3}, 0, Bytes(cells).first(47), budget_)), ErrorCode::kCorrupt);
  EXPECT_EQ(budget_.used_bytes(), 0U);
  MemoryBudget small(100);
  EXPECT_EQ(code(CountMin::Make({100, 2}, small)), ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace bitsieve::core
