#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/backup/backup_progress.h"
#include "cli/bulk/server_client.h"
#include "cli/client/configuration.h"
#include "cli/client/connection_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "cli/migrate/live_replay.h"
#include "cli/migrate/migration_notes.h"
#include "cli/migrate/mover.h"
#include "cli/migrate/rdb_source.h"
#include "cli/migrate/replication_feed.h"
#include "cli/migrate/sample_check.h"
#include "cli/migrate/server_source.h"
#include "config/flags.h"
#include "config/option_row.h"
#include "core/base/quote.h"
#include "core/base/result.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kFailuresShown = 20;
constexpr size_t kNamesOfAPage = 512;
constexpr std::chrono::milliseconds kLiveStep{100};
constexpr std::chrono::seconds kBetweenLiveLines{2};

volatile std::sig_atomic_t stopped = 0;

struct MigrateArguments {
  config::Flags flags;
  ConnectionFlags connection;
  std::string from;
  std::string match = "*";
  std::string as;
  std::string limit;
  std::string resume;
  std::vector<std::string> verify;  // KEY=FILE
  bool replace = false;
  bool live = false;
  bool dry_run = false;
  bool quiet = false;
  bool json = false;
};

bool IsUrl(const std::string& from) { return from.find("://") != std::string::npos; }

struct SampleFile {
  std::string key;
  std::string file;
  SampleResult result = {};
};

struct Outcomes {
  MoveReport moves = {};
  uint64_t already_there = 0;  // moved by an earlier run
  OtherKeys others = {};
  uint64_t live_changes = 0;
  uint64_t refused_changes = 0;
  std::string first_refusal = {};
  std::vector<SampleFile> samples = {};
  double seconds = 0;

  bool all_well() const {
    return moves.failures.empty() && refused_changes == 0 &&
           std::ranges::all_of(samples, [](const SampleFile& each) { return each.result.missing == 0; });
  }
};

class Migration {
 public:
  Migration(const MigrateArguments& arguments, ServerAccess from, ServerAccess to)
      : arguments_(arguments), from_(std::move(from)), to_(std::move(to)), progress_("migrate") {}

