#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk/batch_maker.h"
#include "cli/bulk/bulk_flags.h"
#include "cli/bulk/load_progress.h"
#include "cli/bulk/load_reservation.h"
#include "cli/bulk/load_state.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "core/base/quote.h"
#include "core/base/result.h"

namespace bitsieve::cli {
namespace {

constexpr std::chrono::seconds kBetweenStates{1};
constexpr std::string_view kWaysToMakeOne =
    "--create makes one that grows, --reserve ERROR,ITEMS one for a number of items";

volatile std::sig_atomic_t interrupted = 0;
bool IsInterrupted() { return interrupted != 0; }

struct LoadArguments {
  BulkFlags bulk;
  std::string key;
  std::vector<std::string> files = {"-"};
  std::string reserve;
  std::string type;
  bool remove = false;
  bool create = false;
  bool resume = false;
  bool skip_bad = false;
  bool sync = false;
  bool quiet = false;
  bool json = false;
};

class Loader {
 public:
  Loader(const LoadArguments& arguments, const Pipeline::Settings& settings)
      : arguments_(arguments),
        settings_(settings),
        pipeline_(settings,
                  [this](const Batch& batch, const std::vector<Reply>& replies) { return Count(batch, replies); }),
        progress_(FormOf(arguments), TotalBytes(arguments.files)) {}

  core::Outcome<void> Run() {
    auto client = ServerClient::Connect(settings_.target, settings_.credentials);
    if (!client) return tl::unexpected(client.error());
    if (auto reserved = Reserve(*client); !reserved || interrupted) return reserved;
    const auto command = Command(*client);
    if (!command) return tl::unexpected(command.error());
    if (auto connected = pipeline_.Connect(); !connected) return connected;
    progress_.Begin(LoadProgress::Phase::kLoading);
    for (const std::string& file : arguments_.files) {
      auto loaded = LoadFile(file, *command);
      progress_.End();
      if (!loaded) return loaded;
      if (interrupted) return {};
    }
    if (arguments_.sync) {
      if (auto synced = pipeline_.AwaitDisk(); !synced) return synced;
    }
    if (pipeline_.has_restarted()) {
      return tl::unexpected<std::string>(
          "the server was restarted during the load, and may have lost the last changes that it acknowledged: load the "
          "input again; items that are already there are not changed");
    }
    if (arguments_.resume) {
      for (const std::string& file : arguments_.files) RemoveLoadState(file);
    }
    return {};
  }

  LoadCounts counts() const {
    LoadCounts all = done_;
    return all += state_.counts;
  }
  const std::string& first_refusal() const { return first_refusal_; }
  double seconds() const { return progress_.seconds(); }
  uint64_t retries() const { return pipeline_.retries(); }

 private:
  static LoadProgress::Form FormOf(const LoadArguments& arguments) {
    return arguments.quiet ? LoadProgress::Form::kNone : LoadProgress::FormOfStandardError();
  }
  static uint64_t TotalBytes(const std::vector<std::string>& files) {
    uint64_t bytes = 0;
    for (const std::string& file : files) {
      std::error_code error;
      const auto size = std::filesystem::file_size(file, error);
      if (error) return 0;
      bytes += size;
    }
    return bytes;
  }
  std::string HowToGoOn() const {
    return arguments_.resume ? " (progress was recorded; the same command continues from there)" : "";
  }

  core::Outcome<void> Reserve(ServerClient& client) {
    if (arguments_.reserve.empty()) return {};
    const Reservation reservation = ParseReservation(arguments_.reserve).value();
    core::Outcome<std::optional<uint64_t>> items = reservation.items;
    if (!*items) {
      items = ItemCounter(arguments_.bulk, arguments_.type, progress_).Count(arguments_.files, IsInterrupted);
      progress_.End();
    }
    if (!items) return tl::unexpected(items.error());
    if (!*items) return {};  // interrupted
    const std::string capacity = std::to_string(std::max<uint64_t>(**items, 1));
    const auto reply =
        arguments_.type == "rediscuckoo" ? client.Ask({"CF.RESERVE", arguments_.key, capacity})
        : arguments_.type.empty()
            ? client.Ask({"BF.RESERVE", arguments_.key, reservation.error_rate, capacity})
            : client.Ask({"BF.RESERVE", arguments_.key, reservation.error_rate, capacity, "TYPE", arguments_.type});
    if (!reply) return tl::unexpected(reply.error());
    is_new_ = !reply->is_error();
    if (is_new_) return {};
    if (reply->text.find("exists") == std::string::npos) return tl::unexpected(reply->text);
    if (arguments_.resume) return {};
    return tl::unexpected("there is a filter " + core::Quoted(arguments_.key) +
                          " already; without --reserve, the items are added to it");
  }

