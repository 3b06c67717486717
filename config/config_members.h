// config_members.h: where the members of a configuration file's object are in its text, and the text with other values
// in their places: comments, order and layout stay. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_row.h"
#include "config/options.h"
#include "core/base/result.h"

namespace bitsieve::config {

struct ConfigMember {
  std::string key;
  size_t line = 0;         // of the key, counted from 1
  size_t begin = 0;        // of the key, in the text
  size_t value_begin = 0;  // the value is [value_begin, value_end)
  size_t value_end = 0;
};

struct ConfigMembers {
  std::vector<ConfigMember> members;  // of the outermost object
  size_t begin = 0;                   // after its opening brace
  size_t content_end = 0;             // after its last member and comment
  size_t end = 0;                     // where its closing brace is
};

// Returns the members of a text that was parsed as an object with comments; for another text, some of what looks like
// members.
ConfigMembers MembersOf(std::string_view json);

// The text, changed so that it gives these options the values that they have in `options`. A value that the text gives
// already, or leaves to a default that is the same, is not touched. Others replace the value that is there, or are
// added as the last members. An error if the text is not a valid configuration, or a value is no text that JSON can
// hold.
core::Outcome<std::string> WithValues(const std::string& json, std::span<const OptionRow* const> rows,
                                      const Options& options);

}  // namespace bitsieve::config
