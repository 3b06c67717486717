#include "commands/filter_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitsieve::commands {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WantedEvents final : public FilterEvents {
 public:
  void Want(uint32_t classes) { wanted_ = classes; }
  std::vector<std::string> published;

 protected:
  void PublishWanted(std::string_view event, std::string_view name) noexcept override {
    published.push_back(std::string(event) + " " + std::string(name));
  }
};

TEST(FilterEventsTest, AtFirstNothingIsWanted) {
  WantedEvents events;
  for (const EventClass each : {EventClass::kGeneric, EventClass::kExpired, EventClass::kFilter, EventClass::kNew}) {
    EXPECT_FALSE(events.Wants(each));
    events.Publish(each, "del", "f");
  }
  EXPECT_THAT(events.published, IsEmpty());
}

TEST(FilterEventsTest, OnlyWantedClassesArePublished) {
  WantedEvents events;
  events.Want(static_cast<uint32_t>(EventClass::kExpired) | static_cast<uint32_t>(EventClass::kNew));
  events.Publish(EventClass::kGeneric, "del", "f");
  events.Publish(EventClass::kExpired, "expired", "f");
  events.Publish(EventClass::kFilter, "bf.add", "f");
  events.Publish(EventClass::kNew, "new", "g");
  EXPECT_THAT(events.published, ElementsAre("expired f", "new g"));
}

// An implementation may add flags above those of the classes.
TEST(FilterEventsTest, OtherFlagsAreNoClass) {
  WantedEvents events;
  events.Want(1U << 30);
  events.Publish(EventClass::kGeneric, "del", "f");
  EXPECT_THAT(events.published, IsEmpty());
}

}  // namespace
}  // namespace bitsieve::commands
