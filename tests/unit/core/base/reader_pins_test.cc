#include "core/base/reader_pins.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace bitsieve::core {
namespace {

TEST(ReaderPins, AWriterWaitsForThePinsThatAreHeld) {
  ReaderPins pins;
  std::atomic<bool> released{false}, waited{false};
  auto pin = std::make_unique<ReaderPins::Pin>(pins);
  std::thread writer([&] {
    pins.AwaitNone();
    EXPECT_TRUE(released.load());
    waited = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(waited.load());
  released = true;
  pin.reset();
  writer.join();
  EXPECT_TRUE(waited.load());
}

constexpr int kGood = 1, kFreed = 2;

// Freed memory is poisoned first, so that a reader that still looks at it shows that.
TEST(ReaderPins, ReadersNeverSeeWhatWasFreed) {
  ReaderPins pins;
  std::vector<std::unique_ptr<std::atomic<int>>> all;
  const auto make = [&all] { return all.emplace_back(std::make_unique<std::atomic<int>>(kGood)).get(); };
  std::atomic<std::atomic<int>*> current{make()};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        const ReaderPins::Pin pin(pins);
        if (current.load()->load() != kGood) ++wrong;
      }
    });
  }
  for (int i = 0; i < 1'000; ++i) {
    std::atomic<int>* const old = current.exchange(make());
    pins.AwaitNone();
    old->store(kFreed);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace bitsieve::core
