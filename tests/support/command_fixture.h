// command_fixture.h: a dispatcher with all that it needs and no socket: commands in, bytes out. Thread-compatible.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command_settings.h"
#include "commands/followed_filters.h"
#include "commands/transfers.h"
#include "core/base/memory_budget.h"
#include "server/auth/access_log.h"
#include "server/auth/command_index.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/access.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/monitoring.h"
#include "server/keyspace/registry.h"
#include "server/pubsub/keyspace_events.h"
#include "server/session/claims.h"
#include "server/session/client_list.h"
#include "server/stats/stats.h"
#include "tests/support/default_settings.h"
#include "tests/support/fake_control.h"
#include "tests/support/fake_durability.h"
#include "tests/support/manual_clock.h"

namespace bitsieve::test {

using Words = std::vector<std::string>;

inline constexpr const char* kOk = "+OK\r\n";

// The commands must outlive the batch.
inline server::CommandBatch BatchOf(const std::vector<Words>& commands) {
  server::CommandBatch batch;
  for (const Words& command : commands) {
    batch.arguments.insert(batch.arguments.end(), command.begin(), command.end());
    batch.ends.push_back(batch.arguments.size());
  }
  return batch;
}

// Runs a batch as a connection does: in as many turns as the dispatcher takes, which depends on the time that each one
// has. Stops at a command that is answered later, unless it is an EXEC.
inline server::Executor::Outcome ExecuteInTurns(server::Dispatcher& dispatcher, server::Session& session,
                                                const server::CommandBatch& batch, protocol::ReplyWriter& reply) {
  server::Executor::Outcome outcome = dispatcher.Execute(session, batch, 0, reply);
  while ((outcome.deferred && session.executing != nullptr) ||
         (outcome.wait == server::Wait::kTurn && session.abort == server::Session::Abort::kNone)) {
    const size_t done = outcome.executed;
    if (outcome.deferred) outcome.deferred([&reply](const server::WriteReply& write) { write(reply); });
    outcome = dispatcher.Execute(session, batch, done, reply);
    outcome.executed += done;
  }
  return outcome;
}

// The error of too few or too many arguments, with the usage of a filter command; and as a reply.
inline std::string ArityText(std::string_view name) {
  return commands::ArityError(*server::AllCommands().FindFull(name));
}
inline std::string ArityReply(std::string_view name) { return "-" + ArityText(name) + "\r\n"; }

// One connection to a server of one loop.
class CommandFixture {
 public:
  CommandFixture() {
    stats.loops.emplace_back();
    clients.Add(client);
    ServeBy(nullptr);
    server::BeginAccess(session, &users);
  }

  // From now on long commands run on these workers; null: at once.
  void ServeBy(commands::Workers* workers) {
    dispatcher = std::make_unique<server::Dispatcher>(EnvironmentWith(workers));
  }
  // Returns the parts of this server, for tests of what is below the dispatcher.
  server::Environment EnvironmentWith(commands::Workers* workers) {
    return {.filters = {.settings = &settings,
                        .freezing = &control,
                        .transfers = &transfers,
                        .followed = &followed,
                        .workers = workers},
            .table = &server::AllCommands(),
            .keyspace = &registry,
            .clock = &core::SystemClock(),
            .control = &control,
            .clients = &clients,
            .stats = &stats,
            .loop_stats = &stats.loops.front(),
            .durability = &durability,
            .claims = &claims,
            .pub_sub = &pub_sub,
            .events = &events,
            .users = &users,
            .access_log = &access_log,
            .monitoring = &monitoring};
  }

  // The reply to one command.
  std::string Reply(const Words& command) { return Replies({command}); }
  // All that a filter's description has, except for what is counted since it was made or loaded.
  std::string LastingInfo(const std::string& name) {
    std::string info = Reply({"BF.INFO", name, "FULL"});
    for (const std::string label : {"+Hits\r\n", "+Misses\r\n", "+Adds\r\n", "+Last use\r\n"}) {
      const size_t begin = info.find(label);
      info.erase(begin, info.find("\r\n", begin + label.size()) + 2 - begin);
    }
    return info;
  }
  // The replies to a batch, end to end; up to one that comes later, except for those of an EXEC that lets others in.
  std::string Replies(const std::vector<Words>& commands) {
    std::string out;
    protocol::ReplyWriter reply(out);
    outcome = ExecuteInTurns(*dispatcher, session, BatchOf(commands), reply);
    return out;
  }

  core::MemoryBudget budget;
  ManualClock clock;  // by which names expire, and filters age
  server::Quotas quotas{budget};
  server::Registry registry{quotas, clock, clock};
  FakeControl control;
  server::ClientList clients;
  server::ServerStats stats;
  Default<commands::CommandSettings> settings;
  commands::Transfers transfers;
  commands::FollowedFilters followed{uint64_t{1} << 20, clock};
  FakeDurability durability;
  server::Claims claims;
  const server::CommandIndex index{server::AllCommands().all_rows()};
  server::Users users{index};
  server::AccessLog access_log{128};
  server::PubSub pub_sub;
  server::KeyspaceEvents events{pub_sub};
  server::Monitoring monitoring;
  std::shared_ptr<server::ClientRecord> client =
      std::make_shared<server::ClientRecord>(7, "127.0.0.1:5000", "127.0.0.1:7379", 1'000);
  server::Session session{client};
  std::unique_ptr<server::Dispatcher> dispatcher;
  server::Executor::Outcome outcome{};
};

}  // namespace bitsieve::test
