#include "tests/simulation/run.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "config/option_table.h"
#include "config/options.h"
#include "tests/simulation/client.h"
#include "tests/simulation/common_items.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/simulated_disk.h"
#include "tests/simulation/simulated_server.h"
#include "tests/simulation/wall_times.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::simulation {
namespace {

constexpr int64_t kMillisecondNs = 1'000'000;
constexpr int64_t kSecondNs = 1000 * kMillisecondNs;
// How long a life lasts, once its clients have nothing more to send, for a crash at a step that does not come.
constexpr int64_t kLingerNs = 200 * kMillisecondNs;
// docs/durability.md: a kill loses at most 100 ms of acknowledged changes.
constexpr int64_t kUnwrittenNs = 100 * kMillisecondNs;
// A power failure, with everysec: the last second, plus the time of one sync or of a few more.
constexpr int64_t kUnsyncedSyncs = 6;
constexpr uint64_t kMaxMemory = 1 << 30;

config::Options OptionsOf(const Script& script) {
  config::Options options;
  for (const auto& [name, value] : script.options) {
    for (const config::OptionRow& row : config::OptionTable()) {
      if (row.name != name) continue;
      if (core::Status status = config::SetOption(row, value, options); !status) FailRun(status.error().message);
    }
  }
  options.maxmemory = kMaxMemory;
  return options;
}

// How a life ended in which the clients took part.
struct Ended {
  bool lost_power = false;  // then, or before the next start was complete
  bool may_refuse = false;  // the disk refused some of what clients sent last
  int64_t kept_after_kill_ns = INT64_MAX;
  int64_t kept_after_power_ns = INT64_MAX;
};

class Run {
 public:
  Run(const Script& script, const std::string& directory)
      : script_(script),
        options_(OptionsOf(script)),
        random_(script.seed ^ 0x5eed),
        scheduler_(script.seed, script.switch_every),
        surroundings_{scheduler_, wall_clock_, common_items_, directory + "/socket"} {}

  RunFigures All() {
    scheduler_.Run([this] {
      size_t clients = 0;
      for (const Life& life : script_.lives) {
        for (const ClientLine& line : life.commands) clients = std::max(clients, line.client + 1);
      }
      const size_t default_type = TypeNumber(options_.default_type);
      for (size_t i = 0; i < clients; ++i) {
        clients_.emplace_back(i, default_type, script_.refuses_memory(), random_.Next(), surroundings_);
      }
      for (const Life& life : script_.lives) Live(life);
    });
    for (const Client& client : clients_) {
      figures_.commands += client.commands();
      figures_.lookups += client.lookups();
      figures_.without_memory += client.without_memory();
    }
    figures_.switches = scheduler_.switches();
    figures_.simulated_ms = scheduler_.now_ns() / kMillisecondNs;
    figures_.digest = scheduler_.digest();
    return figures_;
  }

 private:
  void Live(const Life& life) {
    SimulatedDisk disk(std::move(content_), random_);
    disk.SetFaults(life.faults);
    disk.SetOnCrash([this] { CutOffClients(); });
    if (life.ending.is_crash() && life.ending.step != 0) disk.CrashAt(life.ending.step, CrashKindOf(life.ending));
    life_began_ns_ = scheduler_.now_ns();
    auto server = std::make_unique<SimulatedServer>(disk, options_);
    if (Start(*server, disk)) {
      const bool verified = Verify(disk);
      if (verified) RunClients(life, disk, *server);
      End(life, disk, *server, verified);
    } else {
      (void)server->Stop(false);
    }
    server.reset();
    content_ = disk.TakeLeft();
  }

  static CrashKind CrashKindOf(const Ending& ending) {
    return ending.kind == Ending::Kind::kPower ? CrashKind::kPower : CrashKind::kKill;
  }

  // Only a disk that fails may refuse a start.
  bool Start(SimulatedServer& server, const SimulatedDisk& disk) {
    const core::Status status = server.Start(surroundings_.socket_path);
    if (!status && !disk.has_crashed() && disk.refused() == 0) {
      FailRun("the server does not start: " + status.error().message);
    }
    if (!disk.has_crashed()) return status.has_value();
    ++figures_.crashes;
    // A kill leaves data that only a complete start makes durable.
    if (ended_ && disk.kind() == CrashKind::kPower) ended_->lost_power = true;
    return false;
  }

  void CutOffClients() {
    for (Client& client : clients_) client.CutOff();
  }

  template <class Work>
  void OfEachClient(Work work, const std::function<void()>& meanwhile = {}) {
    size_t left = clients_.size();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < clients_.size(); ++i) {
      threads.emplace_back([&, i] {
        work(i);
        --left;
      });
    }
    while (meanwhile && left > 0) meanwhile();
    for (std::thread& thread : threads) thread.join();
  }

  // Checks what the life before has promised. False if the server crashed before all was looked at.
  bool Verify(const SimulatedDisk& disk) {
    if (ended_) Resolve(*std::exchange(ended_, std::nullopt));
    OfEachClient([this](size_t i) { clients_[i].Verify(); });
    if (disk.has_crashed()) return false;
    if (options_.appendonly == "yes") CheckOrderOfLoss();
    for (Client& client : clients_) client.BeginLife();
    return true;
  }

  // Losses are always from the end: if a change survived, so did each whose reply came before that one was sent.
  void CheckOrderOfLoss() {
    int64_t last_ns = -1;
    for (Client& client : clients_) {
      for (size_t i = 0; i < client.model().least_survived(); ++i) {
        if (client.steps()[i].changed) last_ns = std::max(last_ns, client.steps()[i].sent_ns);
      }
    }
    for (size_t number = 0; number < clients_.size(); ++number) {
      Client& client = clients_[number];
      for (size_t i = client.model().most_survived(); i < client.steps().size(); ++i) {
        const Client::StepTimes& step = client.steps()[i];
        if (!step.changed || step.replied_ns >= last_ns) continue;
        FailRun("client " + std::to_string(number) + ": its change " + std::to_string(i + 1) +
                " of the life before is lost, and a later one of another client is not");
      }
    }
  }

