#include "server/server.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "commands/followed_filters.h"
#include "commands/transfers.h"
#include "config/client_memory.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/out_of_memory.h"
#include "core/base/quote.h"
#include "core/base/thread_name.h"
#include "core/filter/filter_type.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/environment.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/server_control.h"
#include "server/http/admin_port.h"
#include "server/keyspace/freezer.h"
#include "server/keyspace/huge_page_keeper.h"
#include "server/keyspace/registry.h"
#include "server/keyspace/unmapper.h"
#include "server/net/net_server.h"
#include "server/options/access_control.h"
#include "server/options/configuration_file.h"
#include "server/options/listening.h"
#include "server/options/resources.h"
#include "server/options/run_time_options.h"
#include "server/options/settings.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/persistence/recovery/recovery_log.h"
#include "server/process/heap.h"
#include "server/process/logging.h"
#include "server/process/machine_memory.h"
#include "server/process/service_manager.h"
#include "server/process/signals.h"
#include "server/process/worker_pool.h"
#include "server/pubsub/keyspace_events.h"
#include "server/pubsub/pub_sub.h"
#include "server/sampler.h"
#include "server/session/claims.h"
#include "server/session/client_list.h"
#include "server/storage.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using Clock = std::chrono::steady_clock;

// How long clients may take to read their last replies when the server stops.
constexpr std::chrono::seconds kDrainPatience{5};
// How often what could not be logged for lack of memory is tried again.
constexpr std::chrono::milliseconds kRewritesInterval{100};
// When more have to be freed, which takes microseconds each, the system frees them faster with the process.
constexpr uint64_t kMaxFiltersFreed = 10'000;

void Configure(AdminPort& port, const config::Options& options) {
  port.Choose(options.metrics_largest_filters, options.metrics_filters);
  port.ServeFilters({.are_served = options.admin_filters == "yes", .origin = options.admin_filters_origin});
}

int64_t MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

void LogFreeze(const FreezeReport& report) {
  const std::string name = core::PrintableName(report.name);
  if (!report.status) {
    spdlog::warn("Filter {} cannot be frozen and continues to collect items: {}", name, report.status.error().message);
    return;
  }
  spdlog::info("Filter {} of {} items is frozen: {} bytes instead of {}, built in {} ms", name, report.items,
               report.frozen_bytes, report.collected_bytes, report.duration_ms);
}

// Exits without running destructors.
[[noreturn]] void EndProcess() {
  spdlog::shutdown();
  std::_Exit(0);
}

// Members are built in their order and die in reverse; each uses only those above it. The main thread runs `main_`;
// clients are served by the network's threads from Start() on, and get a LOADING error while the loader's thread loads.
class Server final : private ServerControl {
 public:
  Server(const config::Options& options, const config::Sources& sources, Disk& disk)
      : options_(options),
        sources_(sources),
        memory_(0),
        registry_(quotas_, clock_, filter_clock_),
        freezer_(registry_, LogFreeze,
                 [this](std::string_view name) { events_.Publish(EventClass::kFilter, "frozen", name); }),
        storage_(disk, registry_, clock_, filter_clock_, freezer_) {
    events_.UseWorkers(workers_);
    registry_.SetOnExpired([this](std::string_view name) { events_.Publish(EventClass::kExpired, "expired", name); });
  }

  core::Status Start();
  // Returns when a stop was requested, or with the error if the data cannot be loaded.
  core::Status Run();
  core::Status Stop();

 private:
  void BeginLoading();
  void OnLoaded();
  core::Status TakeOver(core::Result<Recovery> recovery);
  [[noreturn]] void EndWhileLoading();
  void NotifyReady();
  void Apply(config::AppliedBy part, const config::Options& options);
  core::Result<RunTimeOptions::Use> Prepare(const config::Options& options, RunTimeOptions::Parts parts);
  core::Status OpenNetwork();
  core::Status OpenAdminPort(const Environment& commands);
  void AwaitSignals();
  void KeepRewrites();
  void Reload();
  void BeginStop(bool save);

