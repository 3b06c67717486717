// option_row.h: one option of the server: its name, where its value lies in Options, what values it takes, and what is
// said about it. Parsing, checking and printing of any option are here, so that the file, the environment, the flags
// and CONFIG SET cannot disagree. Thread-safe: rows are constants; the caller owns the Options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::config {

// The values that an option takes; bounds are included.
struct WholeNumber {
  uint64_t min, max;
  bool or_off = false;  // the word off is allowed as well, and stands for max + 1
};
struct SignedNumber {
  int64_t min, max;
};
struct ByteSize {  // as Redis writes sizes: 1000, 64kb, 100mb, 2gb (powers of 1024), 1k, 1m, 1g (powers of 1000)
  uint64_t min, max;
  bool automatic = false;  // the word auto is allowed as well, and stands for kAutomatic
  bool or_zero = false;    // 0 is allowed as well
};
struct Real {
  double min, max;
  double capped_below = 0;  // numbers above max and below this one are taken as max; 0: there are none
};
struct OneOf {
  std::vector<std::string_view> words;
};
struct Text {
  std::string_view what;                     // "a path"
  bool (*accepts)(const std::string& text);  // never called for text with a NUL byte, which no option takes
};
using Domain = std::variant<WholeNumber, SignedNumber, ByteSize, Real, OneOf, Text>;

using Member = std::variant<uint16_t Options::*, uint32_t Options::*, uint64_t Options::*, int64_t Options::*,
                            double Options::*, std::string Options::*>;

// The part of the server that takes up a new value.
enum class AppliedBy : uint8_t {
  kStart,  // none: the value is read when the server starts
  kNetwork,
  kTls,
  kAccess,
  kMonitoring,
  kEvents,
  kAdminPort,
  kCommands,
  kMemory,
  kStorage,
  kLog,
};

struct OptionRow {
  std::string_view name;   // kebab-case; a flag is "--" + name
  std::string_view group;  // heading in --help and in the documentation
  Member member;           // its value in Options{} is the default
  Domain domain;
  std::string_view unit;  // of a number: "seconds"; else empty
  std::string_view help;  // one sentence without a period, lower-case
  AppliedBy applied_by;
  // RedisBloom's name for it, which CONFIG GET and SET take as well; empty if there is none.
  std::string_view alias = {};
  bool secret = false;  // a password: never shown, see kHiddenText

  // Returns whether CONFIG SET may change it.
  bool at_run_time() const { return applied_by != AppliedBy::kStart; }
};

// Shown in place of a secret that is set, and refused as the value of one: a configuration that was printed and is read
// again must not make it the password.
inline constexpr std::string_view kHiddenText = "***";

// "64kb" in bytes; nothing if it is no size, or too large.
std::optional<uint64_t> ParseByteSize(std::string_view text);

// The environment variable of the option: "BITSIEVE_IO_THREADS".
std::string VariableName(const OptionRow& row);
// Returns what is allowed, in words: "a whole number from 0 to 65535".
std::string AllowedValues(const OptionRow& row);

// Sets the option from text if it is valid; otherwise changes nothing and returns what was wrong and what would be
// right.
core::Status SetOption(const OptionRow& row, std::string_view text, Options& options);

// The value as SetOption() takes it, secrets as they are: only for the configuration file.
std::string StoredText(const OptionRow& row, const Options& options);
// The value as CONFIG GET returns it: sizes in plain bytes, secrets hidden.
std::string OptionText(const OptionRow& row, const Options& options);
// The value as people write it: sizes with the largest unit that is exact ("256mb"), secrets hidden.
std::string OptionReadableText(const OptionRow& row, const Options& options);

}  // namespace bitsieve::config
