// A refused allocation may refuse its command and do nothing else. Each allocation of a script over all commands and
// types is refused in turn; afterwards every answer is that of a reference run in which the command that met the
// refusal was not executed, or, if its client was not answered, was executed wholly or up to some item; and a restart
// finds the same.
//
// TEST_REFUSE_EVERY=n refuses only every n-th allocation, TEST_REFUSE_FROM=n begins with the n-th. A run over every
// single one takes minutes.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/base/change_meter.h"
#include "core/base/out_of_memory.h"
#include "core/filter/filter_dump.h"
#include "server/dispatch/command_table.h"
#include "server/keyspace/freezer.h"
#include "tests/stress/refused_memory_script.h"
#include "tests/support/command_fixture.h"
#include "tests/support/failing_memory.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using test::AllowMemory;
using test::BatchOf;
using test::CommandFixture;
using test::Refused;
using test::RefuseMemory;
using test::Whose;

// Sanitizers and debug builds are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr uint64_t kEvery = 61;
#else
constexpr uint64_t kEvery = 7;
#endif

// ---- one run

// A client that is closed when its commands run out of memory, and connects again.
class Victim {
 public:
  Victim() {
    directory_ = DataDirectory::Open(disk_, "/d").value();
    log_.emplace(*directory_, core::SystemClock(), FsyncPolicy::kAlways, 0);
    recorder_.emplace(*log_, ContentWriter(*directory_, file_ids_), pool_, 1);
    commands_.registry.SetLog(&*recorder_);
    snapshots_.emplace(
        SnapshotParts{*directory_, commands_.registry, file_ids_, pool_, core::SystemClock(), &*recorder_},
        SavedState{});
    freezer_.emplace(commands_.registry, [](const FreezeReport&) {});
    commands_.control.on_freeze = [this](std::string_view name, const FilterPtr& closed) {
      freezer_->Freeze(name, closed);
    };
  }
  ~Victim() { Stop(); }

  // Returns nothing if the connection was closed.
  std::optional<std::string> Do(const Step& step) {
    const CommandBatch batch = BatchOf(step.commands);
    const std::string& first = step.commands[0][0];
    refused_ = false;
    commands_.clients.pause.Cancel();  // CLIENT PAUSE would hold the steps after it back
    if (first == "@TICK") return std::to_string(commands_.clock.now_ms += std::stoll(step.commands[0][1]));
    if (first == "@FROZEN") return AwaitFrozen(step.commands[0][1]);
    recorder_->KeepAgain();  // as a server does soon
    try {
      const Refusing refusing(*this);
      if (first == "@SNAPSHOT") return snapshots_->Save() ? "saved" : "failed";
      std::string out;
      protocol::ReplyWriter reply(out);
      Executor::Outcome outcome = commands_.dispatcher->Execute(*session_, batch, 0, reply);
      for (size_t done = 0; GoesOn(outcome);) {
        done += outcome.executed;
        if (outcome.deferred) outcome.deferred([&reply](const WriteReply& write) { write(reply); });
        outcome = commands_.dispatcher->Execute(*session_, batch, done, reply);
      }
      return out;
    } catch (const std::bad_alloc&) {
      Reconnect();
      return std::nullopt;
    }
  }
  // Refuses the allocation of this number, counted over all steps.
  void Refuse(uint64_t number) { number_ = number; }
  // Returns whether it was refused in the last step.
  bool refused() const { return refused_; }
  // Returns the number of allocations of all steps so far.
  uint64_t allocations() const { return allocations_; }
  void Reconnect() { session_.emplace(commands_.client); }

  // Both functions return contents: the present ones, and those that a restart finds.
  Contents Now() const { return Comparable(ContentsOf(commands_.registry)); }
  Contents AfterRestart() {
    std::promise<void> reached;
    log_->Await(log_->appended().end(), [&] { reached.set_value(); });
    reached.get_future().wait();
    MemoryDisk disk = disk_.Copy();
    disk.LosePower(MemoryDisk::UnsyncedNames::kLost);
    TestServer server;
    server.keyspace.clock.now_ms = commands_.clock.now_ms.load();
    const core::Status status = server.Start(disk, "/d");
    return status ? Comparable(server.contents()) : Contents{{"does not start", status.error().message}};
  }

 private:
  // Returns whether a batch must be continued: EXEC lets other clients run, and so does a batch whose turn is over,
  // which may happen to any batch on a busy machine.
  bool GoesOn(const Executor::Outcome& outcome) const {
    return outcome.deferred ? session_->executing != nullptr : outcome.wait == Wait::kTurn;
  }

