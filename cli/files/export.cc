#include <unistd.h>

#include <iostream>
#include <memory>
#include <string>

#include "cli/backup/backup_progress.h"
#include "cli/bulk/server_client.h"
#include "cli/client/configuration.h"
#include "cli/client/connection_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "clients/cpp/whole_file.h"
#include "config/flags.h"
#include "core/base/result.h"
#include "core/filter/dump_check.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::cli {
namespace {

struct ExportArguments {
  config::Flags flags;
  ConnectionFlags connection;
  std::string key;
  std::string path;
};

class Exporter {
 public:
  Exporter(ServerClient& client, const std::string& key, clients::WholeFile& output)
      : client_(client), key_(key), output_(output), progress_("export") {}

  core::Outcome<uint64_t> Run() {
    auto copied = CopyChunks();
    progress_.End();
    if (!copied) return tl::unexpected(Explained(copied.error()));
    if (const std::string problem = check_.Problem(); !problem.empty()) {
      return tl::unexpected("what the server sent " + problem);
    }
    if (auto finished = output_.Finish(); !finished) return tl::unexpected(finished.error().message);
    return check_.total_bytes();
  }

 private:
  // The server's error for a missing filter does not name it.
  std::string Explained(const std::string& error) {
    const auto is_missing = client_.HoldsNothing(key_);
    return is_missing && *is_missing ? client_.NoFilter(key_) : error;
  }
  core::Outcome<void> CopyChunks() {
    std::string cursor = "0";
    while (true) {
      const auto reply = client_.Ask({"BF.SCANDUMP", key_, cursor});
      if (!reply) return tl::unexpected(reply.error());
      if (reply->is_error()) return tl::unexpected(reply->text);
      if (reply->elements.size() != 2)
        return tl::unexpected<std::string>("the server's reply is not a chunk of a dump");
      const int64_t next = reply->elements[0].integer;
      const std::string& chunk = reply->elements[1].text;
      // A filter of RedisBloom's making comes in RedisBloom's chunks, which have no checksum.
      if (cursor == "0" && !core::IsFilterDump(chunk)) return CopyWhole();
      if (next == 0) return {};
      if (auto copied = Copy(chunk); !copied) return copied;
      cursor = std::to_string(next);
    }
  }
  core::Outcome<void> CopyWhole() {
    const auto reply = client_.Ask({"BF.DUMP", key_});
    if (!reply) return tl::unexpected(reply.error());
    return reply->is_error() ? tl::unexpected(reply->text) : Copy(reply->text);
  }
  core::Outcome<void> Copy(std::string_view bytes) {
    check_.Add(bytes);
    done_bytes_ += bytes.size();
    progress_.Show("copying", done_bytes_, check_.total_bytes());
    if (auto written = output_.Write(bytes); !written) return tl::unexpected(written.error().message);
    return {};
  }

  ServerClient& client_;
  const std::string& key_;
  clients::WholeFile& output_;
  core::DumpCheck check_;
  uint64_t done_bytes_ = 0;
  ProgressLine progress_;
};

core::Outcome<uint64_t> Export(const ExportArguments& arguments, const Target& target, const Credentials& credentials) {
  auto client = ServerClient::Connect(target, credentials);
  if (!client) return tl::unexpected(client.error());
  auto output = arguments.path == "-" ? core::Result<clients::WholeFile>(clients::WholeFile::StandardOutput())
                                      : clients::WholeFile::Create(arguments.path);
  if (!output) return tl::unexpected(output.error().message);
  return Exporter(*client, arguments.key, *output).Run();
}

int RunExport(const CLI::App& command, const ExportArguments& arguments) {
  const auto server = ServerOf(command, arguments.connection, arguments.flags);
  if (!server) return kExitUsage;
  if (arguments.path == "-" && ::isatty(STDOUT_FILENO) != 0) {
    std::cerr << "bitsieve export: a dump cannot be written to a terminal: name a file, or redirect standard output\n";
    return kExitUsage;
  }
  const auto bytes = Export(arguments, server->target, server->credentials);
  if (!bytes) {
    std::cerr << "bitsieve export: " << server->target.Text() << ": " << bytes.error() << '\n';
    return kExitFailure;
  }
  if (arguments.path != "-") std::cout << arguments.path << ": " << SizeText(*bytes) << ", verified\n";
  return kExitOk;
}

}  // namespace

void AddExport(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = program.add_subcommand("export", "Write a filter of a running server to a file");
  command->add_option("KEY", arguments->key, "Name of the filter")->required();
  command->add_option("FILE", arguments->path, "File to write; - is standard output")->required();
  arguments->connection.AddTo(*command);
  arguments->flags.AddFileTo(*command);
  command->footer(
      "The file contains the filter as of one moment, with a checksum, but not its name and expiry. It appears when it "
      "is complete and verified. bitsieve import makes a filter from it, and bitsieve inspect describes "
      "it.\n\nExamples:\n  bitsieve export seen seen.bsf\n  bitsieve export seen - | ssh other bitsieve import seen -");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunExport(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
