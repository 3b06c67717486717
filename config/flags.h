// flags.h: the option table as command line flags, in groups for --help. For start-up; thread-compatible.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/loader.h"

namespace bitsieve::config {

// Values of the flags of one command. It outlives the parsing of that command.
class Flags {
 public:
  Flags() = default;
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // Adds --config and one flag for each option.
  void AddTo(CLI::App& command);
  // Adds only --config.
  void AddFileTo(CLI::App& command);
  // Adds --config and the flag of one option.
  void AddOneTo(CLI::App& command, std::string_view option);

  // Returns what the command line gave, together with the environment of this process.
  Sources ToSources() const;

 private:
  void AddRow(CLI::App& command, const OptionRow& row);

  struct Flag {
    const OptionRow* row;
    std::string value;
    const CLI::Option* option;
  };

  std::string file_;
  std::vector<Flag> flags_;
};

}  // namespace bitsieve::config
