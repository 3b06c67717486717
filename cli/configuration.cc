#include "cli/configuration.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "config/option_table.h"
#include "core/base/quote.h"
#include "server/settings.h"

namespace bitsieve::cli {
namespace {

// Flags alone, if there are any: what follows an unknown flag is most likely its value.
config::Problems Unexpected(const std::vector<std::string>& arguments) {
  config::Problems flags;
  config::Problems others;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--")) {
      const std::string flag = argument.substr(0, argument.find('='));
      flags.push_back(flag + ": " + config::UnknownOption(flag.substr(2)));
    } else {
      others.push_back("argument " + core::Quoted(argument) + " was not expected");
    }
  }
  return flags.empty() ? others : flags;
}

}  // namespace

std::optional<config::Configuration> LoadOrExplain(const CLI::App& command, const config::Sources& sources,
                                                   config::Problems problems) {
  std::ranges::move(Unexpected(command.remaining()), std::back_inserter(problems));
  auto configuration = config::Load(sources);
  if (!configuration) problems.insert(problems.end(), configuration.error().begin(), configuration.error().end());
  if (configuration) {
    const auto templates = server::TemplatesOf(configuration->options);
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
