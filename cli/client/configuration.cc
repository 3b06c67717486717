#include "cli/client/configuration.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/client/nearest_name.h"
#include "commands/filter_templates.h"
#include "config/option_table.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

// Flags alone, if there are any: what follows an unknown flag is most likely its value.
config::Problems Unexpected(const CLI::App& command) {
  config::Problems flags;
  config::Problems others;
  std::vector<std::string> names;  // those that are no options of the configuration
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (config::FindOption(name) == nullptr) names.push_back(name);
    }
  }
  for (const std::string& argument : command.remaining()) {
    if (command.get_prefix_command() && !argument.starts_with('-')) break;  // it and the rest are for a server
    if (argument.starts_with("--")) {
      const std::string flag = argument.substr(0, argument.find('='));
      const std::string_view nearest = NearestName(flag.substr(2), names);
      flags.push_back(flag + ": " +
                      (nearest.empty() ? config::UnknownOption(flag.substr(2))
                                       : "unknown option " + core::Quoted(flag.substr(2)) + "; did you mean " +
                                             std::string(nearest) + "?"));
    } else {
      others.push_back("unexpected argument " + core::Quoted(argument));
    }
  }
  return flags.empty() ? others : flags;
}

}  // namespace

std::optional<config::Configuration> LoadOrExplain(const CLI::App& command, const config::Sources& sources,
                                                   config::Problems problems) {
  std::ranges::move(Unexpected(command), std::back_inserter(problems));
  auto configuration = config::Load(sources);
  if (!configuration) problems.insert(problems.end(), configuration.error().begin(), configuration.error().end());
  if (configuration) {
    const auto templates = commands::FilterTemplates::Make(configuration->options.templates);
    if (!templates) problems.insert(problems.end(), templates.error().begin(), templates.error().end());
  }
  if (problems.empty()) return std::move(*configuration);
  Explain(command, problems);
  return std::nullopt;
}

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

void Explain(const CLI::App& command, const config::Problems& problems) {
  for (const std::string& problem : problems) {
    std::cerr << "bitsieve " << command.get_name() << ": " << problem << '\n';
  }
}

}  // namespace bitsieve::cli
