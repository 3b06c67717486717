// Many clients over several event loops see one order. They talk to a real server, over sockets, about a few filters
// and items, singly and in pipelines; the replies to each, and their times, are checked for one order that explains
// them all.
#include "tests/stress/linearizability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/stress/serving_fixture.h"
#include "tests/support/request_streams.h"
#include "tests/unit/server/net/client.h"

namespace bitsieve::test {
namespace {

using Words = std::vector<std::string>;

constexpr uint32_t kLoops = 3;
constexpr size_t kClients = 6;
constexpr size_t kItems = 6;
constexpr size_t kNames = 2;
constexpr size_t kPipelines = 40;  // of each client, in a round
constexpr size_t kMaxCalls = 4;    // in a pipeline
constexpr std::chrono::milliseconds kTime{400};
constexpr int kLeastRounds = 3;

struct Kind {
  std::string name;
  Copies copies = Copies::kOne;
  // Sub-filters of few items, so that filters grow while they are used.
  std::string capacity = "2";
  std::string error_rate = "0.000000001";
  Words more = {};                // of BF.RESERVE
  size_t most_copies = kClients;  // of an item at any time; more, and it may never be removed
  std::string family = "BF";
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

const Kind kKinds[] = {
    {.name = "blocked"},
    {.name = "classic"},
    {.name = "redisbloom"},
    {.name = "fingerprint", .capacity = "100", .error_rate = "0.00000001"},
    {.name = "ribbon"},
    {.name = "window", .capacity = "10000", .more = {"WINDOW", "10000"}},
    {.name = "counting", .copies = Copies::kCounted},
    {.name = "cuckoo", .copies = Copies::kCounted, .capacity = "100", .error_rate = "0.00000001", .most_copies = 3},
    {.name = "rediscuckoo", .copies = Copies::kCounted, .family = "CF"},
};

// A command, and what it does: a step an item, without its reply.
struct Call {
  size_t name;
  Words words;
  std::vector<Step> steps;
};

// Makes up the commands of one client.
class Script {
 public:
  Script(const Kind& kind, size_t client, uint64_t round) : kind_(kind), client_(client), round_(round) {
    random_.seed(round * kClients + client);
  }

  std::vector<Call> NextPipeline() {
    std::vector<Call> calls;
    const size_t count = 1 + Below(kMaxCalls);
    while (calls.size() < count) calls.push_back(NextCall());
    return calls;
  }
  static std::string Name(uint64_t round, size_t name) {
    return "round:" + std::to_string(round) + ":" + std::to_string(name);
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  static std::string Item(uint8_t item) { return "item:" + std::to_string(item); }
  Words On(size_t name, const std::string& command) const { return {command, Name(round_, name)}; }
  std::string Verbal(const char* verb) const { return kind_.family + "." + verb; }

  Call NextCall() {
    const size_t name = Below(kNames);
    const auto item = static_cast<uint8_t>(Below(kItems));
    const size_t dice = Below(100);
    if (dice < 36) return Add(name, item);
    if (dice < 44) return Many(name, item, true);
    if (dice < 68) return Of(name, Verbal("EXISTS"), Verb::kExists, item);
    if (dice < 76) return Many(name, item, false);
    if (dice < 88 && kind_.copies == Copies::kCounted) return Of(name, Verbal("COUNT"), Verb::kCount, item);
    if (dice < 90) return {name, On(name, "BF.CLEAR"), {{.verb = Verb::kClear}}};
    if (dice < 94) return {name, On(name, "DEL"), {{.verb = Verb::kDelete}}};
    return Reserve(name);
  }

  Call Of(size_t name, const std::string& command, Verb verb, uint8_t item) const {
    Words words = On(name, command);
    words.push_back(Item(item));
    return {name, std::move(words), {{.verb = verb, .item = item}}};
  }

  // With a filter type that counts, each client takes its copy back before it adds another, so that there are never
  // many.
  bool MayAdd(size_t name, uint8_t item) const {
    return kind_.copies == Copies::kOne || (!added_[name][item] && (client_ + item) % kClients < kind_.most_copies);
  }

  Call Add(size_t name, uint8_t item) {
    bool& mine = added_[name][item];
    if (!MayAdd(name, item)) return mine = false, Of(name, Verbal("DEL"), Verb::kRemove, item);
    mine = true;
    if (kind_.family == "BF") return Of(name, "BF.ADD", Verb::kAdd, item);
    return Below(2) == 0 ? Of(name, "CF.ADD", Verb::kStore, item) : Of(name, "CF.ADDNX", Verb::kAddIfAbsent, item);
  }

  // Up to three items with one command.
  Call Many(size_t name, uint8_t first, bool add) {
    const bool insert = add && kind_.family == "CF";
    Call call{name, On(name, insert ? "CF.INSERT" : Verbal(add ? "MADD" : "MEXISTS")), {}};
    if (insert) call.words.emplace_back("ITEMS");
    for (size_t i = 0; i < 3; ++i) {
      const auto item = static_cast<uint8_t>((first + i) % kItems);
      if (add && !MayAdd(name, item)) continue;
      if (add) added_[name][item] = true;
      call.words.push_back(Item(item));
      call.steps.push_back({.verb = insert ? Verb::kStore : add ? Verb::kAdd : Verb::kExists, .item = item});
    }
    return call.steps.empty() ? Add(name, first) : call;
  }

  Call Reserve(size_t name) const {
    Call call{name, On(name, Verbal("RESERVE")), {{.verb = Verb::kReserve}}};
    if (kind_.family == "CF") {
      call.words.push_back("1024");
    } else {
      call.words.insert(call.words.end(), {kind_.error_rate, kind_.capacity, "TYPE", kind_.name});
      call.words.insert(call.words.end(), kind_.more.begin(), kind_.more.end());
    }
    return call;
  }

  const Kind& kind_;
  const size_t client_;
  const uint64_t round_;
  std::mt19937_64 random_;
  std::array<std::array<bool, kItems>, kNames> added_{};
};

// Sends pipelines and reads what comes back, as numbers.
class Caller {
 public:
  explicit Caller(uint16_t port) : client_(port) {}

