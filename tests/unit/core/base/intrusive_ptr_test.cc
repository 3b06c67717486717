#include "core/base/intrusive_ptr.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace bitsieve::core {
namespace {

struct Counted : OwnerCount {
  explicit Counted(int& alive_objects) : alive(alive_objects) { ++alive; }
  ~Counted() { --alive; }
  int& alive;
};

void LetGo(const Counted* counted) {
  if (counted->RemoveOwner()) delete counted;
}

using CountedPtr = IntrusivePtr<Counted>;

TEST(IntrusivePtr, TheLastOwnerDestroysTheObject) {
  int alive = 0;
  CountedPtr first(std::make_unique<Counted>(alive));
  CountedPtr second = first;
  EXPECT_EQ(first.use_count(), 2U);
  first.reset();
  EXPECT_EQ(first.use_count(), 0U);
  EXPECT_EQ(alive, 1);
  second = nullptr;
  EXPECT_EQ(alive, 0);
}

TEST(IntrusivePtr, MovingAddsNoOwner) {
  int alive = 0;
  CountedPtr from(std::make_unique<Counted>(alive));
  const Counted* const object = from.get();
  CountedPtr to = std::move(from);
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(to.get(), object);
  EXPECT_EQ(to.use_count(), 1U);
}

TEST(IntrusivePtr, AdoptsAnOwnerThatIsCounted) {
  int alive = 0;
  auto* const object = new Counted(alive);
  object->AddOwner();
  { const CountedPtr adopted = CountedPtr::Adopt(object); }
  EXPECT_EQ(alive, 0);
}

TEST(IntrusivePtr, AnObjectWithoutOwnersGetsNone) {
  int alive = 0;
  const Counted object(alive);
  EXPECT_FALSE(object.AddOwnerUnlessGone());
  EXPECT_EQ(object.owners(), 0U);
  object.AddOwner();
  EXPECT_TRUE(object.AddOwnerUnlessGone());
  EXPECT_EQ(object.owners(), 2U);
}

TEST(IntrusivePtr, ThreadsShareOneObject) {
  int alive = 0;
  CountedPtr shared(std::make_unique<Counted>(alive));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([own = shared] {
      for (int j = 0; j < 10'000; ++j) const CountedPtr copy = own;
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_EQ(shared.use_count(), 1U);
  shared = {};
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace bitsieve::core
