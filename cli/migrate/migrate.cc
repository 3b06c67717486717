#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "cli/backup/backup_progress.h"
#include "cli/bulk/server_client.h"
#include "cli/client/configuration.h"
#include "cli/client/connection_flags.h"
#include "cli/client/units.h"
#include "cli/commands.h"
#include "cli/migrate/content_check.h"
#include "cli/migrate/content_reader.h"
#include "cli/migrate/dry_run.h"
#include "cli/migrate/live_replay.h"
#include "cli/migrate/migration_notes.h"
#include "cli/migrate/migration_report.h"
#include "cli/migrate/mover.h"
#include "cli/migrate/rdb_source.h"
#include "cli/migrate/replication_feed.h"
#include "cli/migrate/sample_check.h"
#include "cli/migrate/server_source.h"
#include "config/flags.h"
#include "config/option_row.h"
#include "core/base/parse.h"
#include "core/base/quote.h"
#include "core/base/result.h"

namespace bitsieve::cli {
namespace {

constexpr std::chrono::milliseconds kLiveStep{100};
constexpr std::chrono::seconds kBetweenLiveLines{2};
constexpr std::chrono::seconds kBetweenPasses{1};
constexpr std::string_view kFlagValue = "true";  // of a flag without a value

volatile std::sig_atomic_t stopped = 0;

struct MigrateArguments {
  config::Flags flags;
  ConnectionFlags connection;
  std::string from;
  std::string match = "*";
  std::string as;
  std::string limit;
  std::string resume;
  std::vector<std::string> samples;  // KEY=FILE
  bool verify = false;
  bool verify_only = false;
  std::string database;  // empty: 0
  bool replace = false;
  bool live = false;
  bool dry_run = false;
  bool quiet = false;
  bool json = false;

  bool compares_contents() const { return verify || verify_only; }
};

bool IsUrl(const std::string& from) { return from.find("://") != std::string::npos; }

class Migration {
 public:
  Migration(const MigrateArguments& arguments, ServerAccess from, ServerAccess to)
      : arguments_(arguments),
        from_(std::move(from)),
        to_(std::move(to)),
        progress_("migrate"),
        dry_run_(!IsUrl(arguments.from), arguments.json) {
    outcomes_.moves_nothing = arguments.verify_only;
  }

  core::Outcome<void> Run() {
    const auto began = std::chrono::steady_clock::now();
    auto found = Find(OpenSource());
    if (!found) return tl::unexpected(found.error() + (arguments_.verify_only ? "" : "; nothing was moved"));
    outcomes_.others = std::move(*found);
    if (arguments_.dry_run) return LookAhead();
    auto done = arguments_.verify_only ? core::Outcome<void>() : MoveAll();
    progress_.End();
    if (done && feed_ != nullptr) done = FollowChanges();
    outcomes_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!done) return tl::unexpected(done.error() + (has_begun_ ? HowToGoOn() : ""));
    done = CheckSamples();
    if (!done || !arguments_.compares_contents()) return done;
    done = CompareContents();
    return done ? done : tl::unexpected(done.error() + "; not all filters were compared");
  }

  // Whether something may have been moved.
  bool has_begun() const { return has_begun_; }
  const Outcomes& outcomes() const { return outcomes_; }
  const DryRun& dry_run() const { return dry_run_; }

 private:
  core::Outcome<OtherKeys> Find(core::Outcome<std::unique_ptr<FilterSource>> source) {
    if (!source) return tl::unexpected(source.error());
    source_ = std::move(*source);
    found_.clear();
    total_bytes_ = 0;
    return source_->Find(arguments_.match, [this](FoundFilter filter) {
      total_bytes_ += filter.bytes;
      found_.push_back(std::move(filter));
    });
  }

  // The new server is asked only if it was named.
  core::Outcome<void> LookAhead() {
    std::optional<ServerClient> client;
    if (arguments_.connection.is_given()) {
      auto connected = Connect(to_, "the new server: ");
      if (!connected) return tl::unexpected(connected.error());
      client.emplace(std::move(*connected));
    }
    return Survey(*source_, found_, client ? &*client : nullptr, Settings(), std::cout, dry_run_);
  }

  core::Outcome<ServerClient> Connect(const ServerAccess& access, const std::string& which) const {
    auto client = ServerClient::Connect(access.target, access.credentials);
    if (!client) return tl::unexpected(which + client.error());
    if (arguments_.database.empty()) return client;
    const auto selected = client->Ask({"SELECT", arguments_.database});
    if (!selected) return tl::unexpected(which + selected.error());
    return selected->is_error() ? tl::unexpected(which + selected->text) : std::move(client);
  }

