#include "cli/migrate/content_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace bitsieve::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Has a digest for each name, which takes `rounds` requests to read.
class FakeReader final : public ContentReader {
 public:
  uint64_t SizeOf(const FoundFilter& filter) override { return filter.bytes; }
  void Begin(std::span<const FoundFilter* const> filters) override {
    filters_.assign(filters.begin(), filters.end());
    groups.push_back(filters.size());
    left_ = rounds;
    if (on_begin) on_begin();
  }
  core::Outcome<bool> Request() override { return left_ > 0; }
  core::Outcome<void> Receive() override {
    if (failure) return tl::unexpected(*failure);
    left_ -= left_ > 0;
    return {};
  }
  const ContentDigest& DigestOf(size_t place) const override { return digests.at(filters_.at(place)->name); }

  std::map<std::string, ContentDigest> digests;
  int rounds = 1;
  std::optional<std::string> failure;
  std::vector<size_t> groups;
  std::function<void()> on_begin;

 private:
  std::vector<const FoundFilter*> filters_;
  int left_ = 0;
};

class ContentCheckTest : public testing::Test {
 protected:
  void Add(const std::string& name, const ContentDigest& old_digest, const ContentDigest& new_digest,
           uint64_t bytes = 100) {
    filters_.push_back({.name = name, .bytes = bytes});
    old_.digests[name] = old_digest;
    new_.digests[name] = new_digest;
  }
  core::Outcome<void> Run() {
    ContentCheck check(
        old_, new_, [this](uint64_t bytes) { shown_bytes_ = bytes; }, [this] { ++waits_; });
    std::vector<const FoundFilter*> filters;
    for (const FoundFilter& each : filters_) filters.push_back(&each);
    auto done = check.Run(std::move(filters));
    report_ = check.report();
    return done;
  }
  static std::vector<std::string> Texts(const std::vector<MoveFailure>& failures) {
    std::vector<std::string> texts;
    for (const MoveFailure& each : failures) texts.push_back(each.name + ": " + each.reason);
    return texts;
  }

  const ContentDigest some_{.type = "classic", .bytes = 100, .checksum = 5};
  FakeReader old_, new_;
  std::vector<FoundFilter> filters_;
  uint64_t shown_bytes_ = 0;
  int waits_ = 0;
  ContentReport report_;
};

TEST_F(ContentCheckTest, Equal) {
  Add("a", some_, some_);
  Add("b", some_, some_);
  ASSERT_TRUE(Run());
  EXPECT_EQ(report_.equal, 2);
  EXPECT_EQ(report_.equal_bytes, 200);
  EXPECT_EQ(shown_bytes_, 200);
  EXPECT_EQ(waits_, 0);
  EXPECT_THAT(report_.different, IsEmpty());
  EXPECT_THAT(report_.unread, IsEmpty());
}

TEST_F(ContentCheckTest, Different) {
  Add("checksum", some_, {.type = "classic", .bytes = 100, .checksum = 6});
  Add("size", some_, {.type = "classic", .bytes = 2000, .checksum = 5});
  Add("type", some_, {.type = "blocked", .bytes = 100, .checksum = 5});
  Add("type that cannot be read", some_, {.type = "blocked", .problem = "ERR"});
  Add("missing", some_, {.is_missing = true});
  Add("unreadable", some_, {.problem = "ERR why"});
  Add("gone", {.is_missing = true}, some_);
  Add("gone on both", {.is_missing = true}, {.is_missing = true});
  ASSERT_TRUE(Run());
  EXPECT_EQ(report_.equal, 0);
  EXPECT_THAT(
      Texts(report_.different),
      ElementsAre("checksum: its content differs", "size: its content had 100 bytes and now has 2,000",
                  "type: its type was classic and is now blocked",
                  "type that cannot be read: its type was classic and is now blocked",
                  "missing: it is missing on the new server",
                  "unreadable: it cannot be read on the new server: ERR why", "gone: it is missing on the old server"));
}

TEST_F(ContentCheckTest, WhatTheOldServerCannotGiveIsNotDifferent) {
  Add("a", {.problem = "why"}, some_);
  Add("b", some_, some_);
  ASSERT_TRUE(Run());
  EXPECT_EQ(report_.equal, 1);
  EXPECT_THAT(report_.different, IsEmpty());
  EXPECT_THAT(Texts(report_.unread), ElementsAre("a: it was not compared: why"));
}

TEST_F(ContentCheckTest, OnlyFiltersThatDifferAreComparedAgain) {
  Add("a", some_, some_);
  Add("b", some_, {.is_missing = true});
  Add("c", some_, {.type = "classic", .bytes = 100, .checksum = 7});
  new_.on_begin = [this] {
    if (new_.groups.size() == 2) new_.digests["b"] = some_;
  };
  ASSERT_TRUE(Run());
  EXPECT_THAT(new_.groups, ElementsAre(3, 2, 1));
  EXPECT_EQ(waits_, ContentCheck::kMaxPasses - 1);
  EXPECT_EQ(report_.equal, 2);
  EXPECT_THAT(Texts(report_.different), ElementsAre("c: its content differs"));
}

TEST_F(ContentCheckTest, LargeFiltersAreComparedOneByOne) {
  for (int i = 0; i < 3; ++i) Add("small " + std::to_string(i), some_, some_, kMaxSmallContentBytes);
  for (int i = 0; i < 2; ++i) Add("large " + std::to_string(i), some_, some_, kMaxSmallContentBytes + 1);
  for (size_t i = 0; i < ContentCheck::kMaxGroup + 1; ++i) Add("tiny " + std::to_string(i), some_, some_, 1);
  for (int i = 0; i < 300; ++i) Add("next " + std::to_string(i), some_, some_, kMaxSmallContentBytes);
  ASSERT_TRUE(Run());
  EXPECT_THAT(old_.groups, ElementsAre(3, 1, 1, ContentCheck::kMaxGroup, 256, 45));
  EXPECT_EQ(report_.equal, filters_.size());
}

TEST_F(ContentCheckTest, SidesMayTakeDifferentNumbersOfRequests) {
  Add("a", some_, some_);
  new_.rounds = 5;
  ASSERT_TRUE(Run());
  EXPECT_EQ(report_.equal, 1);
}

TEST_F(ContentCheckTest, ErrorsNameTheServer) {
  Add("a", some_, some_, kMaxSmallContentBytes + 1);
  Add("b", some_, some_, kMaxSmallContentBytes + 1);
  old_.on_begin = [this] {
    if (old_.groups.size() == 2) new_.failure = "it closed the connection";
  };
  const auto done = Run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), "the new server: it closed the connection");
  EXPECT_EQ(report_.equal, 1);
  old_.on_begin = nullptr;
  old_.failure = "why";
  EXPECT_EQ(Run().error(), "the old server: why");
}

}  // namespace
}  // namespace bitsieve::cli