  // Fills in the replies. The operations began before the pipeline was sent; each ended when its reply was read.
  std::vector<Operation> Ask(std::vector<Call>& calls) {
    std::string bytes;
    for (const Call& call : calls) bytes += Encode(call.words);
    std::vector<Operation> operations;
    const int64_t begin = NowNs();
    client_.Send(bytes);
    for (Call& call : calls) {
      ReadReply(call.steps);
      operations.push_back({begin, NowNs(), std::move(call.steps)});
    }
    return operations;
  }

 private:
  static int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

  void ReadReply(std::vector<Step>& steps) {
    const std::string line = ReadLine();
    if (!line.starts_with('*')) {
      for (Step& step : steps) step.reply = NumberOf(line);
      return;
    }
    EXPECT_EQ(line, "*" + std::to_string(steps.size()));
    for (Step& step : steps) step.reply = NumberOf(ReadLine());
  }
  static int64_t NumberOf(const std::string& line) {
    if (line.starts_with(':')) return std::stoll(line.substr(1));
    if (line == "+OK") return 1;
    if (line == "-ERR not found" || line == "-Not found") return kNotFound;
    if (line == "-ERR item exists") return kTaken;
    ADD_FAILURE() << "unexpected reply: " << line;
    return kUnexpected;
  }
  // Without its end; empty if the server closed.
  std::string ReadLine() {
    size_t end = 0;
    while ((end = received_.find("\r\n")) == std::string::npos) {
      const std::string more = client_.ReceiveSome();
      if (more.empty()) return more;
      received_ += more;
    }
    const std::string line = received_.substr(0, end);
    received_.erase(0, end + 2);
    return line;
  }

  server::testing::Client client_;
  std::string received_;
};

class LinearizabilityTest : public testing::TestWithParam<std::tuple<Kind, std::string>> {
 protected:
  static const Kind& TestedKind() { return std::get<0>(GetParam()); }
  static const std::string& AppendFsync() { return std::get<1>(GetParam()); }

  static commands::FilterTemplates Templates() {
    const Kind& kind = TestedKind();
    if (kind.family == "CF") return {};
    commands::TemplateEntry entry{"the kind", "*", {{"type", kind.name}, {"error-rate", kind.error_rate}}};
    entry.fields.emplace_back("capacity", kind.capacity);
    if (kind.name == "window") entry.fields.emplace_back("window", kind.capacity);
    auto made = commands::FilterTemplates::Make({entry});
    if (!made) ADD_FAILURE() << made.error().front();
    return made ? *made : commands::FilterTemplates();
  }

  // All clients at once; the history of each name.
  std::array<History, kNames> Play(uint64_t round) {
    std::array<History, kNames> histories;
    histories.fill(History(kClients));
    std::barrier start(kClients);
    std::vector<std::thread> threads;
    for (size_t client = 0; client < kClients; ++client) {
      threads.emplace_back([&, client] {
        Script script(TestedKind(), client, round);
        start.arrive_and_wait();
        for (size_t i = 0; i < kPipelines; ++i) {
          if (client == 0 && i == kPipelines / 2) server_.Save();
          std::vector<Call> calls = script.NextPipeline();
          std::vector<Operation> operations = callers_[client].Ask(calls);
          for (size_t j = 0; j < calls.size(); ++j) {
            histories[calls[j].name][client].push_back(std::move(operations[j]));
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return histories;
  }

  ServingFixture server_{kLoops, AppendFsync(), Templates()};
  std::vector<Caller> callers_;
};

// Whether another client had something under way at the same time.
bool Overlaps(const History& history, size_t client, const Operation& operation) {
  for (size_t other = 0; other < history.size(); ++other) {
    if (other != client && std::ranges::any_of(history[other], [&](const Operation& theirs) {
          return theirs.begin_ns < operation.end_ns && operation.begin_ns < theirs.end_ns;
        })) {
      return true;
    }
  }
  return false;
}

TEST_P(LinearizabilityTest, ClientsOfManyLoopsSeeOneOrder) {
  for (size_t i = 0; i < kClients; ++i) callers_.emplace_back(server_.port());
  const auto end = std::chrono::steady_clock::now() + kTime;
  size_t operations = 0;
  size_t overlapping = 0;
  for (uint64_t round = 0; round < kLeastRounds || std::chrono::steady_clock::now() < end; ++round) {
    const std::array<History, kNames> histories = Play(round);
    for (size_t name = 0; name < kNames; ++name) {
      const History& history = histories[name];
      ASSERT_TRUE(IsLinearizable(history, TestedKind().copies)) << Script::Name(round, name);
      for (size_t client = 0; client < kClients; ++client) {
        operations += history[client].size();
        overlapping += static_cast<size_t>(std::ranges::count_if(
            history[client], [&](const Operation& each) { return Overlaps(history, client, each); }));
      }
    }
    server_.registry().Flush(false);
  }
  // Else it was no test of anything.
  EXPECT_GT(overlapping, operations / 4);
}

// Replies are held until changes are durable, or not.
INSTANTIATE_TEST_SUITE_P(Kinds, LinearizabilityTest,
                         testing::Combine(testing::ValuesIn(kKinds), testing::Values("always", "everysec")),
                         [](const auto& test) { return std::get<0>(test.param).name + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace bitsieve::test