  core::Outcome<void> Run() {
    const auto began = std::chrono::steady_clock::now();
    auto found = Find();
    if (!found) return found;
    if (arguments_.dry_run) return {};
    auto done = MoveAll();
    progress_.End();
    if (done && feed_ != nullptr) done = FollowChanges();
    outcomes_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!done) return tl::unexpected(done.error() + (has_begun_ ? HowToGoOn() : ""));
    return CheckSamples();
  }

  // Whether something may have been moved.
  bool has_begun() const { return has_begun_; }
  const Outcomes& outcomes() const { return outcomes_; }
  const std::vector<FoundFilter>& found() const { return found_; }

 private:
  core::Outcome<void> Find() {
    auto source = OpenSource();
    if (!source) return tl::unexpected(source.error());
    source_ = std::move(*source);
    auto others = source_->Find(arguments_.match, [this](FoundFilter filter) {
      total_bytes_ += filter.bytes;
      found_.push_back(std::move(filter));
    });
    if (!others) return tl::unexpected(others.error() + "; nothing was moved");
    outcomes_.others = std::move(*others);
    return {};
  }

  core::Outcome<std::unique_ptr<FilterSource>> OpenSource() {
    if (!IsUrl(arguments_.from)) return RdbSource::Open(arguments_.from);
    if (arguments_.live) return OpenFeed();
    auto client = ServerClient::Connect(from_.target, from_.credentials);
    if (!client) return tl::unexpected("the old server: " + client.error());
    return std::make_unique<ServerSource>(std::move(*client));
  }

  core::Outcome<std::unique_ptr<FilterSource>> OpenFeed() {
    auto feed = ReplicationFeed::Start(from_.target, from_.credentials, [this](uint64_t done, uint64_t total) {
      if (!arguments_.quiet) progress_.Show("reading", done, total);
    });
    progress_.End();
    if (!feed) return tl::unexpected("the old server: " + feed.error());
    feed_ = std::move(*feed);
    return RdbSource::Open(feed_->rdb_path());
  }

  // Until a signal says that no more will come.
  core::Outcome<void> FollowChanges() {
    auto client = ServerClient::Connect(to_.target, to_.credentials);
    if (!client) return tl::unexpected("the new server: " + client.error());
    std::signal(SIGINT, [](int) { stopped = 1; });
    std::signal(SIGTERM, [](int) { stopped = 1; });
    LiveReplay replay(*client, arguments_.match);
    core::Outcome<void> done = feed_error_;
    for (bool last = false; done && !last;) {
      last = stopped != 0;  // what has come before is still done
      done = feed_->Receive(std::chrono::steady_clock::now() + (last ? std::chrono::milliseconds(0) : kLiveStep));
      if (done) done = Replay(replay);
      outcomes_.live_changes = replay.commands();
      outcomes_.refused_changes = replay.refused();
      outcomes_.first_refusal = replay.first_refusal();
      ShowLive();
    }
    if (OnTerminal()) std::cerr << "\r\033[K" << std::flush;
    return done;
  }

  core::Outcome<void> Replay(LiveReplay& replay) {
    while (true) {
      const auto change = feed_->Next();
      if (!change) return tl::unexpected(change.error());
      if (!*change) return replay.Finish();
      if (auto added = replay.Add(**change); !added) return added;
    }
  }

  static bool OnTerminal() { return ::isatty(STDERR_FILENO) != 0; }

  // A line that changes on a terminal, elsewhere a JSON object a line, so that a script sees when the new server is up
  // to date.
  void ShowLive() {
    const auto now = std::chrono::steady_clock::now();
    if (arguments_.quiet || (!OnTerminal() && now - live_shown_ < kBetweenLiveLines)) return;
    live_shown_ = now;
    const uint64_t behind = feed_->waiting_bytes();
    if (OnTerminal()) {
      std::cerr << "\r\033[Kbitsieve migrate: live, " << CountText(outcomes_.live_changes) << " changes, "
                << (behind == 0 ? "up to date" : SizeText(behind) + " behind") << "; Ctrl-C ends it" << std::flush;
    } else {
      std::cerr << nlohmann::ordered_json({{"live_changes", outcomes_.live_changes}, {"behind_bytes", behind}}).dump() +
                       "\n";
    }
  }

  core::Outcome<void> MoveAll() {
    if (!arguments_.resume.empty()) {
      auto notes = MigrationNotes::Open(arguments_.resume, arguments_.from + " " + to_.target.Text());
      if (!notes) return tl::unexpected(notes.error());
      notes_.emplace(std::move(*notes));
    }
    auto client = ServerClient::Connect(to_.target, to_.credentials);
    if (!client) return tl::unexpected("the new server: " + client.error());
    has_begun_ = true;
    const MoveSettings settings{.replace = arguments_.replace,
                                .as = arguments_.as,
                                .bytes_per_second = config::ParseByteSize(arguments_.limit).value_or(0)};
    Mover mover(*source_, *client, settings, [this](uint64_t sent_bytes) {
      if (!arguments_.quiet) progress_.Show("moving", sent_bytes, total_bytes_);
      if (feed_ != nullptr && feed_error_) feed_error_ = feed_->Receive(std::chrono::steady_clock::now());
    });
    core::Outcome<void> moved;
    for (size_t first = 0; first < found_.size() && moved && feed_error_; first += kNamesOfAPage) {
      moved = mover.Finish();  // so that the next replies are those of the question
      if (moved) moved = MovePage(mover, *client, first);
    }
    if (moved) moved = mover.Finish();
    const MoveReport& report = mover.report();
    outcomes_.moves.moved = report.moved;
    outcomes_.moves.made_empty = report.made_empty;
    outcomes_.moves.moved_bytes = report.moved_bytes;
    outcomes_.moves.failures.insert(outcomes_.moves.failures.end(), report.failures.begin(), report.failures.end());
    if (moved && notes_ && outcomes_.moves.failures.empty()) notes_->Remove();
    return moved ? feed_error_ : moved;
  }

  // The next filters from `first` on.
  core::Outcome<void> MovePage(Mover& mover, ServerClient& client, size_t first) {
    if (auto asked = AskWhichAreThere(client, first); !asked) return asked;
    std::vector<const FoundFilter*> page;
    for (size_t i = 0; i < there_.size(); ++i) {
      if (IsToBeMoved(found_[first + i], there_[i])) page.push_back(&found_[first + i]);
    }
    if (arguments_.as.empty()) {
      if (auto prepared = source_->Prepare(page, arguments_.replace); !prepared) return prepared;
    }
    for (const FoundFilter* filter : page) {
      if (notes_) {
        if (auto noted = notes_->Add(filter->name); !noted) return noted;
      }
      if (auto moved = mover.Move(*filter); !moved) return moved;
      if (!feed_error_) return feed_error_;
    }
    return {};
  }

  core::Outcome<void> AskWhichAreThere(ServerClient& client, size_t first) {
    const size_t count = std::min(kNamesOfAPage, found_.size() - first);
    std::string bytes;
    for (size_t i = 0; i < count; ++i) AppendCommand(bytes, {"EXISTS", found_[first + i].name});
    if (auto sent = client.Send(bytes); !sent) return tl::unexpected("the new server: " + sent.error());
    there_.clear();
    for (size_t i = 0; i < count; ++i) {
      const auto reply = client.Receive();
      if (!reply) return tl::unexpected("the new server: " + reply.error());
      if (reply->is_error()) return tl::unexpected("the new server: " + reply->text);
      there_.push_back(reply->integer != 0);
    }
    return {};
  }

  bool IsToBeMoved(const FoundFilter& filter, bool is_there) {
    if (!is_there) return true;
    if (notes_ && notes_->Contains(filter.name)) {
      ++outcomes_.already_there;
      return false;
    }
    if (arguments_.replace) return true;
    outcomes_.moves.failures.push_back(
        {.name = filter.name, .reason = "the new server has a filter of this name: --replace replaces it"});
    return false;
  }

  core::Outcome<void> CheckSamples() {
    if (arguments_.verify.empty()) return {};
    std::optional<ServerClient> old_server;
    if (IsUrl(arguments_.from)) {
      auto client = ServerClient::Connect(from_.target, from_.credentials);
      if (!client) return tl::unexpected("the old server: " + client.error());
      old_server.emplace(std::move(*client));
    }
    auto new_server = ServerClient::Connect(to_.target, to_.credentials);
    if (!new_server) return tl::unexpected("the new server: " + new_server.error());
    for (const std::string& each : arguments_.verify) {
      const size_t equals = each.find('=');
      SampleFile sample{.key = each.substr(0, equals), .file = each.substr(equals + 1)};
      const auto result = CheckSample(sample.key, sample.file, old_server ? &*old_server : nullptr, *new_server);
      if (!result) return tl::unexpected(result.error());
      sample.result = *result;
      outcomes_.samples.push_back(std::move(sample));
    }
    return {};
  }

  std::string HowToGoOn() const {
    return notes_ ? "; the same command continues with the rest" : "; with --resume FILE, a migration can be continued";
  }

  const MigrateArguments& arguments_;
  const ServerAccess from_, to_;
  std::unique_ptr<ReplicationFeed> feed_;  // with --live
  core::Outcome<void> feed_error_;
  std::chrono::steady_clock::time_point live_shown_{};
  std::unique_ptr<FilterSource> source_;
  std::vector<FoundFilter> found_;
  uint64_t total_bytes_ = 0;
  std::vector<bool> there_;
  std::optional<MigrationNotes> notes_;
  ProgressLine progress_;
  bool has_begun_ = false;
  Outcomes outcomes_;
};

