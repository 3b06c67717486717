#include "config/option_row.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "config/option_table.h"
#include "core/filter/error_rates.h"
#include "core/filter/filter_type.h"

namespace bitsieve::config {
namespace {

using std::string_view_literals::operator""sv;

const OptionRow& Row(std::string_view name) {
  const OptionRow* row = FindOption(name);
  EXPECT_NE(row, nullptr) << name;
  return *row;
}

// Returns the message of a refusal; "" if the value was taken.
std::string Refusal(std::string_view name, std::string_view text) {
  Options options;
  const core::Status status = SetOption(Row(name), text, options);
  if (status) return "";
  EXPECT_EQ(status.error().code, core::ErrorCode::kInvalidArgument);
  for (const OptionRow& row : OptionTable()) {
    EXPECT_EQ(OptionText(row, options), OptionText(row, Options{})) << "a refused value changed something";
  }
  return status.error().message;
}

uint64_t MaxmemoryFrom(std::string_view text) {
  Options options;
  EXPECT_TRUE(SetOption(Row("maxmemory"), text, options).has_value()) << text;
  return options.maxmemory;
}

uint64_t SizeFrom(std::string_view text) {
  Options options;
  EXPECT_TRUE(SetOption(Row("max-log-bytes"), text, options).has_value()) << text;
  return options.max_log_bytes;
}

TEST(OptionRow, SecretsAreTakenAndNeverShown) {
  const OptionRow row{.name = "password",
                      .group = "Access",
                      .member = &Options::tls_key_file_pass,
                      .domain = Text{"more than two letters", [](const std::string& text) { return text.size() > 2; }},
                      .unit = "",
                      .help = "",
                      .applied_by = AppliedBy::kTls,
                      .secret = true};
  Options options;
  EXPECT_EQ(OptionText(row, options), "");
  ASSERT_TRUE(SetOption(row, "open sesame", options));
  EXPECT_EQ(options.tls_key_file_pass, "open sesame");
  EXPECT_EQ(OptionText(row, options), "***");
  EXPECT_EQ(OptionReadableText(row, options), "***");
  EXPECT_EQ(StoredText(row, options), "open sesame");
  EXPECT_EQ(SetOption(row, "pw", options).error().message, "password must be more than two letters");
}

// A configuration that was printed is a file; its stars must not become the password.
TEST(OptionRow, AHiddenValueIsNoValue) {
  const OptionRow row{.name = "password",
                      .group = "Access",
                      .member = &Options::tls_key_file_pass,
                      .domain = Text{"anything", [](const std::string&) { return true; }},
                      .unit = "",
                      .help = "",
                      .applied_by = AppliedBy::kTls,
                      .secret = true};
  Options options;
  ASSERT_FALSE(SetOption(row, kHiddenText, options));
  EXPECT_EQ(SetOption(row, kHiddenText, options).error().message,
            "password is \"***\", which stands for a hidden value; give the value itself");
  EXPECT_EQ(options.tls_key_file_pass, "");
}

TEST(OptionRow, WholeNumbers) {
  Options options;
  ASSERT_TRUE(SetOption(Row("port"), "65535", options));
  EXPECT_EQ(options.port, 65535);
  ASSERT_TRUE(SetOption(Row("port"), "0", options));
  EXPECT_EQ(options.port, 0);
  ASSERT_TRUE(SetOption(Row("port"), "off", options));
  EXPECT_EQ(options.port, kNoPort);
  EXPECT_EQ(OptionText(Row("port"), options), "off");
  EXPECT_NE(Refusal("tls-port", "off"), "");
  for (const auto text :
       {"65536"sv, "-1"sv, "+1"sv, ""sv, " 1"sv, "1 "sv, "1.0"sv, "0x10"sv, "99999999999999999999"sv, "7379\0"sv}) {
    EXPECT_NE(Refusal("port", text), "") << text;
  }
  EXPECT_EQ(Refusal("port", "abc"), R"(port must be off, or a whole number from 0 to 65535, not "abc")");
  EXPECT_EQ(Refusal("timeout", "-1"), R"(timeout must be a whole number of seconds from 0 to 31536000, not "-1")");
}

TEST(OptionRow, SignedNumbers) {
  Options options;
  for (const auto text : {"-1"sv, "0"sv, "3600000000"sv}) {
    ASSERT_TRUE(SetOption(Row("slowlog-log-slower-than"), text, options)) << text;
    EXPECT_EQ(OptionText(Row("slowlog-log-slower-than"), options), text);
    EXPECT_EQ(OptionReadableText(Row("slowlog-log-slower-than"), options), text);
  }
  EXPECT_EQ(Refusal("slowlog-log-slower-than", "-2"),
            "slowlog-log-slower-than must be a whole number of microseconds from -1 to 3600000000, not \"-2\"");
}

TEST(OptionRow, SizesAsRedisWritesThem) {
  EXPECT_EQ(SizeFrom("0"), 0);
  EXPECT_EQ(SizeFrom("1000"), 1000);
  EXPECT_EQ(SizeFrom("7b"), 7);
  EXPECT_EQ(SizeFrom("1k"), 1000);
  EXPECT_EQ(SizeFrom("1kb"), 1024);
  EXPECT_EQ(SizeFrom("2m"), 2'000'000);
  EXPECT_EQ(SizeFrom("100mb"), 100ULL << 20);
  EXPECT_EQ(SizeFrom("100MB"), 100ULL << 20);
  EXPECT_EQ(SizeFrom("3g"), 3'000'000'000);
  EXPECT_EQ(SizeFrom("3Gb"), 3ULL << 30);
}

TEST(OptionRow, TheRangeOfErrorRatesIsThatOfEveryOtherError) {
  EXPECT_EQ(AllowedValues(Row("default-error-rate")), "a number " + std::string(core::kErrorRates));
}

TEST(OptionRow, SizesThatAreNone) {
  for (const auto text :
       {"mb"sv, "1 mb"sv, "1tb"sv, "-1"sv, "1.5gb"sv, ""sv, "1mbx"sv, "18446744073709551615gb"sv, "17179869184gb"sv}) {
    EXPECT_NE(Refusal("maxmemory", text), "") << text;
  }
  for (const auto text : {"1"sv, "10"sv, "512"sv, "63kb"sv}) {
    EXPECT_EQ(Refusal("maxmemory", text),
              "maxmemory must be 0, auto, or a size in bytes, kb, mb or gb from 64kb to 1073741824gb, not \"" +
                  std::string(text) + "\"");
  }
  EXPECT_EQ(MaxmemoryFrom("0"), 0U);
  EXPECT_EQ(MaxmemoryFrom("0gb"), 0U);
  EXPECT_EQ(MaxmemoryFrom("64kb"), 64U << 10);
  EXPECT_EQ(Refusal("client-output-buffer-limit", "1kb"),
            R"(client-output-buffer-limit must be a size in bytes, kb, mb or gb from 64kb to 1024gb, not "1kb")");
}

TEST(OptionRow, RealNumbers) {
  Options options;
  ASSERT_TRUE(SetOption(Row("default-error-rate"), "1e-6", options));
  EXPECT_EQ(options.default_error_rate, 1e-6);
  for (const auto text : {"0"sv, "1"sv, "-0.1"sv, "nan"sv, "inf"sv, "1e-300"sv, "0.1x"sv, ""sv}) {
    EXPECT_NE(Refusal("default-error-rate", text), "") << text;
  }
  EXPECT_EQ(
      Refusal("default-error-rate", "2"),
      R"(default-error-rate must be a number from 1e-9 to 0.25, or a larger one below 1, which is taken as 0.25, )"
      R"(not "2")");
}

// RedisBloom does the same.
TEST(OptionRow, ErrorRatesAboveTheLargestAreTakenAsTheLargest) {
  for (const auto text : {"0.25"sv, "0.2500001"sv, "0.5"sv, "0.999"sv}) {
    Options options;
    ASSERT_TRUE(SetOption(Row("default-error-rate"), text, options)) << text;
    EXPECT_EQ(options.default_error_rate, 0.25) << text;
    EXPECT_EQ(OptionText(Row("default-error-rate"), options), "0.25") << text;
  }
}

TEST(OptionRow, Words) {
  Options options;
  ASSERT_TRUE(SetOption(Row("default-type"), "classic", options));
  EXPECT_EQ(options.default_type, "classic");
  EXPECT_EQ(Refusal("default-type", "Magic"),
            "default-type must be one of " + core::FilterTypeNames(", ", [](const core::FilterTypeRow& type) {
              return type.made.by_default;
            }) + ", not \"Magic\"");
  EXPECT_NE(Refusal("default-type", "Magic").find("blocked, classic, counting, cuckoo"), std::string::npos);
  EXPECT_NE(Refusal("default-type", ""), "");
}

TEST(OptionRow, AddressesAreAList) {
  for (const auto text : {"0.0.0.0"sv, "127.0.0.1 ::1"sv, "localhost,::"sv, "*"sv})
    EXPECT_EQ(Refusal("bind", text), "");
  for (const auto text : {""sv, " , "sv, "127.0.0.1\0"sv}) EXPECT_NE(Refusal("bind", text), "") << text;
}

TEST(OptionRow, TextHoldsNoNulByte) {
  EXPECT_EQ(Refusal("logfile", ""), "");
  EXPECT_EQ(Refusal("logfile", "a\0b"sv), R"(logfile must be a path, or empty for standard error, not "a\x00b")");
  EXPECT_NE(Refusal("dir", ""), "");
}

TEST(OptionRow, TextAndReadableText) {
  Options options;
  options.maxmemory = 100ULL << 20;
  EXPECT_EQ(OptionText(Row("maxmemory"), options), "104857600");
  EXPECT_EQ(OptionReadableText(Row("maxmemory"), options), "100mb");
  options.maxmemory = 1025;
  EXPECT_EQ(OptionReadableText(Row("maxmemory"), options), "1025");
  EXPECT_EQ(OptionReadableText(Row("max-request-bytes"), options), "1gb");
  EXPECT_EQ(OptionText(Row("default-error-rate"), options), "0.01");
  EXPECT_EQ(OptionReadableText(Row("dir"), options), "./data");
}

TEST(OptionRow, VariableName) { EXPECT_EQ(VariableName(Row("io-threads")), "BITSIEVE_IO_THREADS"); }

}  // namespace
}  // namespace bitsieve::config
