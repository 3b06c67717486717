#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "cli/backup/backup_progress.h"
#include "cli/client/configuration.h"
#include "cli/commands.h"
#include "cli/files/dump_file.h"
#include "config/flags.h"
#include "core/base/descriptor.h"
#include "server/persistence/backup/archive.h"
#include "server/persistence/backup/backup.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/process/file_limit.h"

namespace bitsieve::cli {
namespace {

constexpr const char* kRestore = "restore";

struct RestoreArguments {
  config::Flags flags;
  std::string source;
  std::string key;
};

core::Status CopyFrom(const std::string& source, server::Disk& disk, const std::string& target,
                      const server::BackupProgress& progress) {
  server::RaiseFileLimit(server::kBackupFiles);
  const auto pinned = server::PinnedDirectory::Pin(disk, source);
  if (!pinned) return tl::unexpected(pinned.error());
  return server::CopyFiles(**pinned, disk, target, progress);
}

core::Status ExtractFrom(const std::string& source, server::Disk& disk, const std::string& target,
                         const server::BackupProgress& progress) {
  core::Descriptor opened;
  if (source != "-") {
    opened = core::Descriptor(::open(source.c_str(), O_RDONLY | O_CLOEXEC));
    if (opened.get() < 0) {
      return core::Fail(core::ErrorCode::kIo, source + ": cannot open: " + std::strerror(errno));
    }
  }
  const server::ArchiveSource archive{.name = source == "-" ? "standard input" : source,
                                      .descriptor = source == "-" ? STDIN_FILENO : opened.get(),
                                      .bytes = {}};
  // An archive that would fill the disk to its end is refused before it does.
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(target, error);
  if (error) return core::Fail(core::ErrorCode::kIo, target + ": " + error.message());
  return server::ExtractArchive(archive, disk, target, {.bytes = space.available}, progress);
}

// Returns what is wrong with the command line.
config::Problems ProblemsOf(const RestoreArguments& arguments, bool is_dump) {
  config::Problems wrong;
  if (arguments.source == "-" && ::isatty(STDIN_FILENO) != 0)
    wrong.emplace_back("an archive cannot be read from a terminal");
  if (IsRdbFile(arguments.source)) wrong.push_back(arguments.source + ": " + RdbAdvice(arguments.source));
  if (is_dump && arguments.key.empty()) {
    wrong.push_back(arguments.source + " holds a filter without its name: give that as --key, or, to put the filter " +
                    "into a running server, use bitsieve import");
  }
  if (!is_dump && !arguments.key.empty()) {
    wrong.push_back("--key is for a file that bitsieve export wrote, which " + arguments.source + " is not");
  }
  return wrong;
}

// The dump is read first: one that is damaged leaves no files.
core::Result<server::Inspection> RestoreDump(const RestoreArguments& arguments, server::Disk& disk,
                                             const std::string& target, const server::BackupProgress& progress) {
  progress("reading", 0, 0);
  core::MemoryBudget memory;
  const core::Result<DumpFile> dump = ReadDumpFile(arguments.source, memory);
  if (!dump) return tl::unexpected(dump.error());
  const server::FillDirectory fill = [&](const std::string& path) {
    return server::WriteSnapshotOf(*dump->filter, arguments.key, disk, path);
  };
  return server::Restore(fill, disk, target, progress);
}

core::Result<server::Inspection> RestoreBackup(const RestoreArguments& arguments, server::Disk& disk,
                                               const std::string& target, const server::BackupProgress& progress) {
  const bool is_directory = arguments.source != "-" && std::filesystem::is_directory(arguments.source);
  const server::FillDirectory fill = [&](const std::string& path) {
    return is_directory ? CopyFrom(WithoutSlashes(arguments.source), disk, path, progress)
                        : ExtractFrom(arguments.source, disk, path, progress);
  };
  return server::Restore(fill, disk, target, progress);
}

int RunRestore(const CLI::App& command, const RestoreArguments& arguments) {
  const bool is_dump = IsDumpFile(arguments.source);
  const auto configuration = LoadOrExplain(command, arguments.flags.ToSources(), ProblemsOf(arguments, is_dump));
  if (!configuration) return kExitUsage;
  const std::string& dir = configuration->options.dir;
  const std::string target = std::filesystem::absolute(WithoutSlashes(dir)).lexically_normal();
  ProgressLine line(kRestore);
  server::PosixDisk disk;
  const auto done =
      (is_dump ? RestoreDump : RestoreBackup)(arguments, disk, target, [&](auto... now) { line.Show(now...); });
  line.End();
  if (!done) return Fail(kRestore, done.error());
  std::cout << dir << ": " << Described(*done) << "; verified\n";
  return kExitOk;
}

}  // namespace

void AddRestore(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<RestoreArguments>();
  CLI::App* command = program.add_subcommand(kRestore, "Make a data directory from a backup, or from one filter");
  command->footer(
      "The data directory must be absent or empty, and no server may use it. The whole backup is verified "
      "before\nanything is put in place; after an interrupted restore, the next one starts from the beginning.\nExit "
      "status: 0 if the data was restored and verified, 1 if not, 2 if the command line or the configuration is "
      "wrong.");
  command
      ->add_option("backup", arguments->source,
                   "A backup: a directory, an archive, or - for an archive on standard input; or a file that bitsieve "
                   "export wrote")
      ->required()
      ->type_name("BACKUP|FILE|-");
  command
      ->add_option("--key", arguments->key,
                   "Name for the filter in a file that bitsieve export wrote, which does not contain the name")
      ->type_name("KEY");
  arguments->flags.AddOneTo(*command, "dir");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunRestore(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