// ---- what is printed

uint64_t CountOf(const OtherKeys& others) {
  uint64_t count = 0;
  for (const auto& [type, keys] : others.counts) count += keys;
  return count;
}

void PrintOthers(const OtherKeys& others) {
  if (const uint64_t count = CountOf(others); count != 0) {
    std::cout << CountText(count) << " other keys skipped:";
    const char* comma = " ";
    for (const auto& [type, keys] : others.counts) {
      std::cout << comma << CountText(keys) << ' ' << type;
      comma = ", ";
    }
    std::cout << '\n';
  }
  if (others.expired != 0) std::cout << CountText(others.expired) << " filters have expired and were skipped\n";
}

void PrintFound(const Migration& migration) {
  uint64_t bytes = 0;
  for (const FoundFilter& each : migration.found()) {
    bytes += each.bytes;
    std::cout << core::PrintableName(each.name) << ": " << SizeText(each.bytes) << (each.is_cuckoo ? ", cuckoo" : "")
              << (each.expires_ms != 0 ? ", expires" : "") << '\n';
  }
  std::cout << CountText(migration.found().size()) << " filters, " << SizeText(bytes) << ", would be moved\n";
  PrintOthers(migration.outcomes().others);
}

void PrintOutcomes(const Outcomes& outcomes) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", outcomes.seconds);
  std::cout << CountText(outcomes.moves.moved) << " filters moved in " << seconds << " s ("
            << SizeText(outcomes.moves.moved_bytes) << "), " << CountText(outcomes.moves.failures.size())
            << " not moved";
  if (outcomes.already_there != 0) std::cout << ", " << CountText(outcomes.already_there) << " moved before";
  std::cout << '\n';
  if (outcomes.moves.made_empty != 0) {
    std::cout << CountText(outcomes.moves.made_empty)
              << " of them were created empty: add their items with bitsieve load\n";
  }
  PrintOthers(outcomes.others);
  if (outcomes.live_changes != 0) {
    std::cout << CountText(outcomes.live_changes) << " later changes applied, " << CountText(outcomes.refused_changes)
              << " refused\n";
  }
  if (outcomes.refused_changes != 0) std::cout << "The first refusal: " << outcomes.first_refusal << '\n';
  for (const SampleFile& each : outcomes.samples) {
    std::cout << core::PrintableName(each.key) << ": of " << CountText(each.result.items) << " items of " << each.file
              << ", " << CountText(each.result.before) << " were there before, " << CountText(each.result.now)
              << " are now, " << CountText(each.result.missing) << " are missing\n";
  }
}

