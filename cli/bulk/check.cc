#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "cli/bulk/batch_maker.h"
#include "cli/bulk/bulk_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "core/base/result.h"

namespace bitsieve::cli {
namespace {

struct CheckArguments {
  BulkFlags bulk;
  std::string key;
  std::string path = "-";
  bool absent = false;
  bool add = false;
  bool create = false;
  bool skip_bad = false;
};

// Prints the records whose items are there, or are not, in their order.
class Checker {
 public:
  Checker(const CheckArguments& arguments, Pipeline::Settings settings)
      : arguments_(arguments),
        format_(arguments.bulk.Format()),
        settings_(std::move(settings)),
        pipeline_(Settings(), [this](const Batch& batch, const std::vector<Reply>& replies) {
          return Print(batch, replies.front());
        }) {}

  core::Outcome<void> Run() {
    auto input = arguments_.bulk.Open(arguments_.path);
    if (!input) return tl::unexpected(input.error());
    const auto command = Command();
    if (!command) return tl::unexpected(command.error());
    if (auto connected = pipeline_.Connect(); !connected) return connected;
    BatchMaker maker(*command);
    RecordReader reader([&] { return ReadOrFlush(*input, maker); }, format_);
    while (true) {
      const auto record = reader.Next();
      if (!record && reader.is_bad_record() && arguments_.skip_bad) {
        Skip(input->name() + ": " + record.error());
        continue;
      }
      if (!record) return tl::unexpected(input->name() + ": " + record.error());
      if (!*record) break;
      maker.Add((*record)->item);
      maker.batch().lines.emplace_back((*record)->whole);
      if (!maker.IsFull()) continue;
      if (auto put = pipeline_.Put(maker.Take()); !put) return put;
    }
    return Finish(maker);
  }

  uint64_t skipped() const { return skipped_; }
  const std::string& first_skipped() const { return first_skipped_; }

 private:
  void Skip(std::string reason) {
    if (skipped_++ == 0) first_skipped_ = std::move(reason);
  }
  // Flushes before it waits for more input, so that input written in portions is answered in portions.
  core::Outcome<std::string_view> ReadOrFlush(Input& input, BatchMaker& maker) {
    if (!input.IsReady()) {
      if (auto done = Finish(maker); !done) return tl::unexpected(done.error());
    }
    return input.Read();
  }
  // Looks up and prints what was read.
  core::Outcome<void> Finish(BatchMaker& maker) {
    if (!maker.empty()) {
      if (auto put = pipeline_.Put(maker.Take()); !put) return put;
    }
    if (auto drained = pipeline_.Drain(); !drained) return drained;
    if (std::fflush(stdout) != 0) return tl::unexpected<std::string>("standard output cannot be written");
    return {};
  }

  // With --add nothing is sent again, since items that were added the first time would not be new any more; and there
  // is one connection, so that of equal items the first one is the new one.
  Pipeline::Settings Settings() const {
    Pipeline::Settings settings = settings_;
    if (arguments_.add) {
      settings.retry = std::chrono::seconds(0);
      settings.connections = 1;
    }
    return settings;
  }

  core::Outcome<ItemCommand> Command() const {
    auto client = ServerClient::Connect(settings_.target, settings_.credentials);
    if (!client) return tl::unexpected(client.error());
    const auto is_missing = client->HoldsNothing(arguments_.key);
    if (!is_missing) return tl::unexpected(is_missing.error());
    if (*is_missing && !arguments_.create) {
      return tl::unexpected(client->NoFilter(arguments_.key, arguments_.add ? "--create makes one that grows" : ""));
    }
    const auto cuckoo = client->HoldsCuckoo(arguments_.key);
    if (!cuckoo) return tl::unexpected(cuckoo.error());
    if (!arguments_.add) return ItemCommand{{*cuckoo ? "CF.MEXISTS" : "BF.MEXISTS", arguments_.key}};
    if (*cuckoo) return ItemCommand{{"CF.INSERTNX", arguments_.key, "NOCREATE", "ITEMS"}};
    return ItemCommand{{"BF.MADD", arguments_.key}};
  }

  core::Outcome<void> Print(const Batch& batch, const Reply& reply) {
    if (reply.is_error()) return tl::unexpected(reply.text);
    // 1: it is there; or with --add, it is new.
    const int64_t wanted = arguments_.absent ? 0 : 1;
    for (size_t i = 0; i < batch.lines.size(); ++i) {
      if (i >= reply.elements.size()) return tl::unexpected<std::string>("the server's reply is too short");
      const Reply& each = reply.elements[i];
      if (each.is_error()) return tl::unexpected(each.text);
      if (each.integer < 0) return tl::unexpected<std::string>("the filter is full");
      if (each.integer != wanted) continue;
      std::fwrite(batch.lines[i].data(), 1, batch.lines[i].size(), stdout);
      if (format_.kind != RecordFormat::kBinary) std::fputc(format_.kind == RecordFormat::kNul ? '\0' : '\n', stdout);
    }
    return std::ferror(stdout) == 0 ? core::Outcome<void>()
                                    : tl::unexpected<std::string>("standard output cannot be written");
  }

  const CheckArguments& arguments_;
  const RecordFormat format_;
  const Pipeline::Settings settings_;
  Pipeline pipeline_;
  uint64_t skipped_ = 0;
  std::string first_skipped_;
};

int RunCheck(const CLI::App& command, const CheckArguments& arguments) {
  if (arguments.absent && arguments.add) {
    std::cerr << "bitsieve check: --add already prints the absent items: omit --absent\n";
    return kExitUsage;
  }
  if (arguments.create && !arguments.add) {
    std::cerr << "bitsieve check: --create needs --add\n";
    return kExitUsage;
  }
  auto settings = arguments.bulk.Settings(command);
  if (!settings) return kExitUsage;
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the output may close it early
  const std::string server = settings->target.Text();
  Checker checker(arguments, std::move(*settings));
  const auto done = checker.Run();
  if (!done) std::cerr << "bitsieve check: " << server << ": " << done.error() << '\n';
  if (checker.skipped() != 0) {
    std::cerr << "bitsieve check: skipped records without an item: " << CountText(checker.skipped())
              << "; the first: " << checker.first_skipped() << '\n';
  }
  return done && checker.skipped() == 0 ? kExitOk : kExitFailure;
}

}  // namespace

void AddCheck(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = program.add_subcommand("check", "Print the lines of a file that are in a filter, or are not");
  command->add_option("KEY", arguments->key, "Name of the filter")->required();
  command->add_option("FILE", arguments->path, "File to read; - is standard input [-]");
  command->add_flag("--absent", arguments->absent, "Print those that are not in the filter");
  command->add_flag("--add", arguments->add, "Add every item, and print the new ones, each once");
  command->add_flag("--create", arguments->create, "With --add: create a filter that grows if there is none");
  command->add_flag("--skip-bad", arguments->skip_bad,
                    "Continue after records that have no item, and report their number at the end");
  arguments->bulk.AddTo(*command);
  command->footer(
      "Records are printed whole and in their order, even if the item is only a part of them.\nExit status: 0 if "
      "everything was looked up, 1 if not or if records were skipped, 2 if the command line is wrong.\n\nExamples:\n  "
      "bitsieve check seen < urls                      the lines that are probably there\n  bitsieve check seen "
      "--absent urls.gz            those that are definitely not\n  bitsieve check seen --add < urls > new-urls     "
      "skip what was there before, and remember the rest\n  bitsieve check bad --format csv --field url access.csv");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunCheck(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
