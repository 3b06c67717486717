#include "core/families/cuckoo/cuckoo_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::CommandFixture;
using test::Words;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

using test::kOk;

class CuckooKindTest : public testing::Test, protected CommandFixture {
 protected:
  void MakeCuckoo() { ASSERT_EQ(Reply({"BF.RESERVE", "f", "0.000001", "1000", "TYPE", "cuckoo", "SEED", "1"}), kOk); }
};

TEST_F(CuckooKindTest, EveryVerbWorks) {
  MakeCuckoo();
  EXPECT_EQ(Reply({"BF.MADD", "f", "x", "x", "y"}), "*3\r\n:1\r\n:0\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "f", "ITEMS", "z"}), "*1\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "x", "y", "none"}), "*3\r\n:1\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Reply({"BF.COUNT", "f", "x"}), ":2\r\n");
  EXPECT_EQ(Reply({"BF.CARD", "f"}), ":4\r\n");
  EXPECT_EQ(Reply({"BF.DEL", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.EXISTS", "f", "x"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.MDEL", "f", "x", "x", "y"}), "*3\r\n:1\r\n:0\r\n:1\r\n");
  EXPECT_EQ(Reply({"BF.MEXISTS", "f", "x", "y", "z"}), "*3\r\n:0\r\n:0\r\n:1\r\n");
  EXPECT_EQ(Reply({"COPY", "f", "g"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.CLEAR", "f"}), kOk);
  EXPECT_EQ(Replies({{"BF.EXISTS", "f", "z"}, {"BF.EXISTS", "g", "z"}}), ":0\r\n:1\r\n");
}

TEST_F(CuckooKindTest, PipelinesRunInOrder) {
  MakeCuckoo();
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"},
                     {"BF.DEL", "f", "x"},
                     {"BF.DEL", "f", "x"},
                     {"BF.EXISTS", "f", "x"},
                     {"BF.ADD", "f", "x"},
                     {"BF.COUNT", "f", "x"}}),
            ":1\r\n:1\r\n:0\r\n:0\r\n:1\r\n:1\r\n");
}

TEST_F(CuckooKindTest, OptionsAreReadAndTold) {
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "cuckoo", "BUCKETSIZE", "8", "MAXITERATIONS", "50"}), kOk);
  EXPECT_EQ(Reply({"BF.INFO", "f", "BUCKETSIZE"}), "*1\r\n:8\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "MAXITERATIONS"}), "*1\r\n:50\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "FINGERPRINTBITS"}), "*1\r\n:11\r\n");
  EXPECT_EQ(Reply({"BF.INFO", "f", "TYPE"}), "*1\r\n$6\r\ncuckoo\r\n");
  EXPECT_EQ(Reply({"BF.INSERT", "i", "TYPE", "cuckoo", "maxiterations", "7", "bucketsize", "2", "ITEMS", "x"}),
            "*1\r\n:1\r\n");
  EXPECT_EQ(core::BucketSizeOf(registry.Find("i")->params()), 2u);
  EXPECT_EQ(core::MaxIterationsOf(registry.Find("i")->params()), 7u);
  const std::string all = Reply({"BF.INFO", "f", "FULL"});
  EXPECT_THAT(all, StartsWith("*40\r\n"));
  EXPECT_THAT(all, EndsWith("+Bucket size\r\n:8\r\n+Max iterations\r\n:50\r\n+Fingerprint bits\r\n:11\r\n"));
  Reply({"BF.RESERVE", "b", "0.01", "100"});
  EXPECT_EQ(Reply({"BF.INFO", "b", "BUCKETSIZE"}), "-Invalid information value\r\n");
}