  // Counts allocations and refuses the chosen one while the work of a step is done.
  class Refusing {
   public:
    explicit Refusing(Victim& run) : run_(run), counts_(run.number_ >= run.allocations_) {
      if (counts_) RefuseMemory(Whose::kThisThreads, run_.number_ - run_.allocations_);
    }
    ~Refusing() {
      if (!counts_) return;
      run_.allocations_ += AllowMemory();
      run_.refused_ = Refused() != 0;
    }

   private:
    Victim& run_;
    const bool counts_;
  };

  static Contents Comparable(Contents contents) {
    for (auto& [name, bytes] : contents) {
      if (name.starts_with(kRandomNames)) bytes.clear();
    }
    return contents;
  }

  std::string AwaitFrozen(const std::string& name) {
    const auto is_building = [&] {
      const FilterPtr filter = commands_.registry.Find(name);
      return filter != nullptr && filter->Info().freeze.state == core::FreezeState::kBuilding;
    };
    while (is_building()) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return "frozen";
  }

  void Stop() {
    commands_.registry.SetLog(nullptr);
    freezer_.reset();
    snapshots_.reset();
    recorder_.reset();
    log_.reset();
  }

  MemoryDisk disk_;
  core::MemoryBudget image_memory_;
  core::ImagePool pool_{image_memory_, core::Patience::kWait};
  FileIds file_ids_;
  CommandFixture commands_;
  std::optional<Session> session_{commands_.client};
  std::unique_ptr<DataDirectory> directory_;
  std::optional<LogWriter> log_;
  std::optional<KeyspaceRecorder> recorder_;
  std::optional<SnapshotWriter> snapshots_;
  std::optional<Freezer> freezer_;
  uint64_t number_ = UINT64_MAX;
  uint64_t allocations_ = 0;  // of the steps so far
  bool refused_ = false;
};

// ---- possible pasts of a run

struct Past {
  size_t step = SIZE_MAX;       // that met the refusal
  bool closed = false;          // and whose client was closed
  std::vector<Words> executed;  // in its place
  auto operator<=>(const Past&) const = default;
};

struct Outcome {
  std::vector<std::optional<std::string>> replies;
  Contents now;
  Contents restarted;
};

const Outcome& Reference(const Past& past) {
  static std::map<Past, Outcome> known;
  const auto [at, is_new] = known.try_emplace(past);
  Outcome& outcome = at->second;
  if (!is_new) return outcome;
  Victim run;
  for (size_t i = 0; i < Script().size(); ++i) {
    if (i != past.step) {
      outcome.replies.push_back(run.Do(Script()[i]));
      continue;
    }
    if (past.closed) run.Reconnect();  // what a transaction executed is executed outside of one here
    for (const Words& words : past.executed) run.Do({{words}});
    outcome.replies.emplace_back();
    if (IsRepeated(Script()[i])) run.Do(Script()[i]);
  }
  outcome.now = run.Now();
  outcome.restarted = run.AfterRestart();
  return outcome;
}

std::vector<std::string> Lines(const std::string& reply) {
  std::vector<std::string> lines;
  for (size_t begin = 0, end; (end = reply.find("\r\n", begin)) != std::string::npos; begin = end + 2) {
    lines.push_back(reply.substr(begin, end - begin));
  }
  return lines;
}

// Returns the command without the items that were refused, according to its reply; nothing if none is left.
std::optional<Words> WithoutRefused(const Step& step, const std::string& reply) {
  const std::vector<std::string> lines = Lines(reply);
  Words words = step.commands.back();
  if (lines.size() != step.items + 1) return std::nullopt;
  size_t left = 0;
  for (size_t i = 0, at = words.size() - step.items; i < step.items; ++i) {
    if (lines[i + 1].starts_with("-") || lines[i + 1] == ":-1") {
      words.erase(words.begin() + static_cast<ptrdiff_t>(at));
    } else {
      ++at, ++left;
    }
  }
  return left == 0 ? std::nullopt : std::optional(words);
}