  // These are called by commands, on any thread.
  void Save(std::function<void(core::Status)> done) override { storage_.Save(std::move(done)); }
  SnapshotStatus Snapshot() const override { return storage_.Snapshot(); }
  LogStatus Log() const override { return storage_.Log(); }
  void Shutdown(bool save) override {
    asio::post(main_, [=, this] { BeginStop(save); });
  }
  core::Status LoadUsers() override { return access_.LoadUsers(); }
  core::Status SaveUsers() override { return access_.SaveUsers(); }
  std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view glob) const override {
    return run_time_options_->Match(glob);
  }
  core::Outcome<void, config::RefusedPair> SetOptions(std::span<const config::NameAndText> pairs) override {
    return run_time_options_->Set(pairs);
  }
  void RewriteConfiguration(std::function<void(core::Status)> done) override;

  asio::io_context main_{1};  // first: a handler of signals may run on any thread, until the last has ended
  Signals signals_{main_};    // ends when all threads have
  config::Options options_;
  const config::Sources sources_;
  const Clock::time_point started_ = Clock::now();
  const core::Clock& clock_ = core::SystemClock();
  core::MemoryBudget memory_;
  Quotas quotas_{memory_};
  PubSub pub_sub_;
  KeyspaceEvents events_{pub_sub_};
  Monitoring monitoring_;
  core::FilterClock filter_clock_;
  Unmapper unmapper_;
  Registry registry_;
  Freezer freezer_;
  Storage storage_;
  CommandSettings command_settings_;
  Transfers transfers_;
  FollowedFilters followed_{config::Options{}.changes_memory};
  Claims claims_;
  NetSettings net_settings_;
  std::unique_ptr<RunTimeOptions> run_time_options_;
  AccessControl access_{main_};
  std::unique_ptr<ConfigurationFile> configuration_file_;
  ServerStats stats_;
  ClientList clients_;
  asio::executor_work_guard<asio::io_context::executor_type> until_stopped_ = asio::make_work_guard(main_);
  HeapTrimmer heap_trimmer_{[this] { return clients_.Size(); }, [this] { return registry_.memory().used_bytes(); }};
  Sampler sampler_{main_, clock_, stats_, monitoring_, storage_, registry_};
  ServiceManager service_manager_;
  core::Status loaded_;
  bool is_loaded_ = false;  // there is no limit of memory before; only users of run_time_options_ change and read it
  bool final_save_ = true;
  WorkerPool workers_;
  std::unique_ptr<NetServer> net_;
  std::unique_ptr<AdminPort> admin_port_;           // null: there is none
  std::optional<HugePageKeeper> huge_page_keeper_;  // once all is loaded
  Periodic rewrites_{main_, kRewritesInterval, [this] { KeepRewrites(); }};
  std::optional<core::Result<Recovery>> recovery_;  // what the loader found
  std::thread loader_;                              // joined as soon as it is done
};

core::Status Server::Start() {
  spdlog::info("Bitsieve {} starts: process {}, {} kernel", BITSIEVE_VERSION, getpid(),
               core::FindFilterType(core::kDefaultFilterType)->kernel());
  auto templates = FilterTemplates::Make(options_.templates);
  if (!templates) return core::Fail(core::ErrorCode::kInvalidArgument, templates.error().front());
  command_settings_.templates.Set(std::move(*templates));
  if (auto status = storage_.Open(options_.dir); !status) return status;
  options_ = ResolvedAtStart(options_);
  quotas_.Define(*config::ParseQuotas(options_.quota));
  if (auto status = access_.Start(options_); !status) return status;
  run_time_options_ = std::make_unique<RunTimeOptions>(
      options_,
      [this](const config::Options& options, RunTimeOptions::Parts parts) { return Prepare(options, parts); });
  run_time_options_->Read([this](const config::Options& options) {
    std::set<config::AppliedBy> parts;
    for (const config::OptionRow& row : config::OptionTable()) parts.insert(row.applied_by);
    for (const config::AppliedBy part : parts) Apply(part, options);
  });
  configuration_file_ = std::make_unique<ConfigurationFile>(sources_, Resolved, *run_time_options_, command_settings_);
  if (auto status = OpenNetwork(); !status) return status;
  AwaitSignals();
  stats_.loading_since_unix_s = clock_.WallMs() / 1000;
  sampler_.Start();
  rewrites_.Start();
  net_->Start();
  BeginLoading();
  return {};
}

