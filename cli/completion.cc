#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"

namespace bitsieve::cli {
namespace {

// A subcommand and its flags as a shell completes them, read off the program itself.
struct Flag {
  std::string name;  // "--port"
  std::string help;
  bool has_value;
  bool is_path;
};
struct Subcommand {
  std::string name;
  std::string help;
  std::vector<Flag> flags;
};

bool IsPath(const std::string& type) { return type == "PATH" || type == "FILE" || type == "DIR"; }

std::vector<Subcommand> SubcommandsOf(const CLI::App& program) {
  std::vector<Subcommand> subcommands;
  for (const CLI::App* const each : program.get_subcommands([](const CLI::App*) { return true; })) {
    Subcommand subcommand{each->get_name(), each->get_description(), {}};
    for (const CLI::Option* const option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        subcommand.flags.push_back({"--" + name, option->get_description(), option->get_items_expected_max() > 0,
                                    IsPath(option->get_type_name())});
      }
    }
    subcommands.push_back(std::move(subcommand));
  }
  return subcommands;
}

// With a backslash before each of these characters, and on one line.
std::string Escaped(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

// Within single quotes, which have no escapes of their own.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
  return quoted + "'";
}

void WriteBash(const std::vector<Subcommand>& subcommands) {
  std::cout << "# bash completion for bitsieve\n_bitsieve() {\n"
               "  local word=${COMP_WORDS[COMP_CWORD]} words= i\n"
               "  case ${COMP_WORDS[1]} in\n";
  std::string names;
  for (const Subcommand& each : subcommands) {
    names += each.name + " ";
    std::cout << "    " << each.name << ") words='";
    for (const Flag& flag : each.flags) std::cout << flag.name << ' ';
    std::cout << "' ;;\n";
  }
  std::cout << "  esac\n"
               "  if ((COMP_CWORD == 1)); then\n"
               "    mapfile -t COMPREPLY < <(compgen -W '"
            << names
            << "--help --version' -- \"$word\")\n"
               "  elif [[ $word == -* ]]; then\n"
               "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
               "  else\n"
               "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
               "  fi\n"
               "}\n"
               "complete -o filenames -F _bitsieve bitsieve\n";
}

void WriteZsh(const std::vector<Subcommand>& subcommands) {
  constexpr std::string_view kSpecial = "\\[]:";
  std::cout << "#compdef bitsieve\n_bitsieve() {\n  local -a subcommands=(\n";
  for (const Subcommand& each : subcommands) {
    std::cout << "    " << Quoted(each.name + ":" + Escaped(each.help, kSpecial)) << '\n';
  }
  std::cout << "  )\n"
               "  if (( CURRENT == 2 )); then _describe command subcommands; return; fi\n"
               "  case $words[2] in\n";
  for (const Subcommand& each : subcommands) {
    std::cout << "    " << each.name << ") _arguments";
    for (const Flag& flag : each.flags) {
      const std::string value = !flag.has_value ? "" : flag.is_path ? ":value:_files" : ":value: ";
      std::cout << " \\\n      " << Quoted(flag.name + "[" + Escaped(flag.help, kSpecial) + "]" + value);
    }
    std::cout << " \\\n      '*:file:_files' ;;\n";
  }
  std::cout
      << "  esac\n}\nif [[ $funcstack[1] == _bitsieve ]]; then _bitsieve \"$@\"; else compdef _bitsieve bitsieve; fi\n";
}

void WriteFish(const std::vector<Subcommand>& subcommands) {
  const auto quoted = [](std::string_view text) { return "'" + Escaped(text, "\\'") + "'"; };
  std::cout << "# fish completion for bitsieve\n";
  for (const Subcommand& each : subcommands) {
    std::cout << "complete -c bitsieve -n __fish_use_subcommand -f -a " << each.name << " -d " << quoted(each.help)
              << '\n';
    for (const Flag& flag : each.flags) {
      std::cout << "complete -c bitsieve -n '__fish_seen_subcommand_from " << each.name << "' -l "
                << flag.name.substr(2) << (flag.has_value ? flag.is_path ? " -r -F" : " -x" : "") << " -d "
                << quoted(flag.help) << '\n';
    }
  }
}

}  // namespace

void AddCompletion(CLI::App& program, Action& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("completion", "Print the completion script for a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "Examples:\n  source <(bitsieve completion bash)                                       bash or zsh, for this "
      "session\n  bitsieve completion fish > ~/.config/fish/completions/bitsieve.fish      fish, permanently");
  command->callback([&program, shell, &action] {
    action = [&program, shell] {
      const std::vector<Subcommand> subcommands = SubcommandsOf(program);
      if (*shell == "bash") WriteBash(subcommands);
      if (*shell == "zsh") WriteZsh(subcommands);
      if (*shell == "fish") WriteFish(subcommands);
      return kExitOk;
    };
  });
}

}  // namespace bitsieve::cli