// Returns the executions that a step may have had whose client was closed: up to some command, and some item of the
// next one.
std::vector<std::vector<Words>> Beginnings(const Step& step) {
  std::vector<Words> commands = step.commands;
  // The commands of a transaction may be cut short as well.
  if (step.commands.back()[0] == "EXEC" && step.commands.size() > 1) {
    commands.assign(step.commands.begin() + 1, step.commands.end() - 1);
  } else if (step.commands[0][0] == "EXEC") {
    const auto at = std::find_if(Script().begin(), Script().end(), [&](const Step& each) { return &each == &step; });
    for (auto queued = at - 1; queued->commands[0][0] != "MULTI"; --queued) {
      commands.insert(commands.begin(), queued->commands.begin(), queued->commands.end());
    }
    commands.pop_back();
  }
  std::vector<std::vector<Words>> beginnings{{}};
  for (const Words& words : commands) {
    const bool is_last = &words == &commands.back();
    for (size_t items = 1; is_last && items < step.items; ++items) {
      std::vector<Words> partly = beginnings.front();
      partly.emplace_back(words.begin(), words.end() - static_cast<ptrdiff_t>(step.items - items));
      beginnings.push_back(std::move(partly));
    }
    std::vector<Words> more = beginnings.front();
    more.push_back(words);
    beginnings.insert(beginnings.begin(), std::move(more));
  }
  return beginnings;
}

std::vector<Past> Pasts(size_t index, const std::optional<std::string>& reply) {
  const Step& step = Script()[index];
  std::vector<Past> pasts;
  if (!reply) {
    for (auto& executed : Beginnings(step)) pasts.push_back({index, true, std::move(executed)});
    return pasts;
  }
  pasts.push_back({});
  pasts.push_back({index, false, {}});
  // A filter in use that was rewritten stays so, even if that could not be logged and is refused for it.
  constexpr std::string_view kRewriters[]{"CF.COMPACT", "BF.MERGE", "BF.FOLD"};
  const bool rewrites = std::ranges::count(kRewriters, step.commands[0][0]) != 0;
  if (rewrites && reply->starts_with("-OOM")) pasts.push_back({index, false, step.commands});
  if (step.items != 0) {
    if (auto words = WithoutRefused(step, *reply)) pasts.push_back({index, false, {*words}});
  }
  // Any command of a batch may be the refused one.
  for (size_t i = 0; i < step.commands.size() && step.commands.size() > 1; ++i) {
    std::vector<Words> others = step.commands;
    others.erase(others.begin() + static_cast<ptrdiff_t>(i));
    pasts.push_back({index, false, std::move(others)});
  }
  return pasts;
}

std::string Difference(const Contents& a, const Contents& b) {
  std::string text;
  for (const auto& [name, bytes] : a) {
    if (!b.contains(name)) text += " '" + name + "' is there" + (bytes.size() < 300 ? ": " + bytes : "") + ";";
    if (b.contains(name) && b.at(name) != bytes) text += " '" + name + "' differs;";
  }
  for (const auto& [name, bytes] : b) {
    if (!a.contains(name)) text += " '" + name + "' is missing" + (bytes.size() < 200 ? ": " + bytes : "") + ";";
  }
  return text;
}

// Returns an empty string if the run may have had this past.
std::string Contradiction(const Outcome& run, const Past& past, size_t refused_at) {
  const Outcome& reference = Reference(past);
  for (size_t i = 0; i < Script().size(); ++i) {
    if (!Script()[i].compares || (i == refused_at && past.step != SIZE_MAX)) continue;
    if (run.replies[i] == reference.replies[i]) continue;
    return "step " + std::to_string(i) + " (" + Script()[i].commands[0][0] + " " +
           (Script()[i].commands[0].size() > 1 ? Script()[i].commands[0][1] : "") + ") replied " +
           run.replies[i].value_or("nothing") + " instead of " + reference.replies[i].value_or("nothing");
  }
  return Difference(run.now, reference.now);
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
uint64_t Every() { return FromEnvironment("TEST_REFUSE_EVERY", kEvery); }

class RefusedMemoryTest : public testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};

TEST_F(RefusedMemoryTest, TheReferenceIsTheSameTwice) {
  const Outcome& reference = Reference({});
  EXPECT_EQ(Difference(reference.now, reference.restarted), "");
  Victim run;
  for (size_t i = 0; i < Script().size(); ++i) {
    const auto reply = run.Do(Script()[i]);
    if (Script()[i].compares) {
      EXPECT_EQ(reply, reference.replies[i]) << Script()[i].commands[0][0];
    }
  }
  EXPECT_EQ(Difference(run.Now(), reference.now), "");
}

// Runs `work` on a new thread, because every server's threads are new once.
template <class Work>
void OnNewThread(const Work& work) {
  std::thread([&] {
    core::ChangeMeter::Count(0);
    work();
  }).join();
}

