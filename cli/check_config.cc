#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/client/configuration.h"
#include "cli/commands.h"
#include "config/flags.h"
#include "config/option_table.h"

namespace bitsieve::cli {
namespace {

struct CheckConfigArguments {
  config::Flags flags;
  std::string file;
};

bool MayAccess(const std::string& path, int mode) { return ::faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0; }

// The directory itself, or the nearest one above it that is there.
std::string NearestDirectory(std::filesystem::path path) {
  std::error_code ignored;
  path = std::filesystem::absolute(path, ignored);
  while (!std::filesystem::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  return path.string();
}

// Checks the directory of `option`, which the server writes to.
void CheckDirectory(const std::string& option, const std::string& path, config::Problems& problems) {
  const std::string nearest = NearestDirectory(path);
  if (!std::filesystem::is_directory(nearest)) {
    problems.push_back(option + ": " + nearest + " is not a directory");
  } else if (!MayAccess(nearest, W_OK | X_OK)) {
    problems.push_back(option + ": " + nearest + " cannot be written to: " + std::strerror(errno));
  }
}

void CheckReadable(const std::string& option, const std::string& path, config::Problems& problems) {
  if (path.empty() || MayAccess(path, R_OK)) return;
  problems.push_back(option + ": " + path + " cannot be read: " + std::strerror(errno));
}

// Returns the problems that a start would fail on, as far as they can be found without making, opening for writing or
// binding anything.
config::Problems ProblemsAtStart(const config::Options& options) {
  config::Problems problems;
  CheckDirectory("dir", options.dir, problems);
  if (!options.logfile.empty()) {
    const bool is_there = MayAccess(options.logfile, F_OK);
    if (is_there && !MayAccess(options.logfile, W_OK)) {
      problems.push_back("logfile: " + options.logfile + " cannot be written to: " + std::strerror(errno));
    } else if (!is_there) {
      CheckDirectory("logfile", std::filesystem::path(options.logfile).parent_path(), problems);
    }
  }
  CheckReadable("requirepass-file", options.requirepass_file, problems);
  CheckReadable("aclfile", options.aclfile, problems);
  CheckReadable("tls-cert-file", options.tls_cert_file, problems);
  CheckReadable("tls-key-file", options.tls_key_file, problems);
  CheckReadable("tls-ca-cert-file", options.tls_ca_cert_file, problems);
  return problems;
}

void PrintWhatDiffers(const config::Configuration& configuration) {
  std::cout << "OK\n";
  const auto rows = config::OptionTable();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (config::IsSame(rows[i], configuration.options, config::Options{})) continue;
    const std::string value = config::OptionReadableText(rows[i], configuration.options);
    std::cout << rows[i].name << ": " << (value.empty() ? "\"\"" : value) << ", from " << configuration.origins[i]
              << '\n';
  }
  if (const size_t templates = configuration.options.templates.size(); templates != 0) {
    std::cout << "templates: " << templates << '\n';
  }
}

int CheckConfig(const CLI::App& command, const CheckConfigArguments& arguments) {
  config::Sources sources = arguments.flags.ToSources();
  if (!arguments.file.empty()) sources.file = arguments.file;
  const auto configuration = LoadOrExplain(command, sources);
  if (!configuration) return kExitFailure;
  const config::Problems problems = ProblemsAtStart(configuration->options);
  Explain(command, problems);
  if (!problems.empty()) return kExitFailure;
  PrintWhatDiffers(*configuration);
  return kExitOk;
}

}  // namespace

void AddCheckConfig(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CheckConfigArguments>();
  CLI::App* command = program.add_subcommand("check-config", "Check a configuration without starting the server");
  command->footer(
      "Reads what serve would read with the same file, environment and flags, and reports all problems, each with "
      "its\nlocation, and whether the directories and files that it names can be used. Nothing is created or changed. "
      "Whether\nthe port is free is not checked.\nExit status: 0 if there is no problem, after the values that are not "
      "defaults are printed; 1 if there is one; 2 if\nthe command line is wrong.");
  command->add_option("file", arguments->file, "The configuration file [that of --config]")->type_name("FILE");
  arguments->flags.AddTo(*command);
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return CheckConfig(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
