#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "cli/backup/backup_progress.h"
#include "cli/bulk/input.h"
#include "cli/bulk/server_client.h"
#include "cli/client/configuration.h"
#include "cli/client/connection_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "cli/files/dump_file.h"
#include "cli/migrate/sketch_keys.h"
#include "config/flags.h"
#include "core/base/quote.h"
#include "core/base/result.h"
#include "core/filter/dump_check.h"
#include "core/filter/filter_dump.h"
#include "protocol/rdb/rdb_file.h"

namespace bitsieve::cli {
namespace {

struct ImportArguments {
  config::Flags flags;
  ConnectionFlags connection;
  std::string key;
  std::string path;
  bool replace = false;
};

// Returns the advice for a file that is not a dump of a filter.
std::string OtherWay(std::string_view begin, const std::string& path) {
  if (begin.starts_with("REDIS") || begin.starts_with("VALKEY")) {
    return ": " + RdbAdvice(path);
  }
  if (begin.starts_with(static_cast<char>(rdb::kModule2))) {
    const auto module = rdb::ModuleOfPayload(begin);
    const std::string_view sketch = module ? SketchNoun(module->name) : std::string_view();
    if (!sketch.empty()) {
      return ": this is what DUMP returned for a " + std::string(sketch) + "; " + std::string(kPlaceOfSketches);
    }
    return ": this may be what DUMP returned, which RESTORE takes; `bitsieve migrate` moves filters of RedisBloom and "
           "of bitsieve.so from a running server or an RDB file";
  }
  return "; filters of RedisBloom and of bitsieve.so are moved by `bitsieve migrate`";
}

class Importer {
 public:
  Importer(const ImportArguments& arguments, ServerClient& client)
      : arguments_(arguments), client_(client), progress_("import") {}

  core::Outcome<uint64_t> Run() {
    auto sent = Send();
    progress_.End();
    if (!sent) return tl::unexpected(sent.error());
    if (arguments_.replace) {
      const auto renamed = client_.Ask({"RENAME", Name(), arguments_.key});
      if (!renamed) return tl::unexpected(renamed.error());
      if (renamed->is_error()) return tl::unexpected(renamed->text);
    }
    return check_.total_bytes();
  }
  bool has_newline() const { return check_.has_newline(); }

 private:
  // Returns the name to load under. A filter that replaces another has a temporary name until it is whole.
  const std::string& Name() const { return arguments_.replace ? passing_name_ : arguments_.key; }

  core::Outcome<void> Send() {
    auto input = Input::Open(arguments_.path, false);
    if (!input) return tl::unexpected(input.error());
    std::string piece;
    uint64_t sent_bytes = 0;
    for (uint64_t iterator = 1;; ++iterator) {
      const auto filled = Fill(*input, piece);
      if (!filled) return tl::unexpected(filled.error());
      // All of it is known to be right before its last bytes make it a filter.
      if (const std::string problem = check_.Problem(); (!*filled || check_.total_bytes() == 0) && !problem.empty()) {
        return tl::unexpected(input->name() + ": " + problem +
                              (check_.total_bytes() == 0 ? OtherWay(piece, arguments_.path) : ""));
      }
      piece.resize(std::min<uint64_t>(piece.size(), check_.total_bytes() - sent_bytes));
      if (piece.empty()) return {};  // all that is left is a newline
      if (auto loaded = Load(iterator, piece); !loaded) return loaded;
      sent_bytes += piece.size();
      if (!*filled) return {};
      progress_.Show("sending", sent_bytes, check_.total_bytes());
    }
  }

  // False: the input has ended, and so the piece is the last. The bytes beyond a piece stay for the next one.
  core::Outcome<bool> Fill(Input& input, std::string& piece) {
    piece = std::exchange(rest_, {});
    while (piece.size() <= core::kDumpPieceBytes) {
      const auto bytes = input.Read();
      if (!bytes) return tl::unexpected(bytes.error());
      if (bytes->empty()) return false;
      check_.Add(*bytes);
      piece += *bytes;
    }
    rest_ = piece.substr(core::kDumpPieceBytes);
    piece.resize(core::kDumpPieceBytes);
    return true;
  }

  core::Outcome<void> Load(uint64_t iterator, std::string_view piece) {
    const auto reply = client_.Ask({"BF.LOADCHUNK", Name(), std::to_string(iterator), piece});
    if (!reply) return tl::unexpected(reply.error());
    if (!reply->is_error()) return {};
    if (reply->text.starts_with("WRONGTYPE")) return tl::unexpected(reply->text + NameOfSketch());
    if (reply->text.find("item exists") == std::string::npos) return tl::unexpected(reply->text);
    return tl::unexpected("there is a filter " + core::Quoted(arguments_.key) + " already: --replace replaces it");
  }

  // Returns the end of an error if the key holds a sketch, as it may in Redis and Valkey; empty if it does not.
  std::string NameOfSketch() {
    const auto type = client_.Ask({"TYPE", arguments_.key});
    const std::string_view sketch = type ? SketchNoun(type->text) : std::string_view();
    return sketch.empty() ? "" : ": " + core::Quoted(arguments_.key) + " is a " + std::string(sketch);
  }

  const ImportArguments& arguments_;
  ServerClient& client_;
  const std::string passing_name_ = arguments_.key + ":import:" + std::to_string(std::random_device()());
  core::DumpCheck check_;
  std::string rest_;
  ProgressLine progress_;
};

int RunImport(const CLI::App& command, const ImportArguments& arguments) {
  const auto server = ServerOf(command, arguments.connection, arguments.flags);
  if (!server) return kExitUsage;
  const auto fail = [&](const std::string& error) {
    std::cerr << "bitsieve import: " << server->target.Text() << ": " << error << '\n';
    return kExitFailure;
  };
  auto client = ServerClient::Connect(server->target, server->credentials);
  if (!client) return fail(client.error());
  Importer importer(arguments, *client);
  const auto bytes = importer.Run();
  if (!bytes) return fail(bytes.error());
  if (importer.has_newline()) {
    std::cerr << "bitsieve import: " << arguments.path
              << ": has a newline after the dump, as redis-cli --raw adds one; it was ignored\n";
  }
  std::cout << arguments.key << ": " << SizeText(*bytes) << ", verified\n";
  return kExitOk;
}

}  // namespace

void AddImport(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* command = program.add_subcommand("import", "Create a filter in a running server from a file");
  command->add_option("KEY", arguments->key, "Name of the filter")->required();
  command->add_option("FILE", arguments->path, "File that bitsieve export or BF.DUMP made; - is standard input")
      ->required();
  command->add_flag("--replace", arguments->replace, "Replace an existing filter of this name");
  arguments->connection.AddTo(*command);
  arguments->flags.AddFileTo(*command);
  command->footer(
      "The filter appears, or replaces the existing one, when all of it has arrived and was verified.\n\nExamples:\n  "
      "bitsieve import seen seen.bsf\n  bitsieve import seen seen.bsf --replace -u rediss://:password@filters:7380");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunImport(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
