#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/client/configuration.h"
#include "cli/commands.h"
#include "cli/files/dump_file.h"
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

int InspectDump(const InspectArguments& arguments) {
  core::MemoryBudget memory;
  const core::Result<DumpFile> dump = ReadDumpFile(arguments.directory, memory);
  if (!dump) {
    std::cerr << "bitsieve inspect: " << dump.error().message << '\n';
    return dump.error().code == core::ErrorCode::kCorrupt ? kExitDamaged : kExitUnreadable;
  }
  const core::Filter& filter = *dump->filter;
  const core::FilterInfo info = filter.Info();
  nlohmann::ordered_json shown = {{"type", filter.type().name},      {"items", info.items},
                                  {"capacity", info.capacity},       {"error_rate", filter.params().error_rate},
                                  {"sub_filters", info.sub_filters}, {"false_positives", info.false_positives},
                                  {"memory_bytes", info.size_bytes}, {"dump_bytes", dump->bytes}};
  if (arguments.json) {
    std::cout << shown.dump() << '\n';
    return kExitOk;
  }
  std::cout << arguments.directory << ": the dump of a filter, complete and undamaged\n";
  for (const auto& [name, value] : shown.items()) {
    std::cout << "  " << name << ": " << (value.is_string() ? value.get<std::string>() : value.dump()) << '\n';
  }
  return kExitOk;
}

int RunInspect(const InspectArguments& arguments) {
  if (std::filesystem::is_regular_file(arguments.directory)) {
    if (IsDumpFile(arguments.directory)) return InspectDump(arguments);
    if (IsRdbFile(arguments.directory)) {
      std::cerr << "bitsieve inspect: " << arguments.directory << ": " << RdbAdvice(arguments.directory)
                << "; --dry-run lists them\n";
      return kExitUnreadable;
    }
    std::cerr
        << "bitsieve inspect: " << arguments.directory
        << " is a file. If it is an archive that bitsieve backup made, unpack it into an empty directory (tar -xf "
           "ARCHIVE -C DIR) and inspect that; bitsieve restore verifies all of it\n";
    return kExitUnreadable;
  }
  const server::PosixDisk disk;
  const auto found = server::Inspect(disk, WithoutSlashes(arguments.directory),
                                     arguments.verify ? server::InspectDepth::kContents : server::InspectDepth::kHeads);
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
      "Nothing is changed, and a server may be running. --verify needs as much memory as the largest filter.\nExit "
      "status: 0 if nothing is wrong, 1 if something is damaged or missing, 2 if something cannot be read\n(no such "
      "directory, or files of a newer version) or the command line is wrong.");
  command
      ->add_option("directory", arguments->directory,
                   "The data directory (the server's option dir), a backup, or a file that bitsieve export wrote")
      ->required()
      ->type_name("DIR");
  command->add_flag("--verify", arguments->verify, "Read every byte of all filter files and of the log");
  command->add_flag("--json", arguments->json, "Print one JSON object, for scripts");
  command->callback([arguments, &action] { action = [arguments] { return RunInspect(*arguments); }; });
}

}  // namespace bitsieve::cli