// Returns whether there was an allocation of this number.
bool RefuseOne(uint64_t number) {
  Victim run;
  Outcome outcome;
  size_t refused_at = SIZE_MAX;
  run.Refuse(number);
  for (size_t i = 0; i < Script().size(); ++i) {
    outcome.replies.push_back(run.Do(Script()[i]));
    if (!run.refused()) continue;
    refused_at = i;
    const auto& reply = outcome.replies.back();
    if (IsRepeated(Script()[i]) && reply != Reference({}).replies[i]) run.Do(Script()[i]);
  }
  if (refused_at == SIZE_MAX) return false;
  outcome.now = run.Now();
  outcome.restarted = run.AfterRestart();
  const Step& step = Script()[refused_at];
  const auto& reply = outcome.replies[refused_at];
  SCOPED_TRACE("allocation " + std::to_string(number) + " in step " + std::to_string(refused_at) + ", " +
               step.commands[0][0] + ", replied " + reply.value_or("nothing"));
  EXPECT_EQ(Difference(outcome.restarted, outcome.now), "") << "after a restart";
  std::string contradictions;
  for (const Past& past : Pasts(refused_at, reply)) {
    const std::string contradiction = Contradiction(outcome, past, refused_at);
    if (contradiction.empty()) return true;
    contradictions += "\n  " + std::to_string(past.executed.size()) + " executed: " + contradiction;
  }
  ADD_FAILURE() << "no past explains it:" << contradictions;
  return true;
}

TEST_F(RefusedMemoryTest, ARefusedAllocationOfACommandRefusesNothingElse) {
  uint64_t number = FromEnvironment("TEST_REFUSE_FROM", 0);
  Reference({});
  for (bool more = true; more && !HasFailure(); number += Every()) OnNewThread([&] { more = RefuseOne(number); });
  RecordProperty("allocations", std::to_string(number));
  EXPECT_GT(number, 1000u);
}

// A change that was made and could not be logged would leave a gap, and the next start would refuse.
TEST_F(RefusedMemoryTest, AnAdditionThatTheLogHasNoRoomForLeavesNoGap) {
  const Step large{{Add("BF.MADD", "f", 0, 20'000)}, 20'000};
  uint64_t number = 0;
  for (bool refused = true; refused; ++number) {
    core::ChangeMeter::Count(0);
    Victim run;
    run.Do({{{"BF.RESERVE", "f", "0.01", "100000", "SEED", "7"}, {"BF.RESERVE", "g", "0.01", "1000", "SEED", "7"}}});
    run.Do({{{"@SNAPSHOT"}}});
    run.Refuse(number + run.allocations());
    run.Do(large);
    refused = run.refused();
    EXPECT_EQ(run.Do({{{"BF.ADD", "g", "later"}}}), ":1\r\n");
    EXPECT_EQ(run.Do({{{"BF.ADD", "f", "later"}}}), ":1\r\n");
    const Contents now = run.Now();
    ASSERT_EQ(Difference(run.AfterRestart(), now), "") << "allocation " << number;
  }
  EXPECT_GT(number, 5u);  // the buffers of the log and of the reply grow again and again
}

// The other threads, not counting snapshots, are the log's and the builder of frozen filters: they try again, and
// nothing is lost.
TEST_F(RefusedMemoryTest, RefusedAllocationsOfOtherThreadsLoseNothing) {
  const Outcome& reference = Reference({});
  for (uint64_t number = 0; number < 200; number += Every()) {
    Victim run;
    RefuseMemory(Whose::kOtherThreads, number, 3);
    for (size_t i = 0; i < Script().size(); ++i) {
      const auto reply = run.Do(Script()[i]);
      const Words& words = Script()[i].commands[0];
      if (!Script()[i].compares || (words.size() > 1 && words[1] == "ribbon")) continue;
      ASSERT_EQ(reply, reference.replies[i]) << "allocation " << number << ", " << Script()[i].commands[0][0];
    }
    AllowMemory();
    const Contents now = run.Now();
    ASSERT_EQ(Difference(run.AfterRestart(), now), "") << "allocation " << number;
  }
}

// The library that holds errors copies them in functions that are noexcept.
TEST_F(RefusedMemoryTest, AnErrorIsCopiedWithoutItsMessage) {
  const core::Status status = core::Fail(core::ErrorCode::kIo, std::string(100, 'x'));
  RefuseMemory(Whose::kThisThreads, 0);
  const core::Status copy = status;
  AllowMemory();
  EXPECT_EQ(Refused(), 1u);
  EXPECT_EQ(copy.error().code, core::ErrorCode::kIo);
  EXPECT_EQ(copy.error().message, core::kOutOfMemoryText);
  EXPECT_EQ(core::Status(status).error().message, status.error().message);
}

}  // namespace
}  // namespace bitsieve::server
