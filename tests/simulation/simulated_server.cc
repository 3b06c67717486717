#include "tests/simulation/simulated_server.h"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "commands/command_settings.h"
#include "commands/followed_filters.h"
#include "commands/transfers.h"
#include "core/base/clock.h"
#include "core/base/memory_budget.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/environment.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/server_control.h"
#include "server/keyspace/freezer.h"
#include "server/keyspace/registry.h"
#include "server/keyspace/unmapper.h"
#include "server/net/net_server.h"
#include "server/options/settings.h"
#include "server/process/worker_pool.h"
#include "server/pubsub/keyspace_events.h"
#include "server/pubsub/pub_sub.h"
#include "server/session/claims.h"
#include "server/session/client_list.h"
#include "server/storage.h"

namespace bitsieve::simulation {

using namespace server;

namespace {

constexpr std::chrono::milliseconds kDrainPatience{5000};

}  // namespace

// Members are built in their order and die in reverse; each uses only those above it.
class SimulatedServer::Parts final : private ServerControl {
 public:
  Parts(Disk& disk, const config::Options& options)
      : options_(options), storage_(disk, registry_, core::SystemClock(), filter_clock_, freezer_) {
    events_.UseWorkers(workers_);
    Fill(command_settings_, options_);
    Fill(net_settings_, options_);
    Fill(limits_, options_);
    memory_.set_limit_bytes(options_.maxmemory);
  }

  core::Status Start(const std::string& socket_path) {
    if (core::Status status = storage_.Open("data"); !status) return status;
    core::Result<Recovery> recovery = storage_.Load(options_);
    if (!recovery) return tl::unexpected(std::move(recovery.error()));
    if (core::Status status = storage_.Begin(std::move(*recovery), options_); !status) return status;
    has_begun_ = true;
    const Environment environment{.filters = {.settings = &command_settings_,
                                              .freezing = &freezer_,
                                              .transfers = &transfers_,
                                              .followed = &followed_,
                                              .workers = &workers_},
                                  .table = &AllCommands(),
                                  .keyspace = &registry_,
                                  .clock = &core::SystemClock(),
                                  .control = this,
                                  .clients = &clients_,
                                  .stats = &stats_,
                                  .loop_stats = nullptr,
                                  .durability = &storage_,
                                  .claims = &claims_,
                                  .pub_sub = &pub_sub_,
                                  .events = &events_,
                                  .monitoring = &monitoring_};
    net_ = std::make_unique<NetServer>(options_.io_threads, environment, limits_, net_settings_);
    if (auto listening = net_->ListenOnUnixSocket(socket_path, {}); !listening) {
      return core::Fail(core::ErrorCode::kIo, listening.error());
    }
    net_->Start();
    return {};
  }

  void SetMemoryLimit(uint64_t bytes) { memory_.set_limit_bytes(bytes); }

  core::Status Stop(bool final_save) {
    if (net_ != nullptr) net_->Stop(kDrainPatience);
    events_.Stop();
    workers_.Stop();
    freezer_.Stop();
    return has_begun_ ? storage_.Stop(final_save) : core::Status();
  }

 private:
  void Save(std::function<void(core::Status)> done) override { storage_.Save(std::move(done)); }
  SnapshotStatus Snapshot() const override { return storage_.Snapshot(); }
  LogStatus Log() const override { return storage_.Log(); }
  // No script has these.
  void Shutdown(bool) override {}
  core::Status LoadUsers() override { return {}; }
  core::Status SaveUsers() override { return {}; }
  std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view) const override { return {}; }
  core::Outcome<void, config::RefusedPair> SetOptions(std::span<const config::NameAndText>) override { return {}; }
  void RewriteConfiguration(std::function<void(core::Status)> done) override { done({}); }

  const config::Options options_;
  core::MemoryBudget memory_;
  Quotas quotas_{memory_};
  PubSub pub_sub_;
  KeyspaceEvents events_{pub_sub_};
  Monitoring monitoring_;
  core::FilterClock filter_clock_;
  Unmapper unmapper_;
  Registry registry_{quotas_, core::SystemClock(), filter_clock_};
  Freezer freezer_{registry_, [](const FreezeReport&) {}};
  Storage storage_;
  commands::CommandSettings command_settings_;
  commands::Transfers transfers_;
  commands::FollowedFilters followed_{config::Options{}.changes_memory};
  Claims claims_;
  NetSettings net_settings_;
  protocol::RequestLimits limits_;
  ServerStats stats_;
  ClientList clients_;
  WorkerPool workers_;
  std::unique_ptr<NetServer> net_;
  bool has_begun_ = false;
};

SimulatedServer::SimulatedServer(Disk& disk, const config::Options& options)
    : parts_(std::make_unique<Parts>(disk, options)) {}

SimulatedServer::~SimulatedServer() = default;

core::Status SimulatedServer::Start(const std::string& socket_path) { return parts_->Start(socket_path); }

void SimulatedServer::SetMemoryLimit(uint64_t bytes) { parts_->SetMemoryLimit(bytes); }

core::Status SimulatedServer::Stop(bool final_save) { return parts_->Stop(final_save); }

}  // namespace bitsieve::simulation