  MoveSettings Settings() const {
    return {.replace = arguments_.replace,
            .as = arguments_.as,
            .bytes_per_second = config::ParseByteSize(arguments_.limit).value_or(0)};
  }

  core::Outcome<std::unique_ptr<FilterSource>> OpenSource() {
    if (!IsUrl(arguments_.from)) return RdbSource::Open(arguments_.from);
    return arguments_.live ? OpenFeed() : OpenServer();
  }

  core::Outcome<std::unique_ptr<FilterSource>> OpenServer() const {
    auto client = Connect(from_, "the old server: ");
    if (!client) return tl::unexpected(client.error());
    return std::make_unique<ServerSource>(std::move(*client), arguments_.database);
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
    auto client = Connect(to_, "the new server: ");
    if (!client) return tl::unexpected(client.error());
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
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
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
    auto client = Connect(to_, "the new server: ");
    if (!client) return tl::unexpected(client.error());
    has_begun_ = true;
    Mover mover(*source_, *client, Settings(), [this](uint64_t sent_bytes) {
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
    const auto names = std::span(found_).subspan(first, std::min(kNamesOfAPage, found_.size() - first));
    const auto there = AskWhichAreThere(client, names);
    if (!there) return tl::unexpected(there.error());
    std::vector<const FoundFilter*> page;
    for (size_t i = 0; i < names.size(); ++i) {
      if (IsToBeMoved(names[i], there->at(i))) page.push_back(&names[i]);
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

  bool IsToBeMoved(const FoundFilter& filter, bool is_there) {
    if (!is_there) return true;
    if (notes_ && notes_->Contains(filter.name)) {
      ++outcomes_.already_there;
      return false;
    }
    if (arguments_.replace) return true;
    outcomes_.moves.failures.push_back({.name = filter.name, .reason = std::string(kNameIsTaken)});
    return false;
  }

  core::Outcome<void> CompareContents() {
    if (feed_ != nullptr) {
      // The old server's content is no longer that which the feed began with.
      feed_.reset();
      if (const auto found = Find(OpenServer()); !found) return tl::unexpected("the old server: " + found.error());
    }
    auto client = Connect(to_, "the new server: ");
    if (!client) return tl::unexpected(client.error());
    const auto before = source_->Contents();
    ServerContent now(*client);
    ContentCheck check(
        *before, now,
        [this](uint64_t bytes) {
          if (!arguments_.quiet) progress_.Show("comparing", bytes, total_bytes_);
        },
        [] { std::this_thread::sleep_for(kBetweenPasses); });
    auto done = check.Run(ToBeCompared());
    progress_.End();
    outcomes_.contents = check.report();
    return done;
  }

  // Returns the filters that were moved, now or before.
  std::vector<const FoundFilter*> ToBeCompared() const {
    std::unordered_set<std::string_view> failed;
    for (const MoveFailure& each : outcomes_.moves.failures) failed.insert(each.name);
    std::vector<const FoundFilter*> filters;
    for (const FoundFilter& each : found_) {
      if (!failed.contains(each.name)) filters.push_back(&each);
    }
    return filters;
  }

  core::Outcome<void> CheckSamples() {
    if (arguments_.samples.empty()) return {};
    std::optional<ServerClient> old_server;
    if (IsUrl(arguments_.from)) {
      auto client = Connect(from_, "the old server: ");
      if (!client) return tl::unexpected(client.error());
      old_server.emplace(std::move(*client));
    }
    auto new_server = Connect(to_, "the new server: ");
    if (!new_server) return tl::unexpected(new_server.error());
    for (const std::string& each : arguments_.samples) {
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
  std::optional<MigrationNotes> notes_;
  ProgressLine progress_;
  bool has_begun_ = false;
  DryRun dry_run_;
  Outcomes outcomes_;
};

// Empty if the arguments fit together.
std::string ProblemOf(const MigrateArguments& arguments) {
  if (!arguments.limit.empty() && config::ParseByteSize(arguments.limit).value_or(0) == 0) {
    return "--limit is a size such as 50mb, for each second, not " + core::Quoted(arguments.limit);
  }
  if (!arguments.as.empty() && core::FindFilterType(arguments.as) == nullptr) {
    return "--as is a filter type, not " + core::Quoted(arguments.as) + "; there are " +
           std::string(core::FilterTypeNames());
  }
  for (const std::string& each : arguments.samples) {
    const size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == each.size()) {
      return "--verify is KEY=FILE, not " + core::Quoted(each);
    }
  }
  if (arguments.live && !IsUrl(arguments.from)) return "--live is for a running server";
  if (arguments.live && (!arguments.resume.empty() || arguments.dry_run)) {
    return "--live moves all filters: leave out --resume and --dry-run";
  }
  if (arguments.compares_contents() && !arguments.as.empty()) {
    return "--as creates filters without items: there is no content to compare; --verify KEY=FILE looks up items";
  }
  const bool moves = arguments.live || arguments.replace || !arguments.limit.empty() || !arguments.resume.empty();
  if (arguments.verify_only && (moves || arguments.dry_run)) {
    return "--verify-only moves nothing: leave out --live, --dry-run, --replace, --limit and --resume";
  }
  if (!arguments.database.empty()) {
    if (!core::ParseUnsigned(arguments.database)) {
      return "--database is a number, not " + core::Quoted(arguments.database);
    }
    if (!arguments.verify_only || !IsUrl(arguments.from)) {
      return "--database is for --verify-only between running servers: only filters of database 0 are moved";
    }
  }
  if (arguments.verify && arguments.dry_run) return "--dry-run moves nothing: --verify-only compares what was moved";
  if (IsUrl(arguments.from)) {
    if (const auto url = clients::ParseServerUrl(arguments.from); !url) return url.error();
  }
  return "";
}

// The flags for TLS are those of the new one, too. As for redis-cli, the password may be in the environment.
ServerAccess OldServer(const MigrateArguments& arguments, const config::Options& options) {
  if (!IsUrl(arguments.from)) return {};
  const clients::ServerUrl url = clients::ParseServerUrl(arguments.from).value();
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
    migration.dry_run().Print(std::cout, outcomes.others);
    PrintFailures(std::cerr, migration.dry_run().failures());
    return migration.dry_run().all_well() ? kExitOk : kExitFailure;
  }
  if (migration.has_begun() || outcomes.contents) {
    arguments.json ? PrintJson(std::cout, outcomes) : PrintOutcomes(std::cout, outcomes);
  }
  PrintFailures(std::cerr, outcomes.moves.failures);
  if (outcomes.contents) {
    PrintFailures(std::cerr, outcomes.contents->different);
    PrintFailures(std::cerr, outcomes.contents->unread);
  }
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
  // The library would take the next word for the value of an option whose value may be missing.
  CLI::Option* const verify =
      command->add_flag("--verify")
          ->description(
              "Afterwards compare the content of all filters; with KEY=FILE, look up 10,000 random lines of FILE")
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--verify-only", arguments->verify_only,
                    "Move nothing: compare the content of filters that were moved before");
  command->add_option("--database", arguments->database, "With --verify-only, compare the filters of this database [0]")
      ->type_name("N");
  command->add_flag("--live", arguments->live,
                    "Become a replica of the old server, and apply its changes until SIGINT: none is missed");
  command->add_flag("--dry-run", arguments->dry_run,
                    "List what would be moved, with its memory, and what cannot be; moves nothing");
  command->add_flag("-q,--quiet", arguments->quiet, "Show no progress");
  command->add_flag("--json", arguments->json, "Print the report as JSON");
  arguments->connection.AddTo(*command);
  arguments->flags.AddFileTo(*command);
  command->footer(
      "Moves Bloom and cuckoo filters of RedisBloom, valkey-bloom and bitsieve.so byte for byte, with their expiries; "
      "other keys are counted and skipped. An RDB file is read without a running Redis or Valkey. Each filter appears "
      "when it is complete. A running old server keeps its filters; changes made while they are read are moved only "
      "with --live.\nExit status: 0 if everything was moved, no filter differs and no item is missing, 1 if not, 2 if "
      "the command line is wrong.\n\nExamples:\n  bitsieve migrate dump.rdb\n  bitsieve migrate dump.rdb "
      "bitsieve://new --match 'seen:*' --dry-run\n  bitsieve migrate redis://:password@old bitsieve://new --limit 50mb "
      "--resume moved\n  bitsieve migrate redis://old bitsieve://new --live --verify\n  bitsieve migrate redis://old "
      "bitsieve://new --verify-only");
  command->callback([command, arguments, verify, &action] {
    for (const std::string& value : verify->results()) {
      if (value == kFlagValue) {
        arguments->verify = true;
      } else {
        arguments->samples.push_back(value);
      }
    }
    action = [command, arguments] { return RunMigrate(*command, *arguments); };
  });
}

}  // namespace bitsieve::cli