void PrintJson(const Outcomes& outcomes) {
  nlohmann::ordered_json report = {{"moved", outcomes.moves.moved},
                                   {"made_empty", outcomes.moves.made_empty},
                                   {"bytes", outcomes.moves.moved_bytes},
                                   {"moved_before", outcomes.already_there},
                                   {"failed", nlohmann::ordered_json::array()},
                                   {"other_keys", outcomes.others.counts},
                                   {"expired", outcomes.others.expired},
                                   {"live_changes", outcomes.live_changes},
                                   {"refused_changes", outcomes.refused_changes},
                                   {"seconds", outcomes.seconds},
                                   {"samples", nlohmann::ordered_json::array()}};
  for (const MoveFailure& each : outcomes.moves.failures) {
    report["failed"].push_back({{"filter", each.name}, {"reason", each.reason}});
  }
  for (const SampleFile& each : outcomes.samples) {
    report["samples"].push_back({{"filter", each.key},
                                 {"items", each.result.items},
                                 {"before", each.result.before},
                                 {"now", each.result.now},
                                 {"missing", each.result.missing}});
  }
  std::cout << report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

void PrintFailures(const std::vector<MoveFailure>& failures) {
  for (size_t i = 0; i < std::min(failures.size(), kFailuresShown); ++i) {
    std::cerr << "bitsieve migrate: " << core::PrintableName(failures[i].name) << ": " << failures[i].reason << '\n';
  }
  if (failures.size() > kFailuresShown) {
    std::cerr << "bitsieve migrate: and " << CountText(failures.size() - kFailuresShown) << " more; --json lists all\n";
  }
}

// Empty if the arguments fit together.
std::string ProblemOf(const MigrateArguments& arguments) {
  if (!arguments.limit.empty() && config::ParseByteSize(arguments.limit).value_or(0) == 0) {
    return "--limit is a size such as 50mb, for each second, not " + core::Quoted(arguments.limit);
  }
  if (!arguments.as.empty() && core::FindFilterType(arguments.as) == nullptr) {
    return "--as is a filter type, not " + core::Quoted(arguments.as) + "; there are " +
           std::string(core::FilterTypeNames());
  }
  for (const std::string& each : arguments.verify) {
    const size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == each.size()) {
      return "--verify is KEY=FILE, not " + core::Quoted(each);
    }
  }
  if (arguments.live && !IsUrl(arguments.from)) return "--live is for a running server";
  if (arguments.live && (!arguments.resume.empty() || arguments.dry_run)) {
    return "--live moves all filters: leave out --resume and --dry-run";
  }
  if (IsUrl(arguments.from)) {
    if (const auto url = ParseServerUrl(arguments.from); !url) return url.error();
  }
  return "";
}

