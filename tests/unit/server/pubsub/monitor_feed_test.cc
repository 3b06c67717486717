#include "server/pubsub/monitor_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/taken_texts.h"

namespace bitsieve::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class MonitorFeedTest : public testing::Test {
 protected:
  MonitorFeed::InboxPtr Monitor(std::function<void()> wake = {}) {
    auto inbox = std::make_shared<Inbox>(std::move(wake), limit_);
    feed_.Add(inbox);
    return inbox;
  }

  std::atomic<uint64_t> limit_{64 << 20};
  MonitorFeed feed_;
};

TEST_F(MonitorFeedTest, KnowsWhetherAnyoneWatches) {
  EXPECT_FALSE(feed_.Any());
  const auto one = Monitor();
  const auto other = Monitor();
  feed_.Add(one);  // it is there already
  feed_.Remove(one);
  EXPECT_TRUE(feed_.Any());
  feed_.Remove(other);
  EXPECT_FALSE(feed_.Any());
  feed_.Remove(other);
  EXPECT_FALSE(feed_.Any());
}

TEST_F(MonitorFeedTest, LinesComeOnceFromAddToRemove) {
  feed_.Publish("before");
  const auto inbox = Monitor();
  feed_.Add(inbox);
  feed_.Publish("one");
  feed_.Publish("two");
  feed_.Remove(inbox);
  feed_.Publish("after");
  EXPECT_THAT(test::Taken(*inbox), ElementsAre("one", "two"));
}

TEST_F(MonitorFeedTest, ALineIsNoMessageOfAChannel) {
  const auto inbox = Monitor();
  feed_.Publish("one");
  inbox->Take([](const Inbox::Item& item) {
    EXPECT_TRUE(item.message->is_line);
    EXPECT_EQ(item.pattern, nullptr);
    return true;
  });
}

TEST_F(MonitorFeedTest, AllMonitorsGetAllLinesInTheSameOrder) {
  constexpr int kThreads = 4;
  constexpr int kLines = 300;
  const auto one = Monitor();
  const auto other = Monitor();
  {
    std::vector<std::jthread> publishers;
    for (int thread = 0; thread < kThreads; ++thread) {
      publishers.emplace_back([this, thread] {
        for (int i = 0; i < kLines; ++i) feed_.Publish(std::to_string(thread) + ":" + std::to_string(i));
      });
    }
  }
  const std::vector<std::string> lines = test::Taken(*one);
  EXPECT_THAT(lines, SizeIs(kThreads * kLines));
  EXPECT_EQ(test::Taken(*other), lines);
}

TEST_F(MonitorFeedTest, AMonitorThatDoesNotReadIsClosedWithoutHarmToTheOthers) {
  const auto reader = Monitor();
  const auto sleeper = Monitor();
  limit_ = 1000;
  for (int i = 0; i < 100; ++i) {
    feed_.Publish(std::string(100, 'x'));
    EXPECT_THAT(test::Taken(*reader), SizeIs(1));
  }
  EXPECT_TRUE(sleeper->overflowed());
  EXPECT_THAT(test::Taken(*sleeper), IsEmpty());
  EXPECT_FALSE(reader->overflowed());
}

TEST_F(MonitorFeedTest, AMonitorThatIsWokenMayLeaveAtOnce) {
  MonitorFeed::InboxPtr inbox;
  int wakes = 0;
  inbox = Monitor([this, &inbox, &wakes] {
    ++wakes;
    feed_.Remove(inbox);  // does not wait for the publisher that is waking it
  });
  feed_.Publish("one");
  feed_.Publish("two");
  EXPECT_EQ(wakes, 1);
  EXPECT_THAT(test::Taken(*inbox), ElementsAre("one"));
}

}  // namespace
}  // namespace bitsieve::server
