// A registry reports each change to its log once it was announced and made, or does not make it.
#include "server/keyspace/keyspace_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/server/keyspace/registry_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Writes down what it is told. It may refuse announcements, as if memory had run out.
class NotedLog final : public KeyspaceLog {
 public:
  core::ChangeListener& listener() override { return listener_; }
  AnnouncementPtr Named(std::string_view name, const FilterPtr&, int64_t expires_ms) override {
    return Announce("named " + std::string(name) + " " + std::to_string(expires_ms));
  }
  AnnouncementPtr Unnamed(std::string_view name) override { return Announce("unnamed " + std::string(name)); }
  AnnouncementPtr Renamed(std::string_view from, std::string_view to) override {
    return Announce("renamed " + std::string(from) + " " + std::string(to));
  }
  AnnouncementPtr ExpirySet(std::string_view name, int64_t expires_ms) override {
    return Announce("expires " + std::string(name) + " " + std::to_string(expires_ms));
  }
  AnnouncementPtr Flushed() override { return Announce("flushed"); }
  core::Result<std::unique_ptr<PreparedContent>> Prepare(const FilterPtr&) override { return nullptr; }
  core::Status Rewritten(const FilterPtr&) override { return {}; }
  AnnouncementPtr Freezing(const core::Filter&) override { return Announce("freezing"); }

  bool refuses = false;
  std::vector<std::string> announced;
  std::vector<std::string> committed;

 private:
  class Silent final : public core::ChangeListener {
    bool Reserve(size_t) noexcept override { return true; }
    void Release(size_t) noexcept override {}
    void OnChange(const core::Change&, size_t) noexcept override {}
  };
  class Noted final : public Announcement {
   public:
    Noted(NotedLog& log, std::string text) : log_(log), text_(std::move(text)) {}
    void Commit() noexcept override { log_.committed.push_back(text_); }

   private:
    NotedLog& log_;
    const std::string text_;
  };

  AnnouncementPtr Announce(std::string text) {
    if (refuses) throw std::bad_alloc();
    announced.push_back(text);
    return std::make_unique<Noted>(*this, std::move(text));
  }

  Silent listener_;
};

class KeyspaceLogTest : public RegistryTest {
 protected:
  KeyspaceLogTest() { registry_.SetLog(&log_); }
  ~KeyspaceLogTest() override { registry_.SetLog(nullptr); }
  void Forget() {
    log_.announced.clear();
    log_.committed.clear();
  }

  NotedLog log_;
};

TEST_F(KeyspaceLogTest, EachChangeIsReportedInItsOrder) {
  const int64_t later = clock_.now_ms + 1'000;
  const std::string later_text = std::to_string(later);
  Put("a");
  registry_.SetExpiry("a", later, 0);
  registry_.Rename("a", "b", false);
  registry_.Put("b", NewFilter(), 0);
  registry_.Remove("b");
  registry_.Flush(false);
  EXPECT_THAT(log_.committed,
              ElementsAre("named a 0", "expires a " + later_text, "renamed a b", "named b 0", "unnamed b", "flushed"));
  EXPECT_EQ(log_.announced, log_.committed);
}

TEST_F(KeyspaceLogTest, WhatChangesNothingIsNotReported) {
  Put("a");
  Forget();
  Put("a");
  registry_.Remove("missing");
  registry_.SetExpiry("missing", clock_.now_ms + 1'000, 0);
  registry_.SetExpiry("a", clock_.now_ms + 1'000, kIfExpiry);
  registry_.Rename("missing", "b", false);
  registry_.Rename("a", "a", false);
  EXPECT_THAT(log_.committed, IsEmpty());
}

TEST_F(KeyspaceLogTest, ANameThatExpiredIsReportedBeforeItMeansAnotherFilter) {
  registry_.InsertIfAbsent("a", NewFilter(), clock_.now_ms + 1'000);
  Forget();
  Pass(1'000);
  Put("a");
  EXPECT_THAT(log_.committed, ElementsAre("unnamed a", "named a 0"));
}

TEST_F(KeyspaceLogTest, AChangeThatCannotBeAnnouncedIsNotMade) {
  const FilterPtr a = Put("a");
  Forget();
  log_.refuses = true;
  EXPECT_EQ(Put("b"), nullptr);
  EXPECT_FALSE(registry_.Put("a", NewFilter(), 0));
  EXPECT_EQ(registry_.Rename("a", "b", false), RenameOutcome::kOutOfMemory);
  EXPECT_THROW(registry_.Remove("a"), std::bad_alloc);
  EXPECT_THROW(registry_.SetExpiry("a", clock_.now_ms + 1'000, 0), std::bad_alloc);
  EXPECT_THROW(registry_.Flush(false), std::bad_alloc);
  EXPECT_EQ(registry_.Find("a"), a);
  EXPECT_EQ(registry_.ExpiryOf("a"), 0);
  EXPECT_EQ(registry_.Size(), 1U);
  EXPECT_THAT(log_.committed, IsEmpty());

  log_.refuses = false;
  EXPECT_TRUE(registry_.Remove("a"));
  EXPECT_THAT(log_.committed, ElementsAre("unnamed a"));
}

}  // namespace
}  // namespace bitsieve::server
