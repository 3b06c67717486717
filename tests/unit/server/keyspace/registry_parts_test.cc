#include "server/keyspace/registry_parts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {
namespace {

class CountedClock final : public core::Clock {
 public:
  int64_t WallMs() const override {
    ++reads;
    return 1'000;
  }
  int64_t MonotonicMs() const override { return WallMs(); }
  mutable std::atomic<int> reads{0};
};

class RegistryPartsTest : public RegistryTest {};

TEST_F(RegistryPartsTest, AnEntryIsDueFromTheMillisecondOfItsExpiryOn) {
  const CountedClock clock;
  const EntryPtr entry = NameTable::Make("name", quotas_);
  entry->expires_ms = 1'001;
  EXPECT_FALSE(IsDue(*entry, clock));
  entry->expires_ms = 1'000;
  EXPECT_TRUE(IsDue(*entry, clock));
  entry->expires_ms = 999;
  EXPECT_TRUE(IsDue(*entry, clock));
}

TEST_F(RegistryPartsTest, TheClockIsNotReadForEntriesWithoutAnExpiry) {
  const CountedClock clock;
  const EntryPtr entry = NameTable::Make("name", quotas_);
  EXPECT_FALSE(IsDue(*entry, clock));
  EXPECT_EQ(clock.reads, 0);
}

TEST_F(RegistryPartsTest, WithoutALogNothingIsAnnouncedAndACommitIsHarmless) {
  EXPECT_EQ(AnnounceNamed(nullptr, "name", NewFilter(), 0), nullptr);
  EXPECT_EQ(AnnounceUnnamed(nullptr, "name"), nullptr);
  Commit(AnnounceUnnamed(nullptr, "name"));
}

}  // namespace
}  // namespace bitsieve::server
