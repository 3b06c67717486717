// serving_fixture.h: a whole server but for the disk, in this process: real filters, commands, event loops and sockets,
// so that a sanitizer sees both sides. Not thread-safe; its port may be talked to from anywhere.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "core/base/memory_budget.h"
#include "server/commands/command_settings.h"
#include "server/commands/cuckoo_loads.h"
#include "server/commands/dispatcher.h"
#include "server/commands/filter_templates.h"
#include "server/commands/transfers.h"
#include "server/keyspace/registry.h"
#include "server/net/net_server.h"
#include "tests/support/fake_control.h"

namespace bitsieve::test {

class ServingFixture {
 public:
  // `templates`: what filters are made of that adding makes.
  ServingFixture(uint32_t loops, server::FilterTemplates templates) {
    settings_.templates = std::move(templates);
    const server::Dispatcher::Environment commands{.keyspace = &registry_,
                                                   .control = &control_,
                                                   .clients = &clients_,
                                                   .stats = &stats_,
                                                   .loop_stats = nullptr,
                                                   .settings = &settings_,
                                                   .transfers = &transfers_,
                                                   .cuckoo_loads = &cuckoo_loads_};
    net_ = std::make_unique<server::NetServer>(loops, commands, limits_, net_settings_);
    const auto listening = net_->Listen("127.0.0.1", 0);
    if (!listening) ADD_FAILURE() << listening.error();
    net_->Start();
  }
  ~ServingFixture() { net_->Stop(std::chrono::seconds(10)); }

  uint16_t port() const { return net_->port(); }
  server::Registry& registry() { return registry_; }

 private:
  core::MemoryBudget memory_;
  server::Registry registry_{memory_};
  FakeControl control_;
  server::ClientList clients_;
  server::ServerStats stats_;
  server::CommandSettings settings_;
  server::Transfers transfers_;
  server::CuckooLoads cuckoo_loads_;
  protocol::RequestLimits limits_;
  server::NetSettings net_settings_;
  std::unique_ptr<server::NetServer> net_;
};

}  // namespace bitsieve::test