core::Status Server::Run() {
  while (true) {
    try {
      main_.run();
      return loaded_;
    } catch (const std::bad_alloc&) {
      spdlog::warn("The main thread is out of memory");
      std::this_thread::sleep_for(core::kOutOfMemoryPause);
    }
  }
}

void Server::BeginLoading() {
  service_manager_.Loading([this] {
    const int64_t seconds = MillisecondsSince(started_) / 1000;
    return fmt::format("Loading: {} MB of filters after {} s", memory_.used_bytes() >> 20, seconds);
  });
  loader_ = std::thread([this] {
    core::NameThread("loader");
    Signals::LeaveToOtherThreads();
    recovery_.emplace(core::OrOutOfMemory([this] { return storage_.Load(options_); }));
    core::UntilThereIsMemory([this] { asio::post(main_, [this] { OnLoaded(); }); });
  });
}

// Half of a recovery is of no use: without memory for the rest of it the server does not start.
void Server::OnLoaded() {
  loader_.join();
  loaded_ = core::OrOutOfMemory([this] { return TakeOver(*std::exchange(recovery_, std::nullopt)); });
  if (!loaded_) return main_.stop();
  stats_.loading_since_unix_s = 0;
  spdlog::info("Ready after {} ms", MillisecondsSince(started_));
  core::UntilThereIsMemory([this] { NotifyReady(); });
}

core::Status Server::TakeOver(core::Result<Recovery> recovery) {
  if (!recovery) return tl::unexpected(std::move(recovery.error()));
  LogRecovery(recovery->report, options_.dir);
  core::Status begun;
  run_time_options_->Read([&](const config::Options& options) {
    is_loaded_ = true;
    Apply(config::AppliedBy::kMemory, options);
    WarnOfExceededLimits(memory_, quotas_);
    begun = storage_.Begin(std::move(*recovery), options);
  });
  if (begun) huge_page_keeper_.emplace();
  return begun;
}

void Server::NotifyReady() {
  service_manager_.Ready("Serving on port " + std::to_string(net_->port()), [this](std::function<void()> alive) {
    asio::post(main_, [this, alive = std::move(alive)] { core::UntilThereIsMemory([&] { net_->ProveAlive(alive); }); });
  });
}

core::Result<RunTimeOptions::Use> Server::Prepare(const config::Options& options, RunTimeOptions::Parts parts) {
  NetServer::Tls tls;
  for (const config::AppliedBy part : parts) {
    core::Status status;
    if (part == config::AppliedBy::kNetwork) status = CheckAffordable(options);
    if (part == config::AppliedBy::kMemory) status = CheckQuotas(options, quotas_);
    if (part == config::AppliedBy::kTls) {
      status = net_->ReadTls(TlsSettingsOf(options)).map([&](auto read) { tls = read; });
    }
    if (!status) return tl::unexpected(std::move(status.error()));
  }
  return [this, tls, parts = std::vector(parts.begin(), parts.end())](const config::Options& values) {
    net_->UseTls(tls);
    for (const config::AppliedBy part : parts) Apply(part, values);
  };
}

