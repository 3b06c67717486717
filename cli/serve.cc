#include <iostream>
#include <memory>

#include "cli/client/configuration.h"
#include "cli/commands.h"
#include "config/flags.h"
#include "config/option_table.h"
#include "server/server.h"

namespace bitsieve::cli {
namespace {

struct ServeArguments {
  config::Flags flags;
  bool print_config = false;
};

// The configuration on standard output is a file that --config takes; where values came from is for people to read.
void PrintConfiguration(const config::Configuration& configuration) {
  std::cout << config::ToJson(configuration.options);
  const auto rows = config::OptionTable();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (configuration.origins[i] != config::kDefaultOrigin) {
      std::cerr << rows[i].name << ": from " << configuration.origins[i] << '\n';
    }
  }
}

int Serve(const CLI::App& command, const ServeArguments& arguments) {
  const config::Sources sources = arguments.flags.ToSources();
  const auto configuration = LoadOrExplain(command, sources);
  if (!configuration) return kExitUsage;
  if (arguments.print_config) {
    PrintConfiguration(*configuration);
    return kExitOk;
  }
  return server::RunServer(configuration->options, sources);
}

}  // namespace

void AddServe(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* command = program.add_subcommand("serve", "Start the server");
  command->footer(
      "Each option may also be a BITSIEVE_ variable (BITSIEVE_PORT) or a key of the --config file.\nFlags override the "
      "environment, and the environment overrides the file. Sizes: 1000, 64kb, 100mb, 2gb.");
  command->add_flag(
      "--print-config", arguments->print_config,
      "Print the effective configuration as JSON, print to standard error where the values came from, and exit");
  arguments->flags.AddTo(*command);
  command->allow_extras();  // reported together with the other errors
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return Serve(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
