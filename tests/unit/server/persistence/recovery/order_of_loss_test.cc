// If a server dies while it saves, the next one finds the contents of one moment: no change survives one that was made
// before it, whether to the same name or to another.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/checksum.h"
#include "tests/support/fault_disk.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr int kNames = 8;

std::string NameOf(int number) { return "n" + std::to_string(number); }

// Checksums of the contents, which are too large to be kept for every moment.
using Digest = std::map<std::string, uint64_t>;

Digest DigestOf(const Contents& contents) {
  Digest digest;
  for (const auto& [name, bytes] : contents) digest[name] = core::Checksum(bytes);
  return digest;
}

struct Case {
  friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }

  const char* name;
  FsyncPolicy policy;
  uint64_t max_packed_bytes;
  uint32_t growth_percent;  // as Save has it
};

class OrderOfLossTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(
        Ok(server_.Start(faults_, "/d", {.max_packed_bytes = GetParam().max_packed_bytes, .log = GetParam().policy})));
    for (int i = 0; i < kNames; ++i) AddItems(*server_.keyspace.Make(NameOf(i)), "before", 3);
    AddItems(*server_.keyspace.Make("large", 100'000), "before", 10);
    ASSERT_TRUE(Ok(server_.writer->Save()));
    KeepMoment();
    saver_ = std::this_thread::get_id();
    faults_.SetHook([this](const std::string& step) {
      if (std::this_thread::get_id() == saver_) AtStep(step);
    });
  }

  // Runs between any two steps of the saving, with every kind of change before it.
  void AtStep(const std::string& step) {
    where_ = "before " + step;
    CrashHere();
    Change();
    where_ = "changed before " + step;
    CrashHere();
  }
  void Change() {
    for (const auto& change : changes_) {
      change(next_++);
      KeepMoment();
    }
  }
  void CrashHere() {
    MemoryDisk killed = memory_.Copy();
    ExpectOneMoment(killed, "killed");
    for (const auto names : {MemoryDisk::UnsyncedNames::kLost, MemoryDisk::UnsyncedNames::kKept}) {
      MemoryDisk down = memory_.Copy();
      down.LosePower(names);
      ExpectOneMoment(down, "power lost");
    }
  }
  // A start serves what it has found: a power failure right after it must not take that away.
  void ExpectOneMoment(MemoryDisk& disk, const std::string& how) {
    ++crashes_;
    Digest found;
    ASSERT_NO_FATAL_FAILURE(Start(disk, how, found));
    EXPECT_TRUE(moments_.contains(found)) << how << " " << where_;
    for (int i = 0; i < 4; ++i) {
      MemoryDisk down = disk.AfterPowerFailure([this](uint64_t limit) { return random_() % limit; });
      Digest again;
      ASSERT_NO_FATAL_FAILURE(Start(down, how + " and started, power lost", again));
      EXPECT_EQ(found, again) << how << " and started, power lost " << where_;
    }
  }
  void Start(MemoryDisk& disk, const std::string& how, Digest& found) {
    TestServer other;
    ASSERT_TRUE(Ok(other.Start(disk, "/d"))) << how << " " << where_;
    found = DigestOf(other.contents());
  }
  void KeepMoment() { moments_.insert(DigestOf(server_.contents())); }

  Registry& registry() { return server_.keyspace.registry; }
  FilterPtr Find(int number) { return registry().Find(NameOf(number % kNames)); }
  // Returns the filter of this name, and makes it first if it is missing.
  FilterPtr FindOrMake(int number) {
    const FilterPtr filter = Find(number);
    if (filter != nullptr) return filter;
    FilterPtr made = server_.keyspace.Make(NameOf(number % kNames));
    KeepMoment();  // a change of its own, after which the log may have been written
    return made;
  }

  // Each first does something to one name, and then adds to another filter, or to the same one: what was seen was that
  // the later one of the two survived.
  const std::vector<std::function<void(int)>> changes_ = {
      [this](int i) { registry().SetExpiry(NameOf(i % kNames), registry().WallMs() + 1'000'000 + i, 0); },
      [this](int i) { AddItem(*FindOrMake(i), "after" + std::to_string(i)); },
      [this](int i) { registry().Remove(NameOf(i % kNames)); },
      [this](int i) { AddItem(*FindOrMake(i + 1), "after" + std::to_string(i)); },
      [this](int i) { registry().Rename(NameOf((i + 3) % kNames), NameOf(i % kNames), false); },
      [this](int i) { AddItem(*registry().Find("large"), "after" + std::to_string(i)); },
      [this](int i) { AddItem(*FindOrMake(i + 5), "more" + std::to_string(i)); },
  };

  MemoryDisk memory_;
  FaultDisk faults_{memory_};
  TestServer server_;
  std::set<Digest> moments_;
  std::string where_;
  std::thread::id saver_;
  std::mt19937_64 random_;
  int next_ = 0;
  int crashes_ = 0;
};

TEST_P(OrderOfLossTest, ACrashWhileSavingLeavesOneMoment) {
  for (int round = 0; round < 2; ++round) {
    Change();
    EXPECT_TRUE(Ok(server_.writer->Save(GetParam().growth_percent)));
  }
  faults_.SetHook({});
  EXPECT_GT(crashes_, 20);
}

INSTANTIATE_TEST_SUITE_P(, OrderOfLossTest,
                         testing::Values(Case{"AlwaysInFiles", FsyncPolicy::kAlways, 0, 0},
                                         Case{"EverySecondInFiles", FsyncPolicy::kEverySecond, 0, 0},
                                         Case{"NeverInFiles", FsyncPolicy::kNever, 0, 0},
                                         Case{"AlwaysInPacks", FsyncPolicy::kAlways, kMaxPackedBytes, 0},
                                         Case{"EverySecondInPacks", FsyncPolicy::kEverySecond, kMaxPackedBytes, 0},
                                         Case{"NeverInPacks", FsyncPolicy::kNever, kMaxPackedBytes, 0},
                                         Case{"EverySecondLeftInLog", FsyncPolicy::kEverySecond, kMaxPackedBytes, 50}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace bitsieve::server
