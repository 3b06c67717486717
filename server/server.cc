#include "server/server.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "commands/transfers.h"
#include "config/client_memory.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "core/base/quote.h"
#include "core/families/bloom/block_kernel.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/claims.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/keyspace_events.h"
#include "server/dispatch/pub_sub.h"
#include "server/heap.h"
#include "server/keyspace/freezer.h"
#include "server/keyspace/huge_page_keeper.h"
#include "server/keyspace/registry.h"
#include "server/keyspace/unmapper.h"
#include "server/logging.h"
#include "server/machine_memory.h"
#include "server/namespace.h"
#include "server/net/file_limit.h"
#include "server/net/net_server.h"
#include "server/persistence/disk/posix_disk.h"
#include "server/process_control.h"
#include "server/run_time_options.h"
#include "server/settings.h"
#include "server/signals.h"
#include "server/storage.h"
#include "server/worker_pool.h"

namespace bitsieve::server {
namespace {

using Clock = std::chrono::steady_clock;

// How long clients may take to read their last replies when the server stops.
constexpr std::chrono::seconds kDrainPatience{5};
constexpr std::chrono::milliseconds kOutOfMemoryPause{1};
// When more have to be freed, which takes microseconds each, the system frees them faster with the process.
constexpr uint64_t kMaxFiltersFreed = 10'000;

int64_t MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
}

// What filters may take: the rest of the machine's memory is for connections, snapshots and the system.
uint64_t MaxMemoryOf(const config::Options& options) {
  return options.maxmemory == config::kAutomatic ? MachineMemory() / 5 * 4 : options.maxmemory;
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::weakly_canonical(path, error);
  return error ? path : absolute.string();
}

// So many clients as there are descriptors for.
uint64_t AffordableClients(uint64_t maxclients) {
  const uint64_t limit = RaiseFileLimit(maxclients + kReservedFiles);
  return limit > kReservedFiles ? std::min(maxclients, limit - kReservedFiles) : 1;
}

core::Status CheckAffordable(const config::Options& options) {
  const uint64_t affordable = AffordableClients(options.maxclients);
  if (affordable >= options.maxclients) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument,
                    "the limit of open files allows for " + std::to_string(affordable) + " clients");
}

void LogFreeze(const FreezeReport& report) {
  const std::string name = core::PrintableName(report.name);
  if (!report.status) {
    spdlog::warn("Filter {} cannot be frozen and goes on collecting: {}", name, report.status.error().message);
    return;
  }
  spdlog::info("Filter {} of {} items is frozen: {} bytes instead of {}, built in {} ms", name, report.items,
               report.frozen_bytes, report.collected_bytes, report.duration_ms);
}

// As it is, without freeing anything.
[[noreturn]] void EndProcess() {
  spdlog::shutdown();
  std::_Exit(0);
}

// Members are built in their order and die in reverse; each uses those above it alone. The main thread runs `main_`;
// clients are served by the network's threads from Start() on, and get a LOADING error while the loader's thread loads.
class Server {
 public:
  Server(const config::Options& options, Disk& disk)
      : options_(options),
        memory_(0),
        registry_(memory_, clock_, filter_clock_),
        freezer_(registry_, LogFreeze,
                 [this](std::string_view name) { events_.Publish(EventClass::kFilter, "frozen", name); }),
        storage_(disk, registry_, clock_, filter_clock_, freezer_) {
    registry_.SetOnExpired([this](std::string_view name) { events_.Publish(EventClass::kExpired, "expired", name); });
  }

  core::Status Start();
  // Returns when a stop was requested, or with the error if the data cannot be loaded.
  core::Status Run();
  core::Status Stop();

 private:
  void BeginLoading();
  core::Result<Recovery> LoadOrOutOfMemory();
  void OnLoaded(core::Result<Recovery> recovery);
  [[noreturn]] void EndWhileLoading();
  void ReportRecovery(const RecoveryReport& report) const;
  void ResolveMaxMemory();
  void LimitClients();
  void LimitMemory(const config::Options& options);
  void Apply(const config::Options& options);
  core::Status OpenNetwork();
  void AwaitSignals();
  void BeginStop(bool save);

