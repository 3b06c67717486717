// serving_fixture.h: a whole server in this process, so that a sanitizer sees both sides: real filters, commands, event
// loops, sockets, log and snapshots; the disk alone is memory. Not thread-safe; its port may be talked to from
// anywhere.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "commands/command_settings.h"
#include "commands/filter_templates.h"
#include "commands/transfers.h"
#include "config/options.h"
#include "core/base/memory_budget.h"
#include "server/auth/access_log.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/monitoring.h"
#include "server/keyspace/freezer.h"
#include "server/keyspace/registry.h"
#include "server/net/net_server.h"
#include "server/session/client_list.h"
#include "server/storage.h"
#include "tests/support/default_settings.h"
#include "tests/support/fake_control.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::test {

class ServingFixture {
 public:
  // `templates`: what filters are made of that adding makes.
  ServingFixture(uint32_t loops, const std::string& appendfsync, commands::FilterTemplates templates) {
    spdlog::set_level(spdlog::level::warn);
    settings_.templates.Set(std::move(templates));
    options_.appendfsync = appendfsync;
    options_.save_interval = 0;
    BeginStorage();
    const server::Environment commands{
        .filters = {.settings = &settings_, .freezing = &freezer_, .transfers = &transfers_},
        .table = &server::AllCommands(),
        .keyspace = &registry_,
        .clock = &core::SystemClock(),
        .control = &control_,
        .clients = &clients_,
        .stats = &stats_,
        .loop_stats = nullptr,
        .durability = &storage_,
        .pub_sub = &pub_sub_,
        .monitoring = &monitoring_};
    net_ = std::make_unique<server::NetServer>(loops, commands, limits_, net_settings_);
    const auto listening = net_->Listen("127.0.0.1", 0);
    if (!listening) ADD_FAILURE() << listening.error();
    net_->Start();
  }
  ~ServingFixture() {
    for (int saves = saves_.load(); saves != 0; saves = saves_.load()) saves_.wait(saves);
    net_->Stop(std::chrono::seconds(10));
    freezer_.Stop();
    const core::Status stopped = storage_.Stop(false);
    if (!stopped) ADD_FAILURE() << stopped.error().message;
  }

  uint16_t port() const { return net_->port(); }
  server::Registry& registry() { return registry_; }
  // Takes a snapshot in the background. Thread-safe.
  void Save() {
    ++saves_;
    storage_.Save([this](const core::Status& status) {
      if (!status) ADD_FAILURE() << status.error().message;
      --saves_;
      saves_.notify_all();
    });
  }

 private:
  void BeginStorage() {
    core::Status status = storage_.Open("data");
    if (status) {
      core::Result<server::Recovery> loaded = storage_.Load(options_);
      status = loaded ? storage_.Begin(std::move(*loaded), options_) : tl::unexpected(loaded.error());
    }
    if (!status) ADD_FAILURE() << status.error().message;
  }

  config::Options options_;
  core::MemoryBudget memory_;
  server::MemoryDisk disk_;
  core::FilterClock filter_clock_;
  server::Quotas quotas_{memory_};
  server::Registry registry_{quotas_, core::SystemClock(), filter_clock_};
  server::Freezer freezer_{registry_, [](const server::FreezeReport&) {}};
  server::Storage storage_{disk_, registry_, core::SystemClock(), filter_clock_, freezer_};
  FakeControl control_;
  server::ClientList clients_;
  server::ServerStats stats_;
  server::PubSub pub_sub_;
  server::Monitoring monitoring_;
  Default<commands::CommandSettings> settings_;
  commands::Transfers transfers_;
  Default<protocol::RequestLimits> limits_;
  Default<server::NetSettings> net_settings_;
  std::unique_ptr<server::NetServer> net_;
  std::atomic<int> saves_{0};  // under way
};

}  // namespace bitsieve::test