  core::Outcome<ItemCommand> Command(ServerClient& client) {
    const auto is_missing = client.HoldsNothing(arguments_.key);
    if (!is_missing) return tl::unexpected(is_missing.error());
    if (*is_missing && !arguments_.create) {
      return tl::unexpected(client.NoFilter(arguments_.key, arguments_.remove ? "" : kWaysToMakeOne));
    }
    is_new_ |= *is_missing;
    const auto cuckoo = client.HoldsCuckoo(arguments_.key);
    if (!cuckoo) return tl::unexpected(cuckoo.error());
    if (arguments_.remove)
      return *cuckoo ? ItemCommand{{"CF.DEL", arguments_.key}, true} : ItemCommand{{"BF.MDEL", arguments_.key}};
    if (arguments_.bulk.has_ttl_field()) return TimedCommand(client);
    if (*cuckoo) return ItemCommand{{"CF.INSERT", arguments_.key, "NOCREATE", "ITEMS"}};
    return ItemCommand{{"BF.MADD", arguments_.key}};
  }

  core::Outcome<ItemCommand> TimedCommand(ServerClient& client) {
    const auto type = client.Ask({"BF.INFO", arguments_.key, "TTL"});
    if (!type) return tl::unexpected(type.error());
    if (type->is_error()) {
      return tl::unexpected("--ttl-field needs a filter of type expiring, and " + core::Quoted(arguments_.key) +
                            " is of another type; BF.RESERVE ... TYPE expiring TTL 24h creates one");
    }
    return ItemCommand{.words = {"BF.MADD", arguments_.key},
                       .timed_words = {"BF.INSERT", arguments_.key, "NOCREATE", "PX"}};
  }

  // With --resume, continues after what an earlier load of the file did.
  core::Outcome<void> Resume(const std::string& file, RecordReader& reader) {
    state_ = safe_state_ = {.key = arguments_.key};
    if (!arguments_.resume) return {};
    const auto before = ReadLoadState(file);
    if (!before) return tl::unexpected(before.error());
    if (!*before) return {};
    if ((*before)->key != arguments_.key) {
      return tl::unexpected(file + ": was loaded into " + core::Quoted((*before)->key) + " before; remove " +
                            LoadStatePath(file) + " to begin again");
    }
    if (is_new_ && (*before)->position != 0) {
      return tl::unexpected(file + ": was loaded before into a filter " + core::Quoted(arguments_.key) +
                            " that is no longer there; remove " + LoadStatePath(file) + " to begin again");
    }
    state_ = **before;
    return reader.SkipTo(state_.position, state_.records);
  }

  core::Outcome<void> LoadFile(const std::string& file, const ItemCommand& command) {
    file_ = file;
    auto input = arguments_.bulk.Open(file, IsInterrupted);
    if (interrupted) return {};
    if (!input) return tl::unexpected(input.error());
    RecordReader reader([&input] { return input->Read(); }, arguments_.bulk.Format());
    if (auto resumed = Resume(file, reader); !resumed) return resumed;
    progress_.Skip(state_.counts.read, input->file_position());
    auto loaded = Send(*input, reader, command);
    // The state is written after a failure, too: it has all that was acknowledged.
    if (arguments_.resume) {
      if (auto written = WriteLoadState(file_, state_); loaded && !written) loaded = written;
    }
    if (!loaded) return tl::unexpected(loaded.error() + HowToGoOn());
    done_ += std::exchange(state_.counts, {});
    bytes_before_ += input->file_bytes();
    return {};
  }

