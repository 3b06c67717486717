// fakes.h: what the network side is wired to in its tests: a keyspace without filters, and a process whose snapshots
// end when the test ends them.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/workers.h"
#include "server/auth/access_log.h"
#include "server/auth/command_index.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/server_control.h"
#include "server/keyspace/keyspace.h"
#include "server/pubsub/pub_sub.h"
#include "server/session/client_list.h"
#include "tests/support/default_settings.h"
#include "tests/support/fake_durability.h"

namespace bitsieve::server::testing {

class NoFilters final : public Keyspace {
 public:
  core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(const commands::FilterPtr&) override {
    return nullptr;
  }
  commands::FilterPtr Find(std::string_view) const override { return nullptr; }
  commands::FilterPtr InsertIfAbsent(std::string_view, commands::FilterPtr filter, int64_t) override { return filter; }
  bool Put(std::string_view, commands::FilterPtr, int64_t) override { return true; }
  bool Replace(std::string_view, const commands::FilterPtr&, commands::FilterPtr) override { return false; }
  core::Result<bool> ReplaceFolded(std::string_view, core::FilterFold&) override { return false; }
  bool Remove(std::string_view) override { return false; }
  RenameOutcome Rename(std::string_view, std::string_view, bool) override { return RenameOutcome::kNoSource; }
  core::Status LogRewrite(const commands::FilterPtr&) override { return {}; }
  void Flush(bool) override {}
  uint64_t Size() const override { return 0; }
  uint64_t Scan(uint64_t, uint64_t, const Visitor&) const override { return 0; }
  std::optional<std::string> RandomName() const override { return std::nullopt; }
  ExpiryChange SetExpiry(std::string_view, int64_t, uint32_t) override { return {}; }
  std::optional<int64_t> ExpiryOf(std::string_view) const override { return std::nullopt; }
  ExpiryStats Expiries() const override { return {}; }
  int64_t WallMs() const override { return 0; }
  NameState StateOf(std::string_view) const override { return {}; }
  bool IsUnchanged(std::string_view, const NameState&) const override { return true; }
  core::MemoryBudget& memory() override { return memory_; }
  const core::Clock& clock() const override { return core::SystemClock(); }

 private:
  core::MemoryBudget memory_;
};

// Thread-safe.
class FakeControl final : public ServerControl {
 public:
  using Done = std::function<void(core::Status)>;

  void Save(Done done) override {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(done));
    changed_.notify_all();
  }
  // Waits until a snapshot is requested, and takes the callback for its end.
  Done TakeSave() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !asked_.empty(); });
    Done done = std::move(asked_.front());
    asked_.erase(asked_.begin());
    return done;
  }
  SnapshotStatus Snapshot() const override { return {}; }
  LogStatus Log() const override { return {}; }
  void Shutdown(bool) override {}
  std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view) const override {
    if (on_get_options) on_get_options();
    return {};
  }
  core::Status LoadUsers() override { return {}; }
  void RewriteConfiguration(std::function<void(core::Status)> done) override { done({}); }
  core::Status SaveUsers() override { return {}; }
  core::Outcome<void, config::RefusedPair> SetOptions(std::span<const config::NameAndText>) override { return {}; }

  std::function<void()> on_get_options;  // runs on the asking loop; set before the server starts to be used

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Done> asked_;  // protected by mutex_
};

struct Backend {
  explicit Backend(commands::Workers* given_workers = nullptr) : workers(given_workers) {}

  NoFilters keyspace;
  FakeControl control;
  ClientList clients;
  ServerStats stats;
  test::Default<commands::CommandSettings> settings;
  test::FakeDurability durability;
  PubSub pub_sub;
  const CommandIndex index{AllCommands().all_rows()};
  Users users{index};
  AccessLog access_log{128};
  Monitoring monitoring;
  commands::Workers* const workers;

  Environment environment() {
    return {.filters = {.settings = &settings, .workers = workers},
            .table = &AllCommands(),
            .keyspace = &keyspace,
            .clock = &core::SystemClock(),
            .control = &control,
            .clients = &clients,
            .stats = &stats,
            .loop_stats = nullptr,
            .durability = &durability,
            .pub_sub = &pub_sub,
            .users = &users,
            .access_log = &access_log,
            .monitoring = &monitoring};
  }
};

}  // namespace bitsieve::server::testing
