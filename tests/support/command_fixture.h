// command_fixture.h: a dispatcher with all that it needs and no socket: commands in, bytes out. Thread-compatible.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_settings.h"
#include "commands/transfers.h"
#include "core/base/memory_budget.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/claims.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/keyspace_events.h"
#include "server/keyspace/registry.h"
#include "server/namespace.h"
#include "tests/support/default_settings.h"
#include "tests/support/fake_control.h"
#include "tests/support/fake_durability.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::test {

using Words = std::vector<std::string>;

// The commands must outlive the batch.
inline server::CommandBatch BatchOf(const std::vector<Words>& commands) {
  server::CommandBatch batch;
  for (const Words& command : commands) {
    batch.arguments.insert(batch.arguments.end(), command.begin(), command.end());
    batch.ends.push_back(batch.arguments.size());
  }
  return batch;
}

// One connection to a server of one loop.
class CommandFixture {
 public:
  CommandFixture() {
    stats.loops.emplace_back();
    clients.Add(client);
    dispatcher = std::make_unique<server::Dispatcher>(server::Dispatcher::Environment{
        &server::AllCommands(), &registry, &core::SystemClock(), &control, &clients, &stats, &stats.loops.front(),
        &settings, &control, &transfers, &durability, &claims, &pub_sub, &events});
  }

  // The reply to one command.
  std::string Reply(const Words& command) { return Replies({command}); }
  // The replies to a batch, end to end; up to one that comes later, except for those of an EXEC that lets others in.
  std::string Replies(const std::vector<Words>& commands) {
    std::string out;
    protocol::ReplyWriter reply(out);
    const server::CommandBatch batch = BatchOf(commands);
    outcome = dispatcher->Execute(session, batch, 0, reply);
    const auto goes_on = [this] {
      return (outcome.deferred && session.executing != nullptr) ||
             (outcome.yielded && session.abort == server::Session::Abort::kNone);
    };
    while (goes_on()) {
      const size_t done = outcome.executed;
      if (outcome.deferred) outcome.deferred([&reply](const server::WriteReply& write) { write(reply); });
      outcome = dispatcher->Execute(session, batch, done, reply);
      outcome.executed += done;
    }
    return out;
  }

  core::MemoryBudget budget;
  ManualClock clock;  // by which names expire
  server::Registry registry{budget, clock, core::SystemClock()};
  FakeControl control;
  server::ClientList clients;
  server::ServerStats stats;
  Default<server::CommandSettings> settings;
  server::Transfers transfers;
  FakeDurability durability;
  server::Claims claims;
  server::PubSub pub_sub;
  server::KeyspaceEvents events{pub_sub};
  std::shared_ptr<server::ClientRecord> client =
      std::make_shared<server::ClientRecord>(7, "127.0.0.1:5000", "127.0.0.1:7379", 1'000);
  server::Session session{client};
  std::unique_ptr<server::Dispatcher> dispatcher;
  server::Dispatcher::Outcome outcome{};
};

}  // namespace bitsieve::test