  core::Outcome<void> Send(Input& input, RecordReader& reader, const ItemCommand& command) {
    BatchMaker maker(command);
    const auto put = [&]() -> core::Outcome<void> {
      if (maker.empty()) return {};
      maker.batch().end_position = reader.position();
      maker.batch().end_records = reader.records();
      return pipeline_.Put(maker.Take());
    };
    core::Outcome<void> failure;
    while (!interrupted) {
      const auto record = reader.Next();
      if (!record) {
        if (interrupted) break;
        if (reader.is_bad_record() && arguments_.skip_bad) {
          Refuse(1, input.name() + ": " + record.error());
          ++state_.counts.read;
          continue;
        }
        failure = tl::unexpected(input.name() + ": " + record.error());
        break;
      }
      if (!*record) break;
      maker.Add((*record)->item, (*record)->ttl_ms);
      if (!maker.IsFull()) continue;
      if (auto sent = put(); !sent) return sent;
      progress_.Show(counts(), bytes_before_ + input.file_position());
    }
    if (auto sent = put(); !sent) return sent;
    if (auto drained = pipeline_.Drain(); !drained) return drained;
    return failure;
  }

  void Refuse(uint64_t items, const std::string& reason) {
    if (items == 0) return;
    state_.counts.refused += items;
    if (first_refusal_.empty()) first_refusal_ = reason;
  }

  void Count(const Reply& of_item) {
    if (of_item.is_error()) {
      Refuse(1, of_item.text);
    } else if (of_item.integer < 0) {
      Refuse(1, "the filter is full");
    } else {
      ++(of_item.integer == 0 ? state_.counts.present : state_.counts.added);
    }
  }

  core::Outcome<void> CountArray(size_t items, const Reply& of_items) {
    if (of_items.is_error()) {
      if (!arguments_.bulk.has_ttl_field()) return tl::unexpected(of_items.text);
      Refuse(items, of_items.text);  // of a time that items of the filter cannot have
      return {};
    }
    for (const Reply& each : of_items.elements) Count(each);
    // A full filter ends its reply early, at the error.
    Refuse(items - of_items.elements.size(), "the server did not process it");
    return {};
  }

  core::Outcome<void> Count(const Batch& batch, const std::vector<Reply>& replies) {
    if (batch.one_each) {
      for (const Reply& each : replies) Count(each);
    } else {
      for (size_t i = 0; i < replies.size(); ++i) {
        if (auto counted = CountArray(batch.items_of[i], replies[i]); !counted) return counted;
      }
    }
    state_.counts.read += batch.items;
    state_.position = batch.end_position;
    state_.records = batch.end_records;
    const auto now = std::chrono::steady_clock::now();
    if (!arguments_.resume || now - noted_ < kBetweenStates) return {};
    noted_ = now;
    // Writes a state that is a second old: a server that is killed may lose what it acknowledged just before.
    const LoadState before = std::exchange(safe_state_, state_);
    return before.position == 0 ? core::Outcome<void>() : WriteLoadState(file_, before);
  }

