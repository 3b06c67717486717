#include "config/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "config/option_table.h"

namespace bitsieve::config {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// A file of the test's own, gone with it.
class Loading : public testing::Test {
 protected:
  ~Loading() override {
    if (!path_.empty()) std::remove(path_.c_str());
  }
  const std::string& WriteFile(const std::string& text) {
    path_ =
        testing::TempDir() + "loader_test_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
    std::ofstream(path_) << text;
    return path_;
  }

 private:
  std::string path_;
};

std::string OriginOf(const Configuration& configuration, std::string_view name) {
  return configuration.origins.at(static_cast<size_t>(FindOption(name) - OptionTable().data()));
}

TEST_F(Loading, DefaultsAlone) {
  const auto configuration = Load({});
  ASSERT_TRUE(configuration);
  EXPECT_EQ(configuration->options.port, 7379);
  EXPECT_THAT(configuration->origins, testing::Each("default"));
}

TEST_F(Loading, FlagsWinOverEnvironmentOverFileOverDefaults) {
  const std::string file = WriteFile(R"({"port": 1, "timeout": 1, "maxclients": 1})");
  const auto configuration = Load({.file = file,
                                   .environment = {{"BITSIEVE_PORT", "2"}, {"BITSIEVE_TIMEOUT", "2"}, {"PORT", "9"}},
                                   .flags = {{FindOption("port"), "3"}}});
  ASSERT_TRUE(configuration);
  EXPECT_EQ(configuration->options.port, 3);
  EXPECT_EQ(configuration->options.timeout, 2u);
  EXPECT_EQ(configuration->options.maxclients, 1u);
  EXPECT_EQ(configuration->options.save_interval, 60u);
  EXPECT_EQ(OriginOf(*configuration, "port"), "--port");
  EXPECT_EQ(OriginOf(*configuration, "timeout"), "BITSIEVE_TIMEOUT");
  EXPECT_EQ(OriginOf(*configuration, "maxclients"), file);
  EXPECT_EQ(OriginOf(*configuration, "save-interval"), "default");
}

TEST_F(Loading, TheFileMayBeNamedByTheEnvironment) {
  const std::string file = WriteFile(R"({"port": 1})");
  const auto by_variable = Load({.file = "", .environment = {{"BITSIEVE_CONFIG", file}}, .flags = {}});
  ASSERT_TRUE(by_variable);
  EXPECT_EQ(by_variable->options.port, 1);
  const auto by_flag = Load({.file = "/no/such/file", .environment = {{"BITSIEVE_CONFIG", file}}, .flags = {}});
  ASSERT_FALSE(by_flag);
  EXPECT_THAT(by_flag.error(), ElementsAre("/no/such/file: cannot be read: No such file or directory"));
}

TEST_F(Loading, EveryProblemIsToldWithItsPlace) {
  const std::string file = WriteFile(R"({"timeout": "x", "prot": 1})");
  const auto configuration = Load({.file = file,
                                   .environment = {{"BITSIEVE_PORT", "x"}, {"BITSIEVE_PROT", "1"}},
                                   .flags = {{FindOption("loglevel"), "loud"}}});
  ASSERT_FALSE(configuration);
  EXPECT_THAT(
      configuration.error(),
      ElementsAre(file + R"(:1: unknown option "prot"; did you mean port?)",
                  file + R"(:1: timeout must be a whole number of seconds from 0 to 31536000, not "x")",
                  R"(BITSIEVE_PORT: port must be off, or a whole number from 0 to 65535, not "x")",
                  R"(BITSIEVE_PROT: unknown option "PROT"; did you mean port?)",
                  R"(--loglevel: loglevel must be one of trace, debug, info, warning, error, off, not "loud")"));
}

TEST_F(Loading, VariablesThatKubernetesSetsForAServiceOfOurNameAreExplained) {
  const auto configuration =
      Load({.file = "",
            .environment = {{"BITSIEVE_PORT", "tcp://10.0.0.1:7379"}, {"BITSIEVE_SERVICE_HOST", "10.0.0.1"}},
            .flags = {}});
  ASSERT_FALSE(configuration);
  EXPECT_THAT(configuration.error(),
              ElementsAre(HasSubstr("enableServiceLinks to false"), HasSubstr("enableServiceLinks to false")));
}

TEST_F(Loading, JsonReadsBackAsTheSameOptions) {
  Options options;
  options.dir = "a \"quoted\" path";
  options.maxmemory = 123456;
  options.client_output_buffer_limit = 1ULL << 30;
  options.default_error_rate = 1e-7;
  options.default_type = "classic";
  options.templates = {{"", "a:*", {{"type", "classic"}, {"capacity", "5"}}}, {"", "b:\"", {}}};
  const auto configuration = Load({.file = WriteFile(ToJson(options)), .environment = {}, .flags = {}});
  ASSERT_TRUE(configuration) << configuration.error().front();
  for (const OptionRow& row : OptionTable()) {
    EXPECT_EQ(OptionText(row, configuration->options), OptionText(row, options)) << row.name;
  }
  ASSERT_EQ(configuration->options.templates.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const commands::TemplateEntry& read = configuration->options.templates[i];
    EXPECT_EQ(read.pattern, options.templates[i].pattern);
    EXPECT_EQ(read.fields, options.templates[i].fields);
    EXPECT_THAT(read.where, testing::EndsWith(": templates[" + std::to_string(i) + "]"));
  }
}

TEST_F(Loading, JsonNeedsNoValidUtf8) {
  Options options;
  options.logfile = "\xff";
  EXPECT_THAT(ToJson(options), HasSubstr("\xef\xbf\xbd"));
}

TEST_F(Loading, TheProcessEnvironmentIsReadWhole) {
  ASSERT_EQ(setenv("BITSIEVE_LOADER_TEST", "a=b", 1), 0);
  EXPECT_THAT(ProcessEnvironment(), Contains(Pair("BITSIEVE_LOADER_TEST", "a=b")));
  unsetenv("BITSIEVE_LOADER_TEST");
}

}  // namespace
}  // namespace bitsieve::config