void Server::Apply(config::AppliedBy part, const config::Options& options) {
  using enum config::AppliedBy;
  switch (part) {
    case kStart:
    case kTls:  // the certificates that were read are handed over
      return;
    case kNetwork:
      Fill(net_settings_, options);
      pub_sub_.inbox_limit_bytes = options.client_output_buffer_limit;
      return;
    case kAccess:
      Fill(net_settings_, options);
      return access_.Apply(options);
    case kMonitoring:
      monitoring_.set_slower_than_us(options.slowlog_log_slower_than);
      monitoring_.slow_log.set_max_size(options.slowlog_max_len);
      return monitoring_.latency.set_threshold_ms(options.latency_monitor_threshold);
    case kEvents:
      return events_.Configure(options.notify_keyspace_events);
    case kAdminPort:
      if (admin_port_ != nullptr) Configure(*admin_port_, options);
      return;
    case kCommands:
      return Fill(command_settings_, options);
    case kMemory:
      if (is_loaded_) {
        memory_.set_limit_bytes(MaxMemoryOf(options));
        quotas_.SetLimits(*config::ParseQuotas(options.quota));
      }
      followed_.set_limit_bytes(options.changes_memory);
      return clients_.set_memory_limit(config::ClientMemoryLimit(options, MachineMemory()));
    case kStorage:
      return storage_.Apply(options);
    case kLog:
      return SetLogLevel(options.loglevel);
  }
}

core::Status Server::OpenNetwork() {
  const Environment commands{.filters = {.settings = &command_settings_,
                                         .freezing = &freezer_,
                                         .transfers = &transfers_,
                                         .followed = &followed_,
                                         .workers = &workers_},
                             .table = &AllCommands(),
                             .keyspace = &registry_,
                             .clock = &clock_,
                             .control = this,
                             .clients = &clients_,
                             .stats = &stats_,
                             .loop_stats = nullptr,
                             .durability = &storage_,
                             .claims = &claims_,
                             .pub_sub = &pub_sub_,
                             .events = &events_,
                             .users = &access_.users(),
                             .access_log = &access_.log(),
                             .monitoring = &monitoring_};
  protocol::RequestLimits limits;
  Fill(limits, options_);
  net_ = std::make_unique<NetServer>(options_.io_threads, commands, limits, net_settings_);
  if (auto status = Listen(*net_, options_); !status) return status;
  stats_.started_unix_ms = clock_.WallMs();
  stats_.port = net_->port();
  for (const std::string& address : net_->addresses()) {
    spdlog::info("Listening on {} with {} event loop(s)", address, net_->loops());
  }
  access_.WarnIfProtected(options_);
  return OpenAdminPort(commands);
}

core::Status Server::OpenAdminPort(const Environment& commands) {
  if (options_.admin_port == 0) return {};
  auto admin_port = std::make_unique<AdminPort>(commands, access_.OfAdminPort());
  if (auto listening = admin_port->Listen(options_.admin_bind, options_.admin_port); !listening) {
    return core::Fail(core::ErrorCode::kIo, listening.error());
  }
  run_time_options_->Read([&](const config::Options& options) {
    Configure(*admin_port, options);
    admin_port_ = std::move(admin_port);
  });
  spdlog::info("The admin port is http://{}:{}/", options_.admin_bind, options_.admin_port);
  admin_port_->Start();
  return {};
}

void Server::KeepRewrites() {
  if (storage_.HasUnkeptRewrites()) workers_.Run(Weight::kLarge, [this] { storage_.KeepRewrites(); });
}

void Server::AwaitSignals() {
  signals_.Await(
      [this](const char* signal) {
        spdlog::info("Received {}", signal);
        BeginStop(true);
      },
      [this] {
        spdlog::info("Received SIGHUP");
        core::UntilThereIsMemory([this] { service_manager_.Reloading(); });
        Reload();
        core::UntilThereIsMemory([this] { service_manager_.Reloaded(); });
      });
}