TEST_F(CuckooKindTest, OptionsOutOfRangeOrOfOtherKindsAreRefused) {
  const auto reserve = [&](std::initializer_list<const char*> options) {
    Words words{"BF.RESERVE", "f", "0.01", "100"};
    words.insert(words.end(), options.begin(), options.end());
    return Reply(words);
  };
  for (const char* size : {"1", "9", "0", "-4", "x"}) {
    EXPECT_EQ(reserve({"TYPE", "cuckoo", "BUCKETSIZE", size}),
              "-ERR bad bucket size: it must be in the range [2, 8]\r\n");
  }
  for (const char* iterations : {"0", "65536", "-1", "x"}) {
    EXPECT_EQ(reserve({"TYPE", "cuckoo", "MAXITERATIONS", iterations}),
              "-ERR bad max iterations: they must be in the range [1, 65535]\r\n");
  }
  EXPECT_EQ(reserve({"TYPE", "cuckoo", "BUCKETSIZE"}), "-ERR no bucket size\r\n");
  EXPECT_EQ(reserve({"TYPE", "cuckoo", "MAXITERATIONS"}), "-ERR no max iterations\r\n");
  EXPECT_THAT(reserve({"TYPE", "counting", "BUCKETSIZE", "4"}), HasSubstr("cuckoo"));
  EXPECT_THAT(reserve({"MAXITERATIONS", "4"}), HasSubstr("cuckoo"));
  EXPECT_EQ(registry.Find("f"), nullptr);
}

TEST_F(CuckooKindTest, IfNotExistsComparesTheOptions) {
  const auto reserve = [&](const char* size, const char* iterations) {
    return Reply({"BF.RESERVE", "f", "0.01", "100", "TYPE", "cuckoo", "BUCKETSIZE", size, "MAXITERATIONS", iterations,
                  "IFNOTEXISTS"});
  };
  EXPECT_EQ(reserve("4", "2000"), kOk);
  EXPECT_EQ(reserve("4", "2000"), kOk);
  EXPECT_EQ(reserve("2", "2000"), "-ERR item exists with a different bucket size: it has 4, not 2\r\n");
  EXPECT_EQ(reserve("4", "20"), "-ERR item exists with a different number of iterations: it has 2000, not 20\r\n");
}

TEST_F(CuckooKindTest, RatesTooSmallForItsFingerprintsAreRefused) {
  EXPECT_THAT(Reply({"BF.RESERVE", "f", "0.000000001", "100", "TYPE", "cuckoo", "NONSCALING"}),
              StartsWith("-ERR could not create filter: error rate is too small for fingerprints of 32 bits; the "
                         "smallest of a cuckoo filter such as this is 1.9e-09"));
  EXPECT_EQ(Reply({"BF.RESERVE", "f", "0.0000000019", "100", "TYPE", "cuckoo", "NONSCALING"}), kOk);
}

TEST_F(CuckooKindTest, AFullFilterSaysSo) {
  Reply({"BF.RESERVE", "f", "0.000001", "2", "TYPE", "cuckoo", "NONSCALING", "SEED", "1"});
  EXPECT_EQ(Reply({"BF.MADD", "f", "a", "b", "c"}), "*3\r\n:1\r\n:1\r\n-ERR non scaling filter is full\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "a"}), "-ERR non scaling filter is full\r\n") << "it would not be counted";
  EXPECT_EQ(Reply({"BF.DEL", "f", "a"}), ":1\r\n");
  EXPECT_EQ(Reply({"BF.ADD", "f", "c"}), ":1\r\n");
}

TEST_F(CuckooKindTest, DefaultTypeMayBeCuckoo) {
  settings.default_type = core::kCuckooType;
  EXPECT_EQ(Replies({{"BF.ADD", "f", "x"}, {"BF.DEL", "f", "x"}, {"BF.EXISTS", "f", "x"}}), ":1\r\n:1\r\n:0\r\n");
}

TEST_F(CuckooKindTest, UnitingIsRefused) {
  MakeCuckoo();
  EXPECT_EQ(Reply({"BF.MERGE", "g", "f"}),
            "-ERR cannot merge: a cuckoo filter cannot be merged; " + test::TypesThatCan(test::Merges) + "\r\n");
}

}  // namespace
}  // namespace bitsieve::server
