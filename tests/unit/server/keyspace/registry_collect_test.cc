// Collections while names come, go and change: each is what a replay of the log up to its moment gives.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

struct Meaning {
  const core::Filter* filter;
  int64_t expires_ms;
  bool operator==(const Meaning&) const = default;
};
using Names = std::map<std::string, Meaning, std::less<>>;

// A log that holds the names that follow from its own records, and from nothing else.
class ReplayedLog final : public KeyspaceLog {
 public:
  core::ChangeListener& listener() override { return listener_; }
  AnnouncementPtr Named(std::string_view name, const FilterPtr& filter, int64_t expires_ms) override {
    return Announce([name = std::string(name), meaning = Meaning{filter.get(), expires_ms}](Names& names) {
      names.insert_or_assign(name, meaning);
    });
  }
  AnnouncementPtr Unnamed(std::string_view name) override {
    return Announce([name = std::string(name)](Names& names) { names.erase(names.find(name)); });
  }
  AnnouncementPtr Renamed(std::string_view from, std::string_view to) override {
    return Announce([from = std::string(from), to = std::string(to)](Names& names) {
      const auto moved = names.extract(names.find(from));
      names.insert_or_assign(to, moved.mapped());
    });
  }
  AnnouncementPtr ExpirySet(std::string_view name, int64_t expires_ms) override {
    return Announce(
        [name = std::string(name), expires_ms](Names& names) { names.find(name)->second.expires_ms = expires_ms; });
  }
  AnnouncementPtr Flushed() override {
    return Announce([](Names& names) { names.clear(); });
  }
  core::Result<std::unique_ptr<PreparedContent>> Prepare(const FilterPtr&) override { return nullptr; }
  core::Status Rewritten(const FilterPtr&) override { return {}; }
  AnnouncementPtr Freezing(const core::Filter&) override { return nullptr; }

  Names names() const {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  class Deaf final : public core::ChangeListener {
    bool Reserve(size_t) noexcept override { return true; }
    void Release(size_t) noexcept override {}
    void OnChange(const core::Change&, size_t) noexcept override {}
  };
  using Change = std::function<void(Names& names)>;
  class Announced final : public Announcement {
   public:
    Announced(ReplayedLog& log, Change change) : log_(log), change_(std::move(change)) {}
    void Commit() noexcept override {
      const std::lock_guard lock(log_.mutex_);
      change_(log_.names_);
    }

   private:
    ReplayedLog& log_;
    const Change change_;
  };

  AnnouncementPtr Announce(Change change) { return std::make_unique<Announced>(*this, std::move(change)); }

  mutable std::mutex mutex_;
  Names names_;
  Deaf listener_;
};

class RegistryCollectTest : public RegistryTest {
 protected:
  RegistryCollectTest() { registry_.SetLog(&log_); }
  ~RegistryCollectTest() override { registry_.SetLog(nullptr); }

  static std::string NameOf(uint64_t i) { return "name" + std::to_string(i); }

  // Collects, and compares the result with what the log holds for the same moment. Names that ended about then are left
  // out of both.
  void CollectAndCompare(const std::function<void()>& between_shards = {}) {
    Names expected;
    int64_t then_ms = 0;
    std::vector<NamedFilter> collected;
    const auto at_that_moment = [&] {
      expected = log_.names();
      then_ms = clock_.now_ms;
    };
    const core::Status status = registry_.CollectEach(at_that_moment, [&](std::vector<NamedFilter>& batch) {
      std::move(batch.begin(), batch.end(), std::back_inserter(collected));
      if (between_shards) between_shards();
      return core::Status();
    });
    EXPECT_TRUE(status.has_value());
    const int64_t now_ms = clock_.now_ms;
    const auto ended = [&](int64_t expires_ms) { return expires_ms != 0 && expires_ms <= now_ms; };
    Names found;
    for (const NamedFilter& named : collected) {
      EXPECT_TRUE(named.expires_ms == 0 || named.expires_ms > then_ms) << named.name;
      if (ended(named.expires_ms)) continue;
      const bool once = found.emplace(named.name, Meaning{named.filter.get(), named.expires_ms}).second;
      EXPECT_TRUE(once) << named.name << " was found twice";
    }
    std::erase_if(expected, [&](const auto& name) { return ended(name.second.expires_ms); });
    EXPECT_EQ(found, expected);
  }

  void ChangeSomething(std::mt19937& random, uint64_t names) {
    const std::string a = NameOf(random() % names), b = NameOf(random() % names);
    switch (random() % 8) {
      case 0:
      case 1:
        Put(a);
        break;
      case 2:
        registry_.Remove(a);
        break;
      case 3:
      case 4:
        registry_.Rename(a, b, random() % 2 == 0);
        break;
      case 5:
        registry_.Put(a, NewFilter(), random() % 2 == 0 ? 0 : clock_.now_ms + 20);
        break;
      case 6:
        registry_.SetExpiry(a, clock_.now_ms + static_cast<int64_t>(random() % 30), 0);
        break;
      default:
        if (const FilterPtr filter = registry_.Find(a)) registry_.Replace(a, filter, NewFilter());
    }
  }

  // Runs `change` on some threads until `during` returns.
  void While(const std::function<void(std::mt19937&)>& change, const std::function<void()>& during) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::mt19937 random(t); !stop;) change(random);
      });
    }
    during();
    stop = true;
    for (std::thread& thread : threads) thread.join();
  }

  ReplayedLog log_;
};

