#include "core/sketches/t_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace bitsieve::core {
namespace {

// Digests of RedisBloom's, of which M is the union of A and B, and what it answered.
const TDigest::State kA{
    .compression = 100.0,
    .min = -0x1.b27a3ca5013cfp+1,
    .max = 0x1.beb90a2a37b2cp+1,
    .nodes =
        {
            {-0x1.b27a3ca5013cfp+1, 1},   {-0x1.9217d006b1e56p+1, 1},   {-0x1.88fed8f42a6efp+1, 1},
            {-0x1.84c53bd65ebbep+1, 1},   {-0x1.809255fc4015cp+1, 2},   {-0x1.7840610696479p+1, 2},
            {-0x1.6b34073c7fb83p+1, 3},   {-0x1.5af0dfa7ac346p+1, 5},   {-0x1.4fc268fac21ecp+1, 7},
            {-0x1.3b917a6dc516cp+1, 9},   {-0x1.22a6e0efd9827p+1, 14},  {-0x1.0dedb7ebdf0b2p+1, 17},
            {-0x1.fc9b2333b0de2p+0, 18},  {-0x1.d9b68c341fa76p+0, 31},  {-0x1.aefa464286109p+0, 50},
            {-0x1.86e245f67aadbp+0, 64},  {-0x1.53ca72cf57c87p+0, 85},  {-0x1.22292bdad5eb9p+0, 140},
            {-0x1.d7ccd75caa85fp-1, 185}, {-0x1.67a52723c60eap-1, 216}, {-0x1.d5dafeb637ca4p-2, 257},
            {-0x1.a86c14fc1cb8fp-3, 309}, {0x1.5143410fe06fbp-5, 312},  {0x1.242fed7e924d7p-2, 300},
            {0x1.138116c7e21afp-1, 238},  {0x1.8e1221d49b759p-1, 197},  {0x1.fdd32c3a977bap-1, 140},
            {0x1.2c579482521dfp+0, 99},   {0x1.5fd9b612d2fcfp+0, 80},   {0x1.8a9a602b6b46ap+0, 59},
            {0x1.b3ec565003ff0p+0, 35},   {0x1.d31f1389b94bcp+0, 30},   {0x1.f18744949976ap+0, 24},
            {0x1.0577b914438d4p+1, 13},   {0x1.18545961466e0p+1, 17},   {0x1.2bab2bfb224c4p+1, 12},
            {0x1.3bd42d45c73aap+1, 7},    {0x1.4afbaf77f1e83p+1, 5},    {0x1.5fab5cb9f5404p+1, 4},
            {0x1.732c0673d090bp+1, 3},    {0x1.86063af724550p+1, 2},    {0x1.9ba2fe3d5c5a3p+1, 1},
            {0x1.9f2888b387980p+1, 1},    {0x1.a3d4a7978637fp+1, 1},    {0x1.a93096a384308p+1, 1},
            {0x1.beb90a2a37b2cp+1, 1},
        },
    .merged_nodes = 46,
    .merged_weight = 3000,
    .compressions = 6};
const TDigest::State kB{.compression = 100.0,
                        .min = 0x1.be33e60ce8900p-7,
                        .max = 0x1.3f578c109102ap+3,
                        .nodes =
                            {
                                {0x1.be33e60ce8900p-7, 1},  {0x1.ce8a02dd9ff80p-7, 1},  {0x1.eeeda49203c40p-6, 1},
                                {0x1.372952829fc50p-4, 1},  {0x1.5ffa53f717ce0p-4, 1},  {0x1.add779a462b20p-4, 1},
                                {0x1.0d609feeaf850p-3, 2},  {0x1.3a587291c3ef0p-3, 3},  {0x1.a0cc672c25fe2p-3, 4},
                                {0x1.1114aecec92f8p-2, 5},  {0x1.7ab3876764354p-2, 7},  {0x1.2fa985e231dfep-1, 9},
                                {0x1.90f2078eb470ep-1, 13}, {0x1.12a9508a1ab8cp+0, 17}, {0x1.6e7dfb41fe978p+0, 22},
                                {0x1.eb8ad3d05c90fp+0, 28}, {0x1.3b6ce8cd398dfp+1, 34}, {0x1.97459fa8ef4a9p+1, 40},
                                {0x1.0985ba486f25ep+2, 45}, {0x1.4337ee0b3659cp+2, 47}, {0x1.805000de56d13p+2, 44},
                                {0x1.b15f07e1f14d4p+2, 38}, {0x1.df5b16a056c6cp+2, 32}, {0x1.00fb9ba73ff4dp+3, 25},
                                {0x1.1440719b75463p+3, 20}, {0x1.214874daf0aa7p+3, 15}, {0x1.298016ccbee52p+3, 11},
                                {0x1.2f5ecf7ae31efp+3, 8},  {0x1.32f426222d77cp+3, 6},  {0x1.35d33299c4771p+3, 5},
                                {0x1.3741a910bdaa1p+3, 3},  {0x1.3914f49477d86p+3, 3},  {0x1.3b3bc9d7aa1d1p+3, 2},
                                {0x1.3c90d42340d91p+3, 1},  {0x1.3dfff37d1a289p+3, 1},  {0x1.3e2f696af25bfp+3, 1},
                                {0x1.3e7bb3ec1c4ccp+3, 1},  {0x1.3ea39f13fb676p+3, 1},  {0x1.3f578c109102ap+3, 1},
                            },
                        .merged_nodes = 39,
                        .merged_weight = 500,
                        .compressions = 1};
const TDigest::State kM{
    .compression = 100.0,
    .min = -0x1.b27a3ca5013cfp+1,
    .max = 0x1.3f578c109102ap+3,
    .nodes =
        {
            {-0x1.b27a3ca5013cfp+1, 1},   {-0x1.9217d006b1e56p+1, 1},   {-0x1.88fed8f42a6efp+1, 1},
            {-0x1.84c53bd65ebbep+1, 1},   {-0x1.809255fc4015cp+1, 2},   {-0x1.7840610696479p+1, 2},
            {-0x1.6b34073c7fb83p+1, 3},   {-0x1.5af0dfa7ac346p+1, 5},   {-0x1.4fc268fac21ecp+1, 7},
            {-0x1.3b917a6dc516cp+1, 9},   {-0x1.22a6e0efd9827p+1, 14},  {-0x1.0dedb7ebdf0b2p+1, 17},
            {-0x1.fc9b2333b0de2p+0, 18},  {-0x1.d9b68c341fa76p+0, 31},  {-0x1.aefa464286109p+0, 50},
            {-0x1.86e245f67aadbp+0, 64},  {-0x1.53ca72cf57c87p+0, 85},  {-0x1.22292bdad5eb9p+0, 140},
            {-0x1.d7ccd75caa85fp-1, 185}, {-0x1.67a52723c60eap-1, 216}, {-0x1.d5dafeb637ca4p-2, 257},
            {-0x1.a3f5fc843fcd4p-3, 312}, {0x1.8df784ce28a15p-5, 329},  {0x1.2628ec0020adap-2, 307},
            {0x1.1487be960e782p-1, 247},  {0x1.8e3fb00d3b7b6p-1, 210},  {0x1.11cadadf96f3ap+0, 256},
            {0x1.7d60542fac843p+0, 196},  {0x1.0e07548cf6910p+1, 165},  {0x1.c67037c6bad38p+1, 104},
            {0x1.4337ee0b3659cp+2, 47},   {0x1.805000de56d13p+2, 44},   {0x1.b15f07e1f14d4p+2, 38},
            {0x1.df5b16a056c6cp+2, 32},   {0x1.00fb9ba73ff4dp+3, 25},   {0x1.1440719b75463p+3, 20},
            {0x1.214874daf0aa7p+3, 15},   {0x1.298016ccbee52p+3, 11},   {0x1.2f5ecf7ae31efp+3, 8},
            {0x1.32f426222d77cp+3, 6},    {0x1.35d33299c4771p+3, 5},    {0x1.3741a910bdaa1p+3, 3},
            {0x1.3914f49477d86p+3, 3},    {0x1.3b3bc9d7aa1d1p+3, 2},    {0x1.3d4863d02d80dp+3, 2},
            {0x1.3e2f696af25bfp+3, 1},    {0x1.3e7bb3ec1c4ccp+3, 1},    {0x1.3ea39f13fb676p+3, 1},
            {0x1.3f578c109102ap+3, 1},
        },
    .merged_nodes = 49,
    .merged_weight = 3500,
    .compressions = 2};
struct Estimate {
  const char* command;
  double argument;
  std::array<double, 3> answers;  // of A, B and M
};
constexpr std::array kEstimates{
    Estimate{"QUANTILE", 0, {-3.3943553739249874, 0.013617026643093499, -3.3943553739249874}},
    Estimate{"QUANTILE", 0.1, {-1.2730250681938755, 0.92799628729196326, -1.1868618929525496}},
    Estimate{"QUANTILE", 0.5, {-0.018031942913601971, 4.8837068705323921, 0.17205091890504626}},
    Estimate{"QUANTILE", 0.9, {1.2754996334005231, 9.0697245243836022, 3.1968190957749085}},
    Estimate{"QUANTILE", 1, {3.4900219637051091, 9.9794369052470593, 9.9794369052470593}},
    Estimate{"CDF", -1, {0.16110159681960631, 0, 0.13808708298823397}},
    Estimate{"CDF", 0, {0.50751309284750745, 0, 0.43546115492777476}},
    Estimate{"CDF", 0.5, {0.70281913263820117, 0.056328800619495085, 0.61044829127488398}},
    Estimate{"CDF", 3, {0.99773370548695473, 0.3212499677301151, 0.89475014099113526}},
    Estimate{"MIN", 0, {-3.3943553739249874, 0.013617026643093499, -3.3943553739249874}},
    Estimate{"MAX", 0, {3.4900219637051091, 9.9794369052470593, 9.9794369052470593}},
    Estimate{"RANK", 0, {1523, -1, 1524}},
    Estimate{"RANK", 1, {2538, 54, 2586}},
    Estimate{"REVRANK", 0, {1477, 500, 1976}},
    Estimate{"REVRANK", 1, {462, 446, 914}},
    Estimate{"BYRANK", 0, {-3.3943553739249874, 0.013617026643093499, -3.3943553739249874}},
    Estimate{"BYRANK", 10, {-2.8216441021746146, 0.16063556350643132, -2.8216441021746146}},
    Estimate{"BYREVRANK", 0, {3.4900219637051091, 9.9794369052470593, 9.9794369052470593}},
    Estimate{"BYREVRANK", 10, {2.7909496262549469, 9.7552866090173112, 9.7552866090173112}},
    Estimate{"TRIMMED_MEAN", 0.1, {-0.019543204118652142, 4.8838337472297146, 0.2727379568936103}},
};

double AnswerOf(TDigest& digest, const std::string& command, double argument) {
  if (command == "QUANTILE") return digest.Quantile(argument);
  if (command == "CDF") return digest.Cdf(argument);
  if (command == "MIN") return digest.Min();
  if (command == "MAX") return digest.Max();
  if (command == "RANK") return static_cast<double>(digest.Rank(argument));
  if (command == "REVRANK") return static_cast<double>(digest.ReverseRank(argument));
  if (command == "BYRANK") return digest.ByRank(static_cast<int64_t>(argument));
  if (command == "BYREVRANK") return digest.ByReverseRank(static_cast<int64_t>(argument));
  EXPECT_EQ(command, "TRIMMED_MEAN");
  return digest.TrimmedMean(argument, 0.9);
}

TDigest Loaded(const TDigest::State& state) { return TDigest::FromState(state).value(); }

TEST(TDigestTest, AnswersAsRedisBloomToTheLastDigit) {
  TDigest a = Loaded(kA), b = Loaded(kB), m = Loaded(kM);
  for (const Estimate& each : kEstimates) {
    EXPECT_EQ(AnswerOf(a, each.command, each.argument), each.answers[0]) << each.command << ' ' << each.argument;
    EXPECT_EQ(AnswerOf(b, each.command, each.argument), each.answers[1]) << each.command << ' ' << each.argument;
    EXPECT_EQ(AnswerOf(m, each.command, each.argument), each.answers[2]) << each.command << ' ' << each.argument;
  }
  EXPECT_EQ(a.state(), kA);
}

TEST(TDigestTest, MergesAsRedisBloomToTheLastDigit) {
  TDigest merged = TDigest::Make(100).value();
  TDigest a = Loaded(kA), b = Loaded(kB);
  ASSERT_TRUE(merged.MergeFrom(a));
  ASSERT_TRUE(merged.MergeFrom(b));
  merged.Compress();
  EXPECT_EQ(merged.state(), kM);
}

TEST(TDigestTest, EstimatesAreCloseToTheTruth) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> law;
  TDigest digest = TDigest::Make(100).value();
  std::vector<double> values;
  for (int i = 0; i < 50'000; ++i) {
    values.push_back(law(random));
    ASSERT_TRUE(digest.Add(values.back()));
  }
  std::ranges::sort(values);
  EXPECT_EQ(digest.Min(), values.front());
  EXPECT_EQ(digest.Max(), values.back());
  EXPECT_EQ(digest.observations(), values.size());
  const auto count = static_cast<double>(values.size());
  for (const double q : {0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0}) {
    const auto below = std::ranges::lower_bound(values, digest.Quantile(q)) - values.begin();
    EXPECT_NEAR(static_cast<double>(below) / count, q, 0.001 + 0.05 * q * (1 - q)) << q;
    EXPECT_NEAR(digest.Cdf(digest.Quantile(q)), q, 0.001 + 0.05 * q * (1 - q)) << q;
  }
  EXPECT_NEAR(static_cast<double>(digest.Rank(values[10'000])), 10'000, 250);
  EXPECT_NEAR(static_cast<double>(digest.ReverseRank(values[10'000])), 40'000, 250);
  EXPECT_LE(digest.state().nodes.size(), digest.capacity());
}

TEST(TDigestTest, CompressingLosesNoWeight) {
  std::mt19937_64 random(2);
  for (const double compression : {1.0, 2.0, 20.0, 500.0}) {
    TDigest digest = TDigest::Make(compression).value();
    int64_t added = 0;
    for (int i = 0; i < 5000; ++i) {
      const auto weight = static_cast<int64_t>(1 + random() % 3);
      ASSERT_TRUE(digest.Add(static_cast<double>(random() % 100), weight));
      added += weight;
    }
    digest.Compress();
    int64_t sum = 0;
    for (const TDigest::Node& node : digest.state().nodes) sum += node.weight;
    EXPECT_EQ(sum, added);
    EXPECT_EQ(digest.state().merged_weight, added);
    EXPECT_TRUE(std::ranges::is_sorted(digest.state().nodes, {}, &TDigest::Node::mean));
  }
}

TEST(TDigestTest, NoneAndOneAndReset) {
  TDigest digest = TDigest::Make(100).value();
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(std::isnan(digest.Quantile(0.5)) && std::isnan(digest.Min()) && std::isnan(digest.TrimmedMean(0, 1)));
    EXPECT_TRUE(std::isnan(digest.Cdf(0)) && std::isnan(digest.ByRank(0)) && std::isnan(digest.ByReverseRank(3)));
    EXPECT_EQ(digest.Rank(1), -2);
    EXPECT_EQ(digest.ReverseRank(1), -2);
    digest.Add(7);
    EXPECT_EQ(digest.Quantile(0), 7);
    EXPECT_EQ(digest.Cdf(7), 0.5);
    EXPECT_EQ(digest.TrimmedMean(0.1, 0.9), 7);
    EXPECT_EQ(digest.Rank(6), -1);
    EXPECT_EQ(digest.Rank(8), 1);
    EXPECT_EQ(digest.ReverseRank(6), 1);
    EXPECT_EQ(digest.ReverseRank(8), -1);
    EXPECT_EQ(digest.ByRank(0), 7);
    EXPECT_EQ(digest.ByRank(1), INFINITY);
    EXPECT_EQ(digest.ByReverseRank(1), -INFINITY);
    digest.Reset();
    EXPECT_EQ(digest.state(), TDigest::State{});
  }
}

TEST(TDigestTest, SortsLikeAnyOther) {
  std::mt19937_64 random(3);
  for (const size_t size : {1, 2, 16, 17, 18, 100, 1000}) {
    for (const uint64_t different : {1, 2, 7, 100'000}) {
      for (const unsigned depth : {0U, 1U, 100U}) {
        std::vector<TDigest::Node> nodes(size);
        for (TDigest::Node& node : nodes) node = {static_cast<double>(random() % different), 1};
        std::vector<double> expected;
        for (const TDigest::Node& node : nodes) expected.push_back(node.mean);
        std::ranges::sort(expected);
        TDigest::Sort(nodes, 0, size - 1, depth);
        ASSERT_TRUE(std::ranges::equal(nodes, expected, {}, &TDigest::Node::mean)) << size << ' ' << different;
      }
    }
  }
}

TEST(TDigestTest, WeightsBeyond63BitsAreRefused) {
  TDigest digest = TDigest::Make(10).value();
  EXPECT_TRUE(digest.Add(1, INT64_MAX - 1));
  EXPECT_TRUE(digest.Add(2));
  EXPECT_FALSE(digest.Add(3));
  EXPECT_EQ(digest.observations(), uint64_t{INT64_MAX});
  TDigest other = TDigest::Make(10).value();
  other.Add(4);
  EXPECT_FALSE(digest.MergeFrom(other));
}

TEST(TDigestTest, StatesThatCannotBeAreRefused) {
  for (const double compression : {0.0, -1.0, 357'913'940.0, double{INFINITY}, std::nan("")}) {
    EXPECT_FALSE(TDigest::Make(compression));
  }
  const auto is_refused = [](const auto& change) {
    TDigest::State state = kB;
    change(state);
    const auto loaded = TDigest::FromState(state);
    return !loaded && loaded.error().code == ErrorCode::kCorrupt;
  };
  EXPECT_TRUE(is_refused([](TDigest::State& state) { state.compression = -5; }));
  EXPECT_TRUE(is_refused([](TDigest::State& state) { state.compression = 4; })) << "more nodes than there may be";
  EXPECT_TRUE(is_refused([](TDigest::State& state) { ++state.merged_nodes; }));
  EXPECT_TRUE(is_refused([](TDigest::State& state) { state.nodes[3].weight = -1; }));
  EXPECT_TRUE(is_refused([](TDigest::State& state) { state.merged_weight = -1; }));
  EXPECT_TRUE(is_refused([](TDigest::State& state) { state.merged_weight = state.unmerged_weight = INT64_MAX; }));
  EXPECT_FALSE(is_refused([](TDigest::State& state) { state.nodes[3].weight = 0; })) << "files hold such";
  EXPECT_FALSE(is_refused([](TDigest::State& state) { ++state.merged_weight; })) << "files hold such";
}

}  // namespace
}  // namespace bitsieve::core