// The flags for TLS are those of the new one, too. As for redis-cli, the password may be in the environment.
ServerAccess OldServer(const MigrateArguments& arguments, const config::Options& options) {
  if (!IsUrl(arguments.from)) return {};
  const ServerUrl url = ParseServerUrl(arguments.from).value();
  const char* const password = std::getenv("REDISCLI_AUTH");
  const bool is_found = url.password.empty() && password != nullptr;
  return {.target = arguments.connection.TargetOf(url, options),
          .credentials = {.user = url.user, .password = is_found ? password : url.password, .is_found = is_found}};
}

int RunMigrate(const CLI::App& command, const MigrateArguments& arguments) {
  if (const std::string problem = ProblemOf(arguments); !problem.empty()) {
    std::cerr << "bitsieve migrate: " << problem << '\n';
    return kExitUsage;
  }
  const auto to = ServerOf(command, arguments.connection, arguments.flags);
  if (!to) return kExitUsage;
  const auto configuration = LoadOrExplain(command, arguments.flags.ToSources());
  Migration migration(arguments, OldServer(arguments, configuration->options), *to);
  const auto done = migration.Run();
  const Outcomes& outcomes = migration.outcomes();
  if (arguments.dry_run && done) {
    PrintFound(migration);
    return kExitOk;
  }
  if (migration.has_begun()) arguments.json ? PrintJson(outcomes) : PrintOutcomes(outcomes);
  PrintFailures(outcomes.moves.failures);
  if (!done) std::cerr << "bitsieve migrate: " << done.error() << '\n';
  return done && outcomes.all_well() ? kExitOk : kExitFailure;
}

}  // namespace

void AddMigrate(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<MigrateArguments>();
  CLI::App* command = program.add_subcommand("migrate", "Move filters from Redis, Valkey or an RDB file");
  command->add_option("FROM", arguments->from, "An RDB file, or the old server as redis://[user:password@]host[:port]")
      ->required();
  arguments->connection.AddAsArgument(*command, "TO");
  command->add_option("--match", arguments->match, "Move only filters whose names match, such as seen:* [*]")
      ->type_name("PATTERN");
  command->add_option("--as", arguments->as, "Create RedisBloom's Bloom filters as this type instead, empty")
      ->type_name("TYPE");
  command->add_flag("--replace", arguments->replace, "Replace existing filters of the same names");
  command->add_option("--limit", arguments->limit, "Send at most this many bytes per second, such as 50mb")
      ->type_name("SIZE");
  command->add_option("--resume", arguments->resume, "Record progress in FILE, and continue from there the next time")
      ->type_name("FILE");
  command->add_option("--verify", arguments->verify, "Afterwards look up 10,000 random lines of FILE")
      ->type_name("KEY=FILE");
  command->add_flag("--live", arguments->live,
                    "Become a replica of the old server, and apply its changes until SIGINT: none is missed");
  command->add_flag("--dry-run", arguments->dry_run, "List what would be moved, with sizes");
  command->add_flag("-q,--quiet", arguments->quiet, "Show no progress");
  command->add_flag("--json", arguments->json, "Print the report as JSON");
  arguments->connection.AddTo(*command);
  arguments->flags.AddFileTo(*command);
  command->footer(
      "Moves Bloom and cuckoo filters of RedisBloom and bitsieve.so byte for byte, with their expiries; other keys are "
      "counted and skipped. An RDB file is read without a running Redis or Valkey. Each filter appears when it is "
      "complete. A running old server keeps its filters; changes made while they are read are moved only with "
      "--live.\nExit status: 0 if everything was moved and no sampled item is missing, 1 if not, 2 if the command line "
      "is wrong.\n\nExamples:\n  bitsieve migrate dump.rdb\n  bitsieve migrate dump.rdb bitsieve://new --match "
      "'seen:*' --dry-run\n  bitsieve migrate redis://:password@old bitsieve://new --limit 50mb --resume moved\n  "
      "bitsieve migrate redis://old bitsieve://new --live --verify seen=urls.txt");
  command->callback(
      [command, arguments, &action] { action = [command, arguments] { return RunMigrate(*command, *arguments); }; });
}

}  // namespace bitsieve::cli
