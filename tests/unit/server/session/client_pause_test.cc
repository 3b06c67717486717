#include "server/session/client_pause.h"

#include <gtest/gtest.h>

namespace bitsieve::server {
namespace {

using Scope = ClientPause::Scope;

TEST(ClientPause, EndsByItself) {
  ClientPause pause;
  EXPECT_FALSE(pause.MayBeActive());
  pause.Begin(Scope::kWrites, 200, 100);
  EXPECT_TRUE(pause.MayBeActive());
  EXPECT_EQ(pause.ScopeAt(199), Scope::kWrites);
  EXPECT_EQ(pause.ScopeAt(200), Scope::kNone);
}

TEST(ClientPause, AShorterOrNarrowerOneLeavesItAsItIs) {
  ClientPause pause;
  pause.Begin(Scope::kAll, 300, 100);
  pause.Begin(Scope::kWrites, 200, 110);
  EXPECT_EQ(pause.ScopeAt(299), Scope::kAll);
}

TEST(ClientPause, AnotherOneMakesItLongerAndWider) {
  ClientPause pause;
  pause.Begin(Scope::kWrites, 300, 100);
  pause.Begin(Scope::kAll, 200, 110);
  EXPECT_EQ(pause.ScopeAt(250), Scope::kAll);
  pause.Begin(Scope::kWrites, 400, 120);
  EXPECT_EQ(pause.ScopeAt(399), Scope::kAll);
}

TEST(ClientPause, OneThatHasEndedDoesNotWidenTheNext) {
  ClientPause pause;
  pause.Begin(Scope::kAll, 200, 100);
  pause.Begin(Scope::kWrites, 400, 300);
  EXPECT_EQ(pause.ScopeAt(350), Scope::kWrites);
}

TEST(ClientPause, CanBeCancelled) {
  ClientPause pause;
  pause.Begin(Scope::kAll, 200, 100);
  pause.Cancel();
  EXPECT_FALSE(pause.MayBeActive());
  EXPECT_EQ(pause.ScopeAt(150), Scope::kNone);
}

}  // namespace
}  // namespace bitsieve::server