  asio::io_context main_{1};  // first: a handler of signals may run on any thread, until the last has ended
  config::Options options_;
  const Clock::time_point started_ = Clock::now();
  const core::Clock& clock_ = core::SystemClock();
  core::MemoryBudget memory_;
  PubSub pub_sub_;
  KeyspaceEvents events_{pub_sub_};
  core::FilterClock filter_clock_;
  Unmapper unmapper_;
  Registry registry_;
  Freezer freezer_;
  Storage storage_;
  CommandSettings command_settings_;
  Transfers transfers_;
  Claims claims_;
  NetSettings net_settings_;
  std::unique_ptr<RunTimeOptions> run_time_options_;
  ServerStats stats_;
  ClientList clients_;
  asio::executor_work_guard<asio::io_context::executor_type> until_stopped_ = asio::make_work_guard(main_);
  Signals signals_{main_};
  HeapTrimmer heap_trimmer_{main_, [this] { return clients_.Size(); }};
  core::Status loaded_;
  bool is_loaded_ = false;  // there is no limit of memory before; changed and read by users of run_time_options_ alone
  bool final_save_ = true;
  std::unique_ptr<ProcessControl> control_;
  WorkerPool workers_;
  std::unique_ptr<NetServer> net_;
  std::optional<HugePageKeeper> huge_page_keeper_;  // once all is loaded
  std::thread loader_;                              // joined as soon as it is done
};

core::Status Server::Start() {
  spdlog::info("Bitsieve {} starts: process {}, {} kernel", BITSIEVE_VERSION, getpid(), core::BestBlockKernel().name);
  auto templates = TemplatesOf(options_);
  if (!templates) return core::Fail(core::ErrorCode::kInvalidArgument, templates.error().front());
  command_settings_.templates = std::move(*templates);
  if (auto status = storage_.Open(options_.dir); !status) return status;
  ResolveMaxMemory();
  LimitClients();
  run_time_options_ = std::make_unique<RunTimeOptions>(options_, CheckAffordable,
                                                       [this](const config::Options& options) { Apply(options); });
  control_ = std::make_unique<ProcessControl>(storage_, *run_time_options_,
                                              [this](bool save) { asio::post(main_, [=, this] { BeginStop(save); }); });
  if (auto status = OpenNetwork(); !status) return status;
  AwaitSignals();
  stats_.loading_since_unix_s = clock_.WallMs() / 1000;
  heap_trimmer_.Start();
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
      // Half of a recovery is of no use; anything else can wait.
      if (stats_.Loading()) return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for what is to be loaded");
      spdlog::warn("The main thread is out of memory");
      std::this_thread::sleep_for(kOutOfMemoryPause);
    }
  }
}

void Server::BeginLoading() {
  loader_ = std::thread([this] {
    Signals::LeaveToOtherThreads();
    auto recovery = LoadOrOutOfMemory();
    asio::post(main_, [this, recovery = std::move(recovery)]() mutable { OnLoaded(std::move(recovery)); });
  });
}

core::Result<Recovery> Server::LoadOrOutOfMemory() {
  try {
    return storage_.Load(options_);
  } catch (const std::bad_alloc&) {
    return core::Fail(core::ErrorCode::kOutOfMemory, "out of memory for what is to be loaded");
  }
}

void Server::OnLoaded(core::Result<Recovery> recovery) {
  loader_.join();
  if (!recovery) {
    loaded_ = tl::unexpected(recovery.error());
    return main_.stop();
  }
  ReportRecovery(recovery->report);
  run_time_options_->Notify([&](const config::Options& options) {
    LimitMemory(options);
    loaded_ = storage_.Begin(std::move(*recovery), options);
  });
  if (!loaded_) return main_.stop();
  huge_page_keeper_.emplace();
  stats_.loading_since_unix_s = 0;
  spdlog::info("Ready after {} ms", MillisecondsSince(started_));
}

// What is on the disk is served, even if maxmemory was higher when it was written.
void Server::LimitMemory(const config::Options& options) {
  is_loaded_ = true;
  const uint64_t limit = MaxMemoryOf(options);
  memory_.set_limit_bytes(limit);
  if (limit == 0 || memory_.used_bytes() <= limit) return;
  spdlog::warn("The filters take {} bytes, more than maxmemory, {}: commands that need more memory are refused",
               memory_.used_bytes(), limit);
}

void Server::ReportRecovery(const RecoveryReport& report) const {
  for (const Quarantined& file : report.quarantined) {
    spdlog::error("Quarantined {}: {}", file.moved_to.empty() ? file.path + " (missing)" : file.moved_to, file.reason);
  }
  for (const std::string& warning : report.warnings) spdlog::warn("{}", warning);
  if (report.leftovers_removed != 0) {
    spdlog::info("Removed {} files of a snapshot that was never finished", report.leftovers_removed);
  }
  if (report.log.torn) spdlog::warn("The end of the log was torn by a crash and is cut: {}", report.log.torn->reason);
  for (const std::string& problem : report.log_problems) {
    spdlog::error("The log is damaged, and ends before the damage as on-corrupt-log truncate says: {}", problem);
  }
  const std::string expired =
      report.filters_expired == 0 ? "" : " (" + std::to_string(report.filters_expired) + " more had expired)";
  spdlog::info("Loaded {} filters{}, {} bytes and {} records of the log, in {} ms from {}", report.filters_loaded,
               expired, report.bytes_read, report.log.records, report.duration_ms, AbsolutePath(options_.dir));
}

