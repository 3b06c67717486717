#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/persistence/inspect/inspection.h"
#include "server/persistence/inspect/inspection_report.h"

namespace bitsieve::cli {
namespace {

constexpr int kExitDamaged = 1;
constexpr int kExitUnreadable = 2;

struct InspectArguments {
  std::string directory;
  bool verify = false;
  bool json = false;
};

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

int RunInspect(const InspectArguments& arguments) {
  const server::PosixDisk disk;
  const auto found = server::Inspect(disk, WithoutSlashes(arguments.directory), arguments.verify);
  if (!found) {
    std::cerr << "bitsieve inspect: " << found.error().message << '\n';
    return kExitUnreadable;
  }
  std::cout << (arguments.json ? server::JsonOf(*found) : server::TextOf(*found));
  if (!found->unreadable.empty()) return kExitUnreadable;
  return found->damage.empty() ? kExitOk : kExitDamaged;
}

}  // namespace

void AddInspect(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = program.add_subcommand("inspect", "Show what a data directory contains and check it for damage");
  command->footer(
      "Nothing is changed, and a server may be running. --verify needs the memory of the largest filter.\n"
      "Exit status: 0 if nothing is wrong, 1 if something is damaged or missing, 2 if something cannot be read\n"
      "(no such directory, or files of a newer version) or the command line is wrong.");
  command->add_option("directory", arguments->directory, "The data directory (option dir of the server)")
      ->required()
      ->type_name("DIR");
  command->add_flag("--verify", arguments->verify, "Read every byte of all filter files and of the log");
  command->add_flag("--json", arguments->json, "Print one JSON object, for scripts");
  command->callback([arguments, &action] { action = [arguments] { return RunInspect(*arguments); }; });
}

}  // namespace bitsieve::cli