// SIGHUP: everything that is read from files and may change while the server runs is read again. The log is first, so
// that the rest is reported in the new one.
void Server::Reload() {
  const auto reload = [](const char* what, const auto& work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      spdlog::error("Out of memory: {} could not be reloaded on SIGHUP", what);
    }
  };
  reload("the log file", [this] { ReopenLog(options_.logfile); });
  reload("the configuration", [this] { configuration_file_->Reload(); });
  reload("the file of users", [this] { access_.Reload(); });
  reload("the certificates", [this] {
    run_time_options_->Read([this](const config::Options& options) {
      const auto tls = net_->ReadTls(TlsSettingsOf(options));
      if (!tls) return spdlog::error("The certificates of the TLS port are unchanged: {}", tls.error().message);
      net_->UseTls(*tls);
    });
  });
}

// A client waits for it.
void Server::RewriteConfiguration(std::function<void(core::Status)> done) {
  asio::post(main_, [this, done = std::move(done)] {
    const core::Status status = core::OrOutOfMemory([this] { return configuration_file_->Rewrite(); });
    core::UntilThereIsMemory([&] { done(status); });
  });
}

void Server::BeginStop(bool save) {
  final_save_ = save;
  signals_.StopAwaiting();
  until_stopped_.reset();
  main_.stop();
}

// Loading may take long, and nothing is lost that a crash would not leave as well: the process ends as it is.
void Server::EndWhileLoading() {
  spdlog::info("Stopping before all is loaded, without a last snapshot, since nothing was changed");
  net_->Stop(kDrainPatience);
  EndProcess();
}

core::Status Server::Stop() {
  core::UntilThereIsMemory([this] {
    service_manager_.Stopping([this] { return "Stopping: " + std::to_string(registry_.Size()) + " filters"; });
  });
  if (loader_.joinable()) EndWhileLoading();
  const Clock::time_point began = Clock::now();
  spdlog::info("Stopping {} a last snapshot", final_save_ ? "with" : "without");
  net_->Stop(kDrainPatience);
  if (admin_port_ != nullptr) admin_port_->Stop();
  events_.Stop();
  core::UntilThereIsMemory([this] { workers_.Stop(); });
  freezer_.Stop();
  if (auto status = core::UntilThereIsMemory([this] { return storage_.Stop(final_save_); }); !status) return status;
  spdlog::info("Stopped in {} ms with {} filters in memory, {} bytes", MillisecondsSince(began), registry_.Size(),
               memory_.used_bytes());
  if (registry_.Size() > kMaxFiltersFreed) EndProcess();
  return {};
}

// A message of several lines becomes several log entries, and is seen even if the log goes elsewhere.
int Fail(std::string_view what, const std::string& message, const config::Options& options) {
  const bool log_is_seen = options.logfile.empty() && options.loglevel != "off";
  std::istringstream lines(message);
  for (std::string line; std::getline(lines, line);) {
    spdlog::error("{}: {}", what, line);
    if (!log_is_seen) std::cerr << "bitsieve: " << what << ": " << line << '\n';
  }
  return 1;
}

}  // namespace

int RunServer(const config::Options& options, const config::Sources& sources) {
  PosixDisk disk;
  return RunServer(options, sources, disk);
}

int RunServer(const config::Options& options, const config::Sources& sources, Disk& disk) {
  ConfigureHeap();
  Signals::IgnoreOthers();
  if (auto status = SetUpLogging(options); !status) {
    std::cerr << "bitsieve: cannot start: " << status.error().message << '\n';
    return 1;
  }
  Server server(options, sources, disk);
  if (auto status = server.Start(); !status) return Fail("Cannot start", status.error().message, options);
  if (auto status = server.Run(); !status) return Fail("Cannot start", status.error().message, options);
  if (auto status = server.Stop(); !status) return Fail("Not stopped cleanly", status.error().message, options);
  return 0;
}

}  // namespace bitsieve::server