  const LoadArguments& arguments_;
  const Pipeline::Settings& settings_;
  Pipeline pipeline_;
  LoadProgress progress_;
  bool is_new_ = false;  // the filter was not there before
  std::string file_;
  LoadState state_;  // of it
  LoadState safe_state_;
  LoadCounts done_;  // of the files before
  uint64_t bytes_before_ = 0;
  std::string first_refusal_;
  std::chrono::steady_clock::time_point noted_ = std::chrono::steady_clock::now();
};

void PrintSummary(const LoadArguments& arguments, const Loader& loader) {
  const LoadCounts counts = loader.counts();
  if (arguments.json) {
    nlohmann::ordered_json summary = {{"read", counts.read},
                                      {arguments.remove ? "removed" : "new", counts.added},
                                      {arguments.remove ? "missing" : "present", counts.present},
                                      {"refused", counts.refused},
                                      {"seconds", loader.seconds()},
                                      {"retries", loader.retries()}};
    if (counts.refused != 0) summary["first_refusal"] = loader.first_refusal();
    std::cout << summary.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    return;
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", loader.seconds());
  std::cout << CountText(counts.read) << " items read in " << seconds << " s: " << CountText(counts.added)
            << (arguments.remove ? " removed, " : " new, ") << CountText(counts.present)
            << (arguments.remove ? " not there, " : " already there, ") << CountText(counts.refused) << " refused\n";
  if (counts.refused != 0) std::cout << "The first refusal: " << loader.first_refusal() << '\n';
}

// Empty if the arguments fit together.
std::string ProblemOf(const LoadArguments& arguments) {
  const bool has_pipe = std::ranges::count(arguments.files, "-") != 0;
  if (arguments.resume && has_pipe) return "--resume needs files: standard input cannot be read from the middle";
  if (arguments.bulk.has_ttl_field() && arguments.remove) return "--ttl-field is for adding, not for --delete";
  if (arguments.create && arguments.remove) return "--create makes a filter, and --delete needs one that is there";
  if (arguments.create && !arguments.reserve.empty()) return "--reserve creates the filter: leave out --create";
  if (arguments.reserve.empty()) return arguments.type.empty() ? "" : "--type is for --reserve";
  if (arguments.remove) return "--reserve makes a filter, and --delete needs one that is there";
  const auto reservation = ParseReservation(arguments.reserve);
  if (!reservation) return reservation.error();
  return has_pipe && !reservation->items ? "--reserve auto reads the input twice: it needs files" : "";
}

int RunLoad(const CLI::App& command, const LoadArguments& arguments) {
  if (const std::string problem = ProblemOf(arguments); !problem.empty()) {
    std::cerr << "bitsieve load: " << problem << '\n';
    return kExitUsage;
  }
  const auto settings = arguments.bulk.Settings(command);
  if (!settings) return kExitUsage;
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  Loader loader(arguments, *settings);
  const auto done = loader.Run();
  const bool has_begun = loader.counts().read != 0;
  if (done || has_begun || arguments.json) PrintSummary(arguments, loader);
  if (!done) {
    std::cerr << "bitsieve load: " << settings->target.Text() << ": " << done.error() << '\n';
    return kExitFailure;
  }
  if (interrupted) {
    std::cerr << "bitsieve load: interrupted"
              << (arguments.resume ? "; the same command continues from there\n" : ", before the end of the input\n");
    return kExitInterrupted;
  }
  return loader.counts().refused == 0 ? kExitOk : kExitFailure;
}

}  // namespace

void AddLoad(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<LoadArguments>();
  CLI::App* command = program.add_subcommand("load", "Add the lines of files to a filter");
  command->add_option("KEY", arguments->key, "Name of the filter")->required();
  command->add_option("FILE", arguments->files, "Files to read; - is standard input [-]");
  command
      ->add_option("--reserve", arguments->reserve,
                   "First create the filter: ERROR,ITEMS such as 0.001,5e6; ERROR,auto counts the different items in "
                   "the files; auto means 0.01,auto")
      ->type_name("ERROR,ITEMS");
  command->add_flag("--create", arguments->create, "Create a filter of the default type that grows, if there is none");
  command->add_option("--type", arguments->type, "Filter type of --reserve [the server's default]")->type_name("TYPE");
  command->add_flag("--delete", arguments->remove, "Remove the items instead, if the filter type supports it");
  command->add_flag("--resume", arguments->resume,
                    "Record next to each file how far it was loaded, and continue from there after an interruption");
  command->add_flag("--skip-bad", arguments->skip_bad, "Count records that have no item as refused, and continue");
  command->add_flag("--sync", arguments->sync, "Wait until all items are on the server's disk (WAITAOF)");
  command->add_flag("-q,--quiet", arguments->quiet, "Show no progress");
  command->add_flag("--json", arguments->json, "Print the summary as JSON");
  arguments->bulk.AddTo(*command);
  arguments->bulk.AddTtlFieldTo(*command);
  command->footer(
      "Items are added byte for byte, including empty lines. Progress is shown on standard error: a bar on a terminal, "
      "otherwise a JSON object every two seconds. After a lost connection, batches are sent again, so types that count "
      "repeated items may count some twice.\nExit status: 0 if every item was accepted, 1 if some were refused or the "
      "command failed, 2 if the command line is wrong, 130 if it was interrupted.\n\nExamples:\n  bitsieve load seen "
      "urls.txt\n  bitsieve load seen --create urls.txt            create the filter if there is none\n  bitsieve load "
      "seen --reserve 0.001,auto --type cuckoo urls-*.gz\n  zcat dump.gz | bitsieve load bad --format csv --field url "
      "-u redis://:password@filters:6379\n  bitsieve load users --format jsonl --field id --resume users.jsonl.zst\n  "
      "find . -print0 | bitsieve load paths --format nul");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunLoad(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
