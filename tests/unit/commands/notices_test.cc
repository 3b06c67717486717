#include "commands/notices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/support/handler_context.h"

namespace bitsieve::commands {
namespace {

using core::AddOutcome;
using testing::ElementsAre;
using testing::IsEmpty;

class NotedEvents final : public FilterEvents {
 public:
  NotedEvents() { wanted_ = static_cast<uint32_t>(EventClass::kFilter) | static_cast<uint32_t>(EventClass::kNew); }
  void WantNone() { wanted_ = 0; }
  std::vector<std::string> texts;

 protected:
  void PublishWanted(std::string_view event, std::string_view name) noexcept override {
    texts.push_back(std::string(event) + " " + std::string(name));
  }
};

class NoticesTest : public testing::Test, protected test::CommandFixture {
 protected:
  NoticesTest() {
    Reply({"BF.RESERVE", "f", "0.01", "100"});
    Reply({"BF.RESERVE", "c", "0.01", "100", "TYPE", "counting"});
  }
  std::vector<std::string> AfterAdding(const std::string& name, const std::vector<AddOutcome>& outcomes, bool once,
                                       bool counts_repeats = true) {
    NotedEvents noted;
    test::HandlerContext call(*this, {"bf.madd", name, "x"});
    call.context.events = &noted;
    const FilterPtr filter = registry.Find(name);
    AddNotice notice(call.context, *filter, counts_repeats);
    notice.Look(outcomes);
    once ? notice.PublishOnce() : notice.PublishEach();
    return noted.texts;
  }
};

TEST_F(NoticesTest, AnEventBearsTheNameOfItsCommand) {
  NotedEvents noted;
  test::HandlerContext call(*this, {"bf.insert", "f", "ITEMS", "x"});
  NotifyChanged(call.context);  // nobody listens
  call.context.events = &noted;
  NotifyChanged(call.context);
  NotifyNew(call.context, "g");
  Notify(call.context, EventClass::kGeneric, "del", "f");
  EXPECT_THAT(noted.texts, ElementsAre("bf.insert f", "new g"));
}

TEST_F(NoticesTest, OneEventForEachChangeOrForAll) {
  const std::vector<AddOutcome> outcomes = {AddOutcome::kAdded, AddOutcome::kPresent, AddOutcome::kAdded};
  EXPECT_THAT(AfterAdding("f", outcomes, false), ElementsAre("bf.madd f", "bf.madd f"));
  EXPECT_THAT(AfterAdding("f", outcomes, true), ElementsAre("bf.madd f"));
  EXPECT_THAT(AfterAdding("f", {AddOutcome::kPresent}, true), IsEmpty());
  EXPECT_THAT(AfterAdding("f", {AddOutcome::kOutOfMemory}, false), IsEmpty());
}

TEST_F(NoticesTest, ARepeatedItemChangesAFilterThatCountsIt) {
  EXPECT_THAT(AfterAdding("c", {AddOutcome::kPresent}, true), ElementsAre("bf.madd c"));
  EXPECT_THAT(AfterAdding("c", {AddOutcome::kPresent}, true, false), IsEmpty());
}

TEST_F(NoticesTest, WantOfRoomIsReportedOnce) {
  for (const AddOutcome full : {AddOutcome::kFull, AddOutcome::kCannotGrow, AddOutcome::kWindowFull}) {
    EXPECT_THAT(AfterAdding("f", {full, full}, false), ElementsAre("full f"));
  }
}

TEST_F(NoticesTest, GrowthIsReportedAfterTheAddition) {
  NotedEvents noted;
  test::HandlerContext call(*this, {"bf.madd", "f", "x"});
  call.context.events = &noted;
  const FilterPtr filter = registry.Find("f");
  AddNotice notice(call.context, *filter);
  for (int i = 0; i < 500 && filter->SubFilters() == 1; ++i) {
    const core::KeyHash hash = filter->HashOf(std::to_string(i));
    AddOutcome added{};
    filter->Add({&hash, 1}, {&added, 1});
  }
  notice.Look(std::array{AddOutcome::kAdded});
  notice.PublishOnce();
  EXPECT_THAT(noted.texts, ElementsAre("bf.madd f", "grown f"));
}

// It was not asked to look before the addition, so it does not know what changed.
TEST_F(NoticesTest, EventsThatWereNotWantedBeforeAreNotPublishedAfter) {
  NotedEvents noted;
  noted.WantNone();
  test::HandlerContext call(*this, {"bf.madd", "f", "x"});
  call.context.events = &noted;
  const FilterPtr filter = registry.Find("f");
  AddNotice notice(call.context, *filter);
  notice.Look(std::array{AddOutcome::kAdded, AddOutcome::kFull});
  notice.PublishEach();
  EXPECT_THAT(noted.texts, IsEmpty());
}

}  // namespace
}  // namespace bitsieve::commands
