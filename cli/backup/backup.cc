#include "server/persistence/backup/backup.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/backup/backup_progress.h"
#include "cli/client/configuration.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "config/flags.h"
#include "server/persistence/backup/archive.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/process/file_limit.h"

namespace bitsieve::cli {
namespace {

constexpr const char* kBackup = "backup";

struct BackupArguments {
  config::Flags flags;
  std::string target;
  std::string compression;
};

// A server on the same machine comes first. Only hints: their failure changes nothing.
void GiveWay() {
  constexpr int kNice = 10;
  constexpr int kLowestOfBestEffort = (2 << 13) | 7;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  (void)::syscall(SYS_ioprio_set, 1, 0, kLowestOfBestEffort);
}

core::Result<server::Inspection> BackUpTo(const server::PinnedDirectory& source, const BackupArguments& arguments,
                                          const server::BackupProgress& progress) {
  if (arguments.target != "-") {
    server::PosixDisk disk;
    const std::string target = std::filesystem::absolute(WithoutSlashes(arguments.target)).lexically_normal();
    return server::BackUp(source, disk, target, progress);
  }
  // Nothing can be read back from a pipe: what is read for it is verified before.
  progress("verifying", 0, source.bytes());
  core::Result<server::Inspection> found = server::VerifyBackup(source, source.path());
  if (!found) return found;
  auto compression = server::Compression::kNone;
  if (arguments.compression == "gzip") compression = server::Compression::kGzip;
  if (arguments.compression == "zstd") compression = server::Compression::kZstd;
  core::Status written = server::WriteArchive(source, STDOUT_FILENO, compression, progress);
  return written ? std::move(found) : tl::unexpected(std::move(written.error()));
}

int RunBackup(const CLI::App& command, const BackupArguments& arguments) {
  const bool to_stream = arguments.target == "-";
  config::Problems wrong;
  if (to_stream && ::isatty(STDOUT_FILENO) != 0) wrong.emplace_back("an archive cannot be written to a terminal");
  if (!to_stream && !arguments.compression.empty()) wrong.emplace_back("--compress is for an archive, not a directory");
  const auto configuration = LoadOrExplain(command, arguments.flags.ToSources(), std::move(wrong));
  if (!configuration) return kExitUsage;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error like any other
  GiveWay();
  server::RaiseFileLimit(server::kBackupFiles);
  const server::PosixDisk disk;
  const auto source = server::PinnedDirectory::Pin(disk, WithoutSlashes(configuration->options.dir));
  if (!source) return Fail(kBackup, source.error());
  ProgressLine line(kBackup);
  const auto done = BackUpTo(**source, arguments, [&](auto... now) { line.Show(now...); });
  line.End();
  if (!done) return Fail(kBackup, done.error());
  (to_stream ? std::cerr : std::cout) << (to_stream ? "standard output" : arguments.target) << ": " << Described(*done)
                                      << "; " << (*source)->files().size() << " files, " << SizeText((*source)->bytes())
                                      << ", verified\n";
  return kExitOk;
}

}  // namespace

void AddBackup(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<BackupArguments>();
  CLI::App* command =
      program.add_subcommand(kBackup, "Copy the data of a running or stopped server, and verify the copy");
  command->footer(
      "The server is not contacted and not disturbed. The copy contains what a crash at this moment would leave: "
      "everything\nthat was acknowledged before, as far as appendfsync promises. It is verified, and appears complete "
      "or not at all.\nExit status: 0 if the copy was made and verified, 1 if not, 2 if the command line or the "
      "configuration is wrong.");
  command
      ->add_option("target", arguments->target,
                   "A directory, absent or empty; or - for a tar archive on standard output")
      ->required()
      ->type_name("DIR|-");
  command->add_option("--compress", arguments->compression, "Compress the archive")
      ->check(CLI::IsMember({"gzip", "zstd"}));
  arguments->flags.AddOneTo(*command, "dir");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunBackup(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
