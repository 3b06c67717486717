// Publishers, subscribers and those who come and go, all at once; of interest above all under ThreadSanitizer.
#include "server/pubsub/pub_sub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "server/pubsub/subscriptions.h"

namespace bitsieve::server {
namespace {

constexpr int kPublishers = 3;
constexpr int kMessages = 2'000;

std::string Text(int publisher, int number) { return std::to_string(publisher) + " " + std::to_string(number); }

// Whether the numbers of each publisher come one after the other, from 0 to the last.
class InOrder {
 public:
  void See(const std::string& payload) {
    const size_t blank = payload.find(' ');
    int& next = next_[payload.substr(0, blank)];
    wrong_ += std::stoi(payload.substr(blank + 1)) != next++;
  }
  int wrong() const { return wrong_; }
  bool complete() const {
    if (next_.size() != kPublishers) return false;
    for (const auto& [publisher, next] : next_) {
      if (next != kMessages) return false;
    }
    return true;
  }

 private:
  std::map<std::string, int> next_;
  int wrong_ = 0;
};

TEST(PubSubTest, EachPublishersMessagesComeInOrderToEverybody) {
  PubSub pub_sub;
  std::vector<std::unique_ptr<Subscriptions>> listeners;
  for (int i = 0; i < 4; ++i) {
    listeners.push_back(std::make_unique<Subscriptions>(pub_sub, nullptr));
    i % 2 == 0 ? listeners.back()->Add(Subscriptions::Kind::kChannel, "c")
               : listeners.back()->Add(Subscriptions::Kind::kPattern, "c*");
  }
  std::atomic<bool> done{false};
  std::vector<std::thread> publishers;
  for (int p = 0; p < kPublishers; ++p) {
    publishers.emplace_back([&pub_sub, p] {
      for (int i = 0; i < kMessages; ++i) pub_sub.Publish("c", Text(p, i));
    });
  }
  // A subscriber that comes and goes during this gets some, and delays no other.
  std::thread visitor([&] {
    while (!done) {
      Subscriptions passing(pub_sub, nullptr);
      passing.Add(Subscriptions::Kind::kChannel, "c");
      passing.Add(Subscriptions::Kind::kPattern, "*");
    }
  });
  std::vector<std::thread> readers;
  for (const auto& listener : listeners) {
    readers.emplace_back([&listener] {
      InOrder order;
      std::string out;
      while (!order.complete() && order.wrong() == 0) {
        out.clear();
        protocol::ReplyWriter writer(out);
        listener->WriteMessages(writer, 1 << 16);
        // The payload is the last line of each message.
        for (size_t at = out.find("\r\n*"), begin = 0; begin < out.size(); at = out.find("\r\n*", begin)) {
          const size_t end = at == std::string::npos ? out.size() - 2 : at;
          const size_t line = out.rfind('\n', end - 1) + 1;
          order.See(out.substr(line, end - line));
          begin = end + 2;
        }
      }
      EXPECT_EQ(order.wrong(), 0);
    });
  }
  for (std::thread& thread : publishers) thread.join();
  for (std::thread& thread : readers) thread.join();
  done = true;
  visitor.join();
  listeners.clear();
  EXPECT_FALSE(pub_sub.AnySubscribers());
}

TEST(PubSubTest, WhoDoesNotReadHoldsNoMoreThanTheLimit) {
  PubSub pub_sub;
  pub_sub.inbox_limit_bytes = 100'000;
  std::vector<std::unique_ptr<Subscriptions>> listeners;
  for (int i = 0; i < 100; ++i) {
    listeners.push_back(std::make_unique<Subscriptions>(pub_sub, nullptr));
    listeners.back()->Add(Subscriptions::Kind::kChannel, "c");
  }
  std::vector<std::thread> publishers;
  for (int p = 0; p < kPublishers; ++p) {
    publishers.emplace_back([&pub_sub] {
      const std::string text(1'000, 'x');
      for (int i = 0; i < 200; ++i) pub_sub.Publish("c", text);
    });
  }
  // The last ones go while everybody publishes.
  for (int i = 0; i < 50; ++i) listeners.pop_back();
  for (std::thread& thread : publishers) thread.join();
  for (const auto& listener : listeners) {
    EXPECT_TRUE(listener->inbox().overflowed());
    EXPECT_EQ(listener->inbox().bytes(), 0U);
  }
}

}  // namespace
}  // namespace bitsieve::server