// CONFIG GET, as in Redis, returns bytes.
void Server::ResolveMaxMemory() {
  if (options_.maxmemory != config::kAutomatic) return;
  options_.maxmemory = MaxMemoryOf(options_);
  spdlog::info("maxmemory is {} bytes, 80% of the {} bytes that this machine or its cgroup has", options_.maxmemory,
               MachineMemory());
}

void Server::LimitClients() {
  const uint64_t affordable = AffordableClients(options_.maxclients);
  if (affordable >= options_.maxclients) return;
  spdlog::warn("maxclients {} needs {} open files, and the system allows for {} clients only: maxclients is {} now",
               options_.maxclients, options_.maxclients + kReservedFiles, affordable, affordable);
  options_.maxclients = static_cast<uint32_t>(affordable);
}

void Server::Apply(const config::Options& options) {
  SetLogLevel(options.loglevel);
  if (is_loaded_) memory_.set_limit_bytes(MaxMemoryOf(options));
  storage_.Apply(options);
  Fill(command_settings_, options);
  Fill(net_settings_, options);
  clients_.set_memory_limit(config::ClientMemoryLimit(options, MachineMemory()));
  pub_sub_.inbox_limit_bytes = options.client_output_buffer_limit;
  events_.Configure(options.notify_keyspace_events);
}

core::Status Server::OpenNetwork() {
  const Dispatcher::Environment commands{.table = &AllCommands(),
                                         .keyspace = &registry_,
                                         .clock = &clock_,
                                         .control = control_.get(),
                                         .clients = &clients_,
                                         .stats = &stats_,
                                         .loop_stats = nullptr,
                                         .settings = &command_settings_,
                                         .freezing = &freezer_,
                                         .transfers = &transfers_,
                                         .durability = &storage_,
                                         .claims = &claims_,
                                         .pub_sub = &pub_sub_,
                                         .events = &events_,
                                         .workers = &workers_};
  protocol::RequestLimits limits;
  Fill(limits, options_);
  net_ = std::make_unique<NetServer>(options_.io_threads, commands, limits, net_settings_);
  if (auto listening = net_->Listen(options_.bind, options_.port); !listening) {
    return core::Fail(core::ErrorCode::kIo, listening.error());
  }
  stats_.started_unix_ms = clock_.WallMs();
  stats_.port = net_->port();
  for (const std::string& address : net_->addresses()) {
    spdlog::info("Listening on {} with {} event loop(s)", address, net_->loops());
  }
  return {};
}

void Server::AwaitSignals() {
  signals_.Await(
      [this](const std::string& signal) {
        spdlog::info("Received {}", signal);
        BeginStop(true);
      },
      [this] { ReopenLog(options_.logfile); });
}

void Server::BeginStop(bool save) {
  final_save_ = save;
  signals_.StopAwaiting();
  until_stopped_.reset();
  main_.stop();
}

// Loading may take long, and nothing is lost that a crash would not leave as well: the process ends as it is.
void Server::EndWhileLoading() {
  spdlog::info("Stopping before all is loaded: without a last snapshot, since nothing was changed");
  net_->Stop(kDrainPatience);
  EndProcess();
}

core::Status Server::Stop() {
  if (loader_.joinable()) EndWhileLoading();
  const Clock::time_point began = Clock::now();
  spdlog::info("Stopping {} a last snapshot", final_save_ ? "with" : "without");
  net_->Stop(kDrainPatience);
  workers_.Stop();
  freezer_.Stop();
  if (auto status = storage_.Stop(final_save_); !status) return status;
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

int RunServer(const config::Options& options) {
  PosixDisk disk;
  return RunServer(options, disk);
}

int RunServer(const config::Options& options, Disk& disk) {
  ConfigureHeap();
  Signals::IgnoreOthers();
  if (auto status = SetUpLogging(options); !status) {
    std::cerr << "bitsieve: cannot start: " << status.error().message << '\n';
    return 1;
  }
  Server server(options, disk);
  if (auto status = server.Start(); !status) return Fail("Cannot start", status.error().message, options);
  if (auto status = server.Run(); !status) return Fail("Cannot start", status.error().message, options);
  if (auto status = server.Stop(); !status) return Fail("Not stopped cleanly", status.error().message, options);
  return 0;
}

}  // namespace bitsieve::server
