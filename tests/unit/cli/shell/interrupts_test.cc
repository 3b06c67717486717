#include "cli/shell/interrupts.h"

#include <gtest/gtest.h>

#include <csignal>

namespace bitsieve::cli {
namespace {

class InterruptsTest : public testing::Test {
 protected:
  InterruptsTest() {
    sigaction(SIGINT, nullptr, &interrupt_);
    sigaction(SIGCONT, nullptr, &continue_);
    Interrupts::Catch();
    Interrupts::Clear();
  }
  ~InterruptsTest() override {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGCONT, &continue_, nullptr);
    Interrupts::Clear();
  }

 private:
  struct sigaction interrupt_ {};
  struct sigaction continue_ {};
};

TEST_F(InterruptsTest, CtrlCIsRememberedUntilItIsCleared) {
  EXPECT_FALSE(Interrupts::IsPending());
  std::raise(SIGINT);
  EXPECT_TRUE(Interrupts::IsPending());
  EXPECT_TRUE(Interrupts::IsPending()) << "looking does not clear it";
  Interrupts::Clear();
  EXPECT_FALSE(Interrupts::IsPending());
}

TEST_F(InterruptsTest, ToBeContinuedIsNoInterrupt) {
  std::raise(SIGCONT);
  EXPECT_FALSE(Interrupts::IsPending());
}

// With SA_RESTART a read would go on waiting.
TEST_F(InterruptsTest, BothEndAReadThatWaits) {
  for (const int signal : {SIGINT, SIGCONT}) {
    struct sigaction action {};
    ASSERT_EQ(sigaction(signal, nullptr, &action), 0);
    EXPECT_NE(action.sa_handler, SIG_DFL);
    EXPECT_EQ(action.sa_flags & SA_RESTART, 0);
  }
}

}  // namespace
}  // namespace bitsieve::cli
