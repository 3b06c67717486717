#include "commands/template_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/filter_templates.h"

namespace bitsieve::commands {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(TemplateEntryTest, FieldsAreOptionsInLowerCaseWithNumbersAsText) {
  const TemplateEntry entry{"f.json: templates[0]", "user:*", {{"error-rate", "0.001"}, {"capacity", "5000"}}};
  const auto made = FilterTemplates::Make({entry});
  ASSERT_TRUE(made) << made.error().front();
  EXPECT_NE(made->Find("user:1"), nullptr);
  EXPECT_EQ(made->Find("user"), nullptr) << "the pattern is a glob of the whole name";
}

TEST(TemplateEntryTest, ErrorsBeginWithItsPlace) {
  const auto made = FilterTemplates::Make(
      {{"f.json: templates[0]", "a", {{"error", "0.001"}}}, {"f.json: templates[1]", "b", {{"capacity", "none"}}}});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error(), ElementsAre(AllOf(StartsWith("f.json: templates[0]"), HasSubstr("error")),
                                        AllOf(StartsWith("f.json: templates[1]"), HasSubstr("none"))));
}

}  // namespace
}  // namespace bitsieve::commands
