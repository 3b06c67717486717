#include "commands/bloom_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/handler_context.h"

namespace bitsieve::commands {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class BloomInfoTest : public testing::Test, protected test::CommandFixture {
 protected:
  std::string Info(const test::Words& words, bool resp3 = false) {
    test::HandlerContext call(*this, words);
    if (resp3) call.writer.set_version(protocol::ProtocolVersion::kResp3);
    BloomInfo(call.context);
    return call.reply();
  }
};

TEST_F(BloomInfoTest, ShowsFiveFieldsOfEveryTypeUnlessAskedForAll) {
  for (const std::string type : {"blocked", "classic", "cuckoo", "redisbloom", "ribbon"}) {
    ASSERT_EQ(Reply({"BF.RESERVE", type, "0.01", "100", "TYPE", type}), test::kOk);
    const std::string info = Info({"bf.info", type}, true);
    EXPECT_THAT(info, StartsWith("%5\r\n+Capacity\r\n")) << type;
    EXPECT_THAT(info, Not(HasSubstr("+Type\r\n"))) << type;
    EXPECT_THAT(Info({"bf.info", type, "full"}), HasSubstr("+Type\r\n$" + std::to_string(type.size()))) << type;
  }
}

TEST_F(BloomInfoTest, OneFieldIsAnArrayOrAMapByProtocol) {
  Reply({"BF.RESERVE", "f", "0.01", "123"});
  EXPECT_EQ(Info({"bf.info", "f", "capacity"}), "*1\r\n:123\r\n");
  EXPECT_EQ(Info({"bf.info", "f", "CAPACITY"}, true), "%1\r\n+Capacity\r\n:123\r\n");
}

TEST_F(BloomInfoTest, AFieldOfAnotherTypeIsUnknown) {
  Reply({"BF.RESERVE", "b", "0.01", "100"});
  Reply({"BF.RESERVE", "c", "0.01", "100", "TYPE", "cuckoo", "BUCKETSIZE", "2"});
  EXPECT_EQ(Info({"bf.info", "c", "BUCKETSIZE"}), "*1\r\n:2\r\n");
  EXPECT_EQ(Info({"bf.info", "b", "BUCKETSIZE"}), "-Invalid information value\r\n");
  EXPECT_EQ(Info({"bf.info", "none"}), "-ERR not found\r\n");
}

}  // namespace
}  // namespace bitsieve::commands
