#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

constexpr const char* kDescription =
    "Bitsieve: a server for sets far too large to keep. It answers \"definitely not\" or\n"
    "\"probably yes\" about their members, and speaks the Redis protocol.";

constexpr const char* kFirstSteps =
    "First steps:\n"
    "  bitsieve serve                          start on 127.0.0.1:7379, data in ./data\n"
    "  redis-cli -p 7379 BF.ADD seen alice     add an item; the filter is made on the way\n"
    "  redis-cli -p 7379 BF.EXISTS seen bob    ask for one\n"
    "\n"
    "bitsieve COMMAND --help shows all options of a command.";

// CLI11 takes "--logfile=" for a flag whose value is the next argument; to people it is an empty value. In reverse
// order, as the library wants them.
std::vector<std::string> Arguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (const std::string argument : std::span(argv, static_cast<size_t>(argc)).subspan(1)) {
    const bool empty_value = argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    arguments.push_back(empty_value ? argument.substr(0, argument.size() - 1) : argument);
    if (empty_value) arguments.emplace_back();
  }
  std::ranges::reverse(arguments);
  return arguments;
}

// The library's own word on this is "A subcommand is required".
bool IsUnknownCommand(const CLI::App& program, const std::string& word) {
  const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
  return !word.starts_with("-") && std::ranges::count(commands, word, &CLI::App::get_name) == 0;
}

int Run(int argc, char** argv) {
  CLI::App program(kDescription, "bitsieve");
  program.footer(kFirstSteps);
  program.set_help_flag("-h,--help", "Print this help and exit");
  program.set_version_flag("--version", VersionText());
  program.require_subcommand(1);

  Action action;
  AddServe(program, action);
  AddPing(program, action);
  AddLoad(program, action);
  AddCheck(program, action);
  AddExport(program, action);
  AddImport(program, action);
  AddMigrate(program, action);
  AddInspect(program, action);
  AddBackup(program, action);
  AddRestore(program, action);
  AddCheckConfig(program, action);
  AddPlan(program, action);
  AddCompletion(program, action);
  AddVersion(program, action);

  if (argc == 1) {
    std::cerr << program.help();
    return kExitUsage;
  }
  if (IsUnknownCommand(program, argv[1])) {
    std::cerr << "bitsieve: unknown command " << core::Quoted(argv[1]) << "; bitsieve --help lists the commands\n";
    return kExitUsage;
  }
  try {
    program.parse(Arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  return action();
}

}  // namespace
}  // namespace bitsieve::cli

int main(int argc, char** argv) {
  try {
    return bitsieve::cli::Run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "bitsieve: " << error.what() << '\n';
    return bitsieve::cli::kExitFailure;
  }
}
