#include "server/net/stranger_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "core/base/clock.h"
#include "tests/support/captured_log.h"

namespace bitsieve::server {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr int64_t kMinuteMs = 60'000;

class StrangerLogTest : public ::testing::Test {
 protected:
  // A moment at which a warning is due, whatever other tests of this process have caused.
  static int64_t LaterMs() {
    static int64_t last_ms = core::SystemClock().MonotonicMs();
    return last_ms += 1'000 * kMinuteMs;
  }

  test::CapturedLog log_;
  const ClientRecord client_{7, "10.0.0.1:99", "10.0.0.2:7379", 0};
};

TEST_F(StrangerLogTest, FailedHandshakesAreAWarningOnceAMinute) {
  const int64_t now_ms = LaterMs();
  LogFailedHandshake(client_, "no shared cipher", now_ms);
  EXPECT_THAT(log_.TakeLines(), ElementsAre(AllOf(StartsWith("warning "), HasSubstr("id=7 addr=10.0.0.1:99"),
                                                  HasSubstr("no shared cipher"), HasSubstr("for a minute"))));
  for (int i = 0; i < 10; ++i) LogFailedHandshake(client_, "again", now_ms + kMinuteMs - 1);
  EXPECT_THAT(log_.TakeLines(), Each(AllOf(StartsWith("debug "), HasSubstr("again"))));
  LogFailedHandshake(client_, "another", now_ms + kMinuteMs);
  EXPECT_THAT(log_.TakeLines(), ElementsAre(StartsWith("warning ")));
}

TEST_F(StrangerLogTest, AttacksThroughBrowsersAreOneLineAMinute) {
  const int64_t now_ms = LaterMs();
  LogHttp(client_, now_ms);
  EXPECT_THAT(log_.TakeLines(), ElementsAre(AllOf(StartsWith("warning "), HasSubstr("id=7 addr=10.0.0.1:99"))));
  for (int i = 0; i < 10; ++i) LogHttp(client_, now_ms + kMinuteMs - 1);
  EXPECT_THAT(log_.TakeLines(), IsEmpty());
  LogHttp(client_, now_ms + kMinuteMs);
  EXPECT_THAT(log_.TakeLines(), ElementsAre(StartsWith("warning ")));
}

TEST_F(StrangerLogTest, EachKindOfLineHasItsOwnMinute) {
  const int64_t now_ms = LaterMs();
  LogHttp(client_, now_ms);
  log_.TakeLines();
  LogFailedHandshake(client_, "no shared cipher", now_ms);
  EXPECT_THAT(log_.TakeLines(), ElementsAre(StartsWith("warning ")));
}

TEST_F(StrangerLogTest, ARefusalThatTheClientIsToldOfIsNoWarning) {
  LogRefusal("127.0.0.1:7379", "maxclients is reached", true);
  EXPECT_THAT(log_.TakeLines(), ElementsAre("debug Refused a connection to 127.0.0.1:7379: maxclients is reached"));
}

}  // namespace
}  // namespace bitsieve::server