TEST_F(RegistryCollectTest, WhatChangesBetweenTwoShardsIsNotSeen) {
  constexpr uint64_t kNames = 3'000;
  std::mt19937 random(7);
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < kNames; ++i) Put(NameOf(i));
    CollectAndCompare([&] {
      for (int i = 0; i < 8; ++i) ChangeSomething(random, kNames);
    });
  }
}

TEST_F(RegistryCollectTest, WhereANameIsSavedIsKnownUntilItMeansSomethingElse) {
  for (uint64_t i = 0; i < 5; ++i) Put(NameOf(i));
  std::vector<NamedFilter> collected = registry_.Collect();
  for (uint32_t i = 0; i < collected.size(); ++i) collected[i].saved = {SavedPlace::kMaxPacks - i, 0xFFFF - i};
  registry_.SetExpiry(NameOf(0), clock_.now_ms + 1000, 0);
  registry_.MarkSaved(collected);
  registry_.SetExpiry(NameOf(1), clock_.now_ms + 1000, 0);
  registry_.Rename(NameOf(2), "other", false);
  registry_.Remove(NameOf(3));
  size_t known = 0;
  for (const NamedFilter& named : registry_.Collect()) {
    known += named.saved != SavedPlace();
    if (named.name != NameOf(4)) continue;
    const auto before = std::ranges::find(collected, named.name, &NamedFilter::name);
    EXPECT_EQ(named.saved, before->saved);
    EXPECT_EQ(named.stamp, before->stamp);
  }
  EXPECT_EQ(known, 1u);
}

TEST_F(RegistryCollectTest, AnErrorOfTheVisitEndsIt) {
  for (uint64_t i = 0; i < 100; ++i) Put(NameOf(i));
  int visits = 0;
  const core::Status status = registry_.CollectEach({}, [&](std::vector<NamedFilter>&) -> core::Status {
    ++visits;
    return core::Fail(core::ErrorCode::kIo, "full");
  });
  EXPECT_FALSE(status.has_value());
  EXPECT_EQ(visits, 1);
  CollectAndCompare();
}

TEST_F(RegistryCollectTest, IsWhatTheLogSaysOfItsMoment) {
  constexpr uint64_t kNames = 3'000;
  for (uint64_t i = 0; i < kNames; i += 2) Put(NameOf(i));
  While([&](std::mt19937& random) { ChangeSomething(random, kNames); },
        [&] {
          for (int i = 0; i < 100; ++i) {
            CollectAndCompare();
            Pass(7);
          }
        });
}

TEST_F(RegistryCollectTest, SeesTimePassMeanwhile) {
  constexpr uint64_t kNames = 3'000;
  While(
      [&](std::mt19937& random) {
        if (random() % 64 == 0) Pass(1);
        registry_.Put(NameOf(random() % kNames), NewFilter(), clock_.now_ms + static_cast<int64_t>(random() % 10));
        if (random() % 64 == 0) registry_.RemoveExpired();
      },
      [&] {
        for (int i = 0; i < 100; ++i) CollectAndCompare();
      });
}

TEST_F(RegistryCollectTest, SeesWhatAFlushTookAway) {
  constexpr uint64_t kNames = 2'000;
  for (const bool background : {false, true}) {
    While(
        [&](std::mt19937& random) {
          if (random() % 2'000 == 0) registry_.Flush(background);
          ChangeSomething(random, kNames);
        },
        [&] {
          for (int i = 0; i < 100; ++i) CollectAndCompare();
        });
  }
}

// A filter that never has two names is found under one, by collections and by a thread that replaces it.
TEST_F(RegistryCollectTest, AFilterThatIsRenamedAllTheTimeIsReplaced) {
  constexpr uint64_t kNames = 50;
  FilterPtr filter = Put(NameOf(0));
  for (uint64_t i = 1'000; i < 3'000; ++i) Put(NameOf(i));
  std::atomic<uint64_t> at{0};
  std::atomic<bool> stop{false};
  std::thread renamer([&] {
    for (uint64_t i = 0; !stop; ++i) {
      ASSERT_EQ(registry_.Rename(NameOf(i % kNames), NameOf((i + 1) % kNames), false), RenameOutcome::kRenamed);
      at = (i + 1) % kNames;
    }
  });
  for (int i = 0; i < 200; ++i) {
    const FilterPtr replacement = NewFilter();
    EXPECT_TRUE(registry_.ReplaceAnywhere(filter, replacement));
    EXPECT_FALSE(registry_.ReplaceAnywhere(filter, NewFilter())) << "it is gone";
    filter = replacement;
  }
  stop = true;
  renamer.join();
  EXPECT_EQ(registry_.Find(NameOf(at)), filter);
}

TEST_F(RegistryCollectTest, HoldsNothingOnceItIsOver) {
  for (uint64_t i = 0; i < 2'000; ++i) Put(NameOf(i));
  While([&](std::mt19937& random) { ChangeSomething(random, 2'000); },
        [&] {
          for (int i = 0; i < 20; ++i) registry_.Collect();
        });
  registry_.Flush(false);
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

TEST_F(RegistryCollectTest, AMomentThatFailsIsNone) {
  Put("a");
  EXPECT_THROW(registry_.Collect([] { throw std::bad_alloc(); }), std::bad_alloc);
  Put("b");
  registry_.Remove("a");
  CollectAndCompare();
  registry_.Flush(false);
  EXPECT_EQ(memory_.used_bytes(), 0u);
}

}  // namespace
}  // namespace bitsieve::server
