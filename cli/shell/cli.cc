#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "cli/client/connection_flags.h"
#include "cli/commands.h"
#include "cli/shell/shell.h"
#include "config/flags.h"

namespace bitsieve::cli {
namespace {

struct CliArguments {
  config::Flags flags;
  ConnectionFlags connection;
  bool is_resp3 = false;
  bool is_raw = false;
  bool is_for_terminal = false;
  bool reads_last_argument = false;
  uint64_t repetitions = 1;
  double interval_s = 0;
};

ReplyStyle StyleOf(const CliArguments& arguments) {
  if (arguments.is_raw) return ReplyStyle::kRaw;
  return arguments.is_for_terminal || isatty(STDOUT_FILENO) != 0 ? ReplyStyle::kTerminal : ReplyStyle::kRaw;
}

bool RunCommand(Shell& shell, Shell::Words command, const CliArguments& arguments) {
  if (arguments.reads_last_argument) {
    command.emplace_back(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  bool succeeded = true;
  for (uint64_t i = 0; i < arguments.repetitions; ++i) {
    if (i != 0) std::this_thread::sleep_for(std::chrono::duration<double>(arguments.interval_s));
    succeeded &= shell.Run(command);
  }
  return succeeded;
}

int RunCli(const CLI::App& program, const CliArguments& arguments) {
  const Shell::Words command = program.remaining();
  if (arguments.reads_last_argument && command.empty()) {
    std::cerr << "bitsieve cli: -x needs a command, whose last argument it reads\n";
    return kExitUsage;
  }
  std::ios::sync_with_stdio(false);  // else long input and output are copied byte by byte
  const auto server = ServerOf(program, arguments.connection, arguments.flags);
  if (!server) return kExitUsage;
  ShellConnection connection(server->target, server->credentials, arguments.is_resp3);
  Shell shell(connection, StyleOf(arguments));
  bool succeeded = true;
  if (!command.empty()) {
    succeeded = RunCommand(shell, command, arguments);
  } else if (isatty(STDIN_FILENO) != 0) {
    shell.RunPrompt();
  } else {
    succeeded = shell.RunLines(std::cin);
  }
  return succeeded ? kExitOk : kExitFailure;
}

}  // namespace

void AddCli(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CliArguments>();
  CLI::App* command =
      program.add_subcommand("cli", "Send commands to a server: at a prompt, from a pipe, or a single one");
  command->prefix_command();
  command->footer(
      "Examples:\n  bitsieve cli                        a prompt, with history, hints and Tab\n  bitsieve cli BF.ADD "
      "seen alice      one command; its arguments are passed on unchanged\n  bitsieve cli < commands.txt         a "
      "command on each line\nExit status: 0 if every command succeeded, 1 if a reply was an error or the connection "
      "was lost, 2 if the command line or the configuration is wrong.");
  arguments->connection.AddTo(*command);
  command->add_flag("-3,--resp3", arguments->is_resp3,
                    "Request RESP3 from the server, in which replies have more types");
  auto* const raw =
      command->add_flag("--raw", arguments->is_raw, "Print replies raw [if standard output is not a terminal]");
  command
      ->add_flag("--no-raw", arguments->is_for_terminal,
                 "Print replies with their types [if standard output is a terminal]")
      ->excludes(raw);
  command->add_flag("-x", arguments->reads_last_argument, "Read the last argument from standard input");
  command->add_option("-r,--repeat", arguments->repetitions, "Send the command this many times [1]")
      ->check(CLI::Range(uint64_t{1}, UINT64_MAX))
      ->type_name("NUMBER");
  command->add_option("-i,--interval", arguments->interval_s, "Seconds to wait between repetitions [0]")
      ->check(CLI::Range(0.0, 86400.0))
      ->type_name("seconds");
  arguments->flags.AddFileTo(*command);
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunCli(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
