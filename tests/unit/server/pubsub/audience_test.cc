#include "server/pubsub/audience.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/taken_texts.h"

namespace bitsieve::server {
namespace {

using test::Taken;

class AudienceTest : public testing::Test {
 protected:
  InboxPtr MakeInbox(std::function<void()> wake = {}) { return std::make_shared<Inbox>(std::move(wake), limit_); }
  static Inbox::Item ItemOf(std::string text) {
    return {std::make_shared<const Message>(Message{.channel = "c", .payload = std::move(text)}), nullptr};
  }
  static uint64_t Send(Audience& audience, const Inbox::Item& item) {
    Sleepers sleepers;
    return audience.Send(item, sleepers);
  }

  std::atomic<uint64_t> limit_{1 << 20};
};

TEST_F(AudienceTest, EachInboxIsThereOnceHoweverManyThereAre) {
  for (const size_t count : {0U, 1U, 64U, 65U, 3000U}) {
    Audience audience;
    std::vector<InboxPtr> inboxes;
    for (size_t i = 0; i < count; ++i) audience.Insert(inboxes.emplace_back(MakeInbox()));
    for (const InboxPtr& inbox : inboxes) audience.Insert(inbox);
    EXPECT_EQ(audience.size(), count);
    EXPECT_EQ(Send(audience, ItemOf("m")), count);
    for (size_t i = 0; i < count; i += 2) EXPECT_TRUE(audience.Erase(inboxes[i]));
    for (size_t i = 0; i < count; i += 2) EXPECT_FALSE(audience.Erase(inboxes[i]));
    EXPECT_EQ(Send(audience, ItemOf("n")), count / 2);
    for (size_t i = 0; i < count; ++i) {
      const std::vector<std::string> expected =
          i % 2 == 0 ? std::vector<std::string>{"m"} : std::vector<std::string>{"m", "n"};
      EXPECT_EQ(Taken(*inboxes[i]), expected);
    }
  }
}

TEST_F(AudienceTest, AllThatSleepAreWokenOnce) {
  std::atomic<size_t> wakes{0};
  Audience audience;
  std::vector<InboxPtr> inboxes;
  for (int i = 0; i < 1000; ++i) audience.Insert(inboxes.emplace_back(MakeInbox([&wakes] { ++wakes; })));
  Send(audience, ItemOf("m"));
  EXPECT_EQ(wakes, 1000U);
  Send(audience, ItemOf("m"));
  EXPECT_EQ(wakes, 1000U);
}

// Those that stay receive each message once, in order, and those that leave nothing more once they have left.
TEST_F(AudienceTest, OthersComeAndGoWhileMessagesAreSent) {
  Audience audience;
  std::vector<InboxPtr> staying;
  for (int i = 0; i < 200; ++i) audience.Insert(staying.emplace_back(MakeInbox()));
  std::atomic<bool> done{false};
  std::atomic<size_t> late{0};
  std::thread visitor([&] {
    while (!done) {
      std::vector<InboxPtr> visiting;
      for (int i = 0; i < 300; ++i) audience.Insert(visiting.emplace_back(MakeInbox()));
      for (const InboxPtr& inbox : visiting) {
        audience.Erase(inbox);
        Taken(*inbox);
      }
      std::this_thread::yield();
      for (const InboxPtr& inbox : visiting) late += Taken(*inbox).size();
    }
  });
  std::vector<std::string> sent;
  for (int i = 0; i < 300; ++i) {
    sent.push_back(std::to_string(i));
    EXPECT_GE(Send(audience, ItemOf(sent.back())), staying.size());
  }
  done = true;
  visitor.join();
  EXPECT_EQ(late, 0U);
  for (const InboxPtr& inbox : staying) ASSERT_EQ(Taken(*inbox), sent);
}

}  // namespace
}  // namespace bitsieve::server
