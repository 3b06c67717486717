#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/nearest_name.h"
#include "cli/commands.h"
#include "core/base/quote.h"

namespace bitsieve::cli {
namespace {

constexpr const char* kDescription =
    "Bitsieve: a server for sets far too large to keep. It answers \"definitely not\" or\n"
    "\"probably yes\" about their members, and speaks the Redis protocol.";

constexpr const char* kFirstSteps =
    "First steps:\n"
    "  bitsieve serve                       start on 127.0.0.1:7379, data in ./data\n"
    "  bitsieve cli BF.ADD seen alice       add an item; the filter is created with it\n"
    "  bitsieve cli BF.EXISTS seen bob      look one up\n"
    "  bitsieve cli                         a prompt for more commands\n"
    "\n"
    "bitsieve COMMAND --help shows all options of a command.";

// Whether the arguments of this command may be those of a server's command, which are passed on as they are.
bool PassesArgumentsOn(const CLI::App& program, const std::string& name) {
  const auto found = program.get_subcommands(
      [&name](const CLI::App* each) { return each->get_name() == name && each->get_prefix_command(); });
  return !found.empty();
}

// CLI11 takes "--logfile=" for a flag whose value is the next argument; to people it is an empty value. In reverse
// order, as the library wants them.
std::vector<std::string> Arguments(const CLI::App& program, const std::vector<std::string>& words) {
  const bool are_ours = !PassesArgumentsOn(program, words[1]);
  std::vector<std::string> arguments;
  for (const std::string& argument : std::span(words).subspan(1)) {
    const bool empty_value = are_ours && argument.starts_with("--") && argument.find('=') == argument.size() - 1;
    arguments.push_back(empty_value ? argument.substr(0, argument.size() - 1) : argument);
    if (empty_value) arguments.emplace_back();
  }
  std::ranges::reverse(arguments);
  return arguments;
}

// Joins to the flag `migrate --verify` the words after it that look like values: KEY=FILE, not a URL. Its value may be
// missing, and the library takes such a value only if it is joined.
std::vector<std::string> WithJoinedValues(const std::vector<std::string>& words) {
  if (words.size() < 2 || words[1] != "migrate") return words;
  constexpr std::string_view kFlag = "--verify";
  std::vector<std::string> joined;
  for (const std::string& word : words) {
    const bool follows_flag = !joined.empty() && (joined.back() == kFlag || joined.back().starts_with("--verify="));
    const bool is_value = word.find('=') != std::string::npos && word.find("://") == std::string::npos;
    if (follows_flag && is_value && !word.starts_with("-")) {
      if (joined.back() == kFlag) joined.pop_back();
      joined.push_back(std::string(kFlag) + "=" + word);
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

// The library's own word on this is "A subcommand is required".
bool IsUnknownCommand(const CLI::App& program, const std::string& word) {
  const auto commands = program.get_subcommands([](const CLI::App*) { return true; });
  return !word.starts_with("-") && std::ranges::count(commands, word, &CLI::App::get_name) == 0;
}

// `bitsieve help` and `bitsieve help load` are what people try first.
std::vector<std::string> WithHelpAsOption(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 2 || words[1] != "help") return words;
  words.erase(words.begin() + 1);
  words.emplace_back("--help");
  return words;
}

// Returns the end of an error about an unknown name: the probable name, or how to find it.
std::string Advice(std::string_view nearest, const std::string& program, const std::string& what) {
  return nearest.empty() ? "; " + program + " --help lists the " + what + "\n"
                         : "; did you mean " + std::string(nearest) + "?\n";
}

int RefuseCommand(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* const each : program.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  std::cerr << "bitsieve: unknown command " << core::Quoted(word)
            << Advice(NearestName(word, names), "bitsieve", "commands");
  return kExitUsage;
}

// The first flag that the command does not know, with what was probably meant; else the first word too many.
std::string ExtraText(const CLI::App& command, const std::string& program) {
  std::vector<std::string> extras = command.remaining();
  const auto flag = std::ranges::find_if(extras, [](const std::string& each) { return each.starts_with("-"); });
  if (flag == extras.end()) {
    return "unexpected argument " + core::Quoted(extras.empty() ? "" : extras.front()) + Advice("", program, "options");
  }
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string name = flag->substr(0, flag->find('='));
  return "unknown option " + core::Quoted(name) + Advice(NearestName(name, names), program, "options");
}

int RefuseArguments(const CLI::App& program, const CLI::ParseError& error) {
  const auto parsed = program.get_subcommands();
  const CLI::App& command = parsed.empty() ? program : *parsed.front();
  const std::string name = parsed.empty() ? "bitsieve" : "bitsieve " + command.get_name();
  // An unknown option in place of the command is only found to be a missing command.
  const bool is_extra =
      dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || (parsed.empty() && !program.remaining().empty());
  std::cerr << name << ": " << (is_extra ? ExtraText(command, name) : error.what() + Advice("", name, "options"));
  return kExitUsage;
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
  AddCli(program, action);
  AddLoad(program, action);
  AddCheck(program, action);
  AddDedup(program, action);
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

  const std::vector<std::string> words = WithJoinedValues(WithHelpAsOption(argc, argv));
  if (words.size() == 1) {
    std::cerr << program.help();
    return kExitUsage;
  }
  if (IsUnknownCommand(program, words[1])) return RefuseCommand(program, words[1]);
  try {
    program.parse(Arguments(program, words));
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? program.exit(error) : RefuseArguments(program, error);
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
