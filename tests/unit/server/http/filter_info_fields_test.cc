#include "server/http/filter_info_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "tests/support/command_fixture.h"

namespace bitsieve::server {
namespace {

using ::testing::IsEmpty;

class FilterInfoFieldsTest : public ::testing::Test, protected test::CommandFixture {
 protected:
  // Returns the value of one field as T; fails if it is missing or another type.
  template <class T>
  T Field(const std::string& name, const std::string& label) const {
    for (const auto& [each, value] : FilterInfoFields(environment_, name)) {
      if (each == label && std::holds_alternative<T>(value)) return std::get<T>(value);
    }
    ADD_FAILURE() << name << " has no " << label << " of this type";
    return {};
  }

  const Environment environment_ = EnvironmentWith(nullptr);
};

TEST_F(FilterInfoFieldsTest, AreTheValuesOfTheCommand) {
  Reply({"BF.RESERVE", "f", "0.01", "1000"});
  Reply({"BF.MADD", "f", "a", "b", "c"});
  EXPECT_EQ(Field<int64_t>("f", "Number of items inserted"), 3);
  EXPECT_EQ(Field<int64_t>("f", "Number of filters"), 1);
  EXPECT_GE(Field<int64_t>("f", "Capacity"), 1'000);
}

TEST_F(FilterInfoFieldsTest, ComeInTheOrderOfTheReplyEachOnce) {
  Reply({"BF.ADD", "f", "a"});
  std::string reply = Reply({"BF.INFO", "f", "FULL"});
  size_t at = 0;
  const auto fields = FilterInfoFields(environment_, "f");
  EXPECT_GT(fields.size(), 5U);
  for (const auto& [label, value] : fields) {
    const size_t found = reply.find("+" + label + "\r\n", at);
    ASSERT_NE(found, std::string::npos) << label;
    at = found + label.size();
  }
}

TEST_F(FilterInfoFieldsTest, ANameMayBeAnyBytes) {
  const std::string name("a\r\n$3\r\n\0\xff", 9);
  Reply({"BF.ADD", name, "a"});
  EXPECT_EQ(Field<int64_t>(name, "Number of items inserted"), 1);
}

TEST_F(FilterInfoFieldsTest, AMissingFilterHasNone) {
  EXPECT_THAT(FilterInfoFields(environment_, "missing"), IsEmpty());
}

}  // namespace
}  // namespace bitsieve::server
