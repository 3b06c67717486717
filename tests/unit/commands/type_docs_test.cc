#include "commands/type_docs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/filter/filter_type.h"

namespace bitsieve::commands {
namespace {

using testing::HasSubstr;

TEST(TypeDocs, TextWithoutPlacesStaysAsItIs) { EXPECT_EQ(WithTypeDocs("key [STRICT]"), "key [STRICT]"); }

TEST(TypeDocs, EveryOptionAndFieldOfATypeIsThereOnce) {
  const std::string syntax = WithTypeDocs("key {options} ITEMS");
  const std::string fields = WithTypeDocs("[FULL | {fields}]");
  for (const core::FilterTypeRow* type : core::FilterTypes()) {
    for (const core::TypeOption& option : type->options) {
      const std::string word = "[" + std::string(option.word) + " ";
      EXPECT_THAT(syntax, HasSubstr(word));
      EXPECT_EQ(syntax.find(word), syntax.rfind(word)) << word;
    }
    for (const core::InfoField& field : type->info_fields) {
      const std::string word = "| " + std::string(field.selector);
      EXPECT_THAT(fields, HasSubstr(word));
      EXPECT_EQ(fields.find(word), fields.rfind(word)) << word;
    }
  }
}

TEST(TypeDocs, NotesSayWhatAnOptionIsForAndItsRange) {
  const std::string notes = WithTypeDocs("{option notes}");
  EXPECT_THAT(notes, HasSubstr("COUNTERBITS, 4 or 8, is for TYPE counting; the default is 4."));
  EXPECT_THAT(notes, HasSubstr("HASH is for TYPE blocked and classic; the default is xxh3."));
  EXPECT_THAT(notes, HasSubstr("WINDOW is for TYPE window. It must be given"));
  EXPECT_THAT(WithTypeDocs("{field notes}"), HasSubstr("HASH, the hash function (blocked, classic); "));
}

}  // namespace
}  // namespace bitsieve::commands