  void RunClients(const Life& life, SimulatedDisk& disk, SimulatedServer& server) {
    std::vector<std::vector<Words>> commands(clients_.size());
    for (const ClientLine& line : life.commands) commands[line.client].push_back(line.words);
    Steps steps{life.clock_steps, life.memory_steps};
    OfEachClient([&](size_t i) { clients_[i].Run(commands[i]); }, [&] { PassTime(life, disk, server, steps); });
    const int64_t end_ns = scheduler_.now_ns() + kLingerNs;
    while (life.ending.is_crash() && !disk.has_crashed() && (life.ending.step == 0 || scheduler_.now_ns() < end_ns)) {
      PassTime(life, disk, server, steps);
    }
    server.SetMemoryLimit(kMaxMemory);
  }

  struct Steps {
    std::vector<ClockStep> clock;
    std::vector<MemoryStep> memory;
  };

  template <class Step, class Act>
  static void TakeDue(std::vector<Step>& steps, int64_t us, Act act) {
    std::erase_if(steps, [&](const Step& step) {
      if (step.after_us > us) return false;
      act(step);
      return true;
    });
  }

  // A millisecond of the main thread, which sets the clock and the memory, and ends the life when it is time.
  void PassTime(const Life& life, SimulatedDisk& disk, SimulatedServer& server, Steps& steps) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int64_t us = (scheduler_.now_ns() - life_began_ns_) / 1000;
    TakeDue(steps.clock, us, [this](const ClockStep& step) { wall_clock_.Step(step.step_ms); });
    TakeDue(steps.memory, us, [&server](const MemoryStep& step) {
      server.SetMemoryLimit(std::max<uint64_t>(step.bytes, 1));  // 0 is no limit
    });
    if (life.ending.is_crash() && life.ending.step == 0 && us >= life.ending.after_us) {
      disk.Crash(CrashKindOf(life.ending));
    }
  }

  void End(const Life& life, SimulatedDisk& disk, SimulatedServer& server, bool verified) {
    if (life.ending.is_crash()) disk.Crash(CrashKindOf(life.ending));
    const bool saves = life.ending.kind == Ending::Kind::kStopAndSave;
    const core::Status stopped = server.Stop(saves);
    if (disk.has_crashed()) {
      ++figures_.crashes;
    } else {
      ++figures_.stops;
      if (!stopped && disk.refused() == 0) FailRun("the stop failed: " + stopped.error().message);
    }
    const bool keeps_all = !disk.has_crashed() && stopped && (options_.appendonly == "yes" || saves);
    if (verified) return EndClients(disk, keeps_all);
    for (Client& client : clients_) client.EndVerification();
  }

  void EndClients(const SimulatedDisk& disk, bool keeps_all) {
    const bool is_always = options_.appendonly == "yes" && options_.appendfsync == "always";
    common_items_.OnCrash(keeps_all || is_always);
    Ended ended{.lost_power = disk.has_crashed() && disk.kind() == CrashKind::kPower,
                .may_refuse = disk.refused() != 0};
    if (!keeps_all && !is_always) {
      ended.kept_after_kill_ns = KeptNs(kUnwrittenNs);
      const bool is_synced = options_.appendfsync == "everysec";
      ended.kept_after_power_ns =
          KeptNs(is_synced ? kSecondNs + kUnsyncedSyncs * disk.longest_step_ns() : INT64_MAX / 2);
    }
    ended_ = ended;
  }

  // Returns until when what was acknowledged has survived, if what was acknowledged in the last `lost_ns` may be lost.
  int64_t KeptNs(int64_t lost_ns) const {
    int64_t saved_ns = -1;
    int64_t last_change_ns = -1;
    for (const Client& client : clients_) {
      saved_ns = std::max(saved_ns, client.saved_ns() - 1);
      for (const Client::StepTimes& step : client.steps()) {
        if (step.changed) last_change_ns = std::max(last_change_ns, step.replied_ns);
      }
    }
    return options_.appendonly == "yes" ? std::max(saved_ns, last_change_ns - lost_ns) : saved_ns;
  }

  // The states in which the clients may find their filters after the last life that they took part in.
  void Resolve(const Ended& ended) {
    const int64_t kept_ns = ended.lost_power ? ended.kept_after_power_ns : ended.kept_after_kill_ns;
    for (Client& client : clients_) {
      const auto later = std::find_if(client.steps().begin(), client.steps().end(),
                                      [&](const auto& step) { return step.replied_ns > kept_ns; });
      const auto kept = static_cast<size_t>(later - client.steps().begin());
      client.EndLife(std::max(kept, options_.appendonly == "yes" ? client.synced_steps() : 0), ended.may_refuse);
    }
  }

  const Script& script_;
  const config::Options options_;
  Random random_;
  Scheduler scheduler_;
  WallClock wall_clock_{scheduler_};
  CommonItems common_items_;
  const Client::Surroundings surroundings_;
  std::deque<Client> clients_;
  server::MemoryDisk content_;
  int64_t life_began_ns_ = 0;
  std::optional<Ended> ended_;  // the life before, if its clients' states are not resolved yet
  RunFigures figures_;
};

}  // namespace

RunFigures RunScript(const Script& script, const std::string& directory) { return Run(script, directory).All(); }

}  // namespace bitsieve::simulation
