#include <iostream>

#include "cli/commands.h"

namespace bitsieve::cli {

std::string VersionText() { return "bitsieve " BITSIEVE_VERSION; }

void AddVersion(CLI::App& program, Action& action) {
  program.add_subcommand("version", "Print the version and exit")->callback([&action] {
    action = [] {
      std::cout << VersionText() << '\n';
      return kExitOk;
    };
  });
}

}  // namespace bitsieve::cli
