#include "tests/simulation/script.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/simulation/random.h"

namespace bitsieve::simulation {
namespace {

constexpr size_t kClients = 4;
constexpr size_t kLives = 16;
constexpr size_t kMaxCommands = 500;  // of a client, in a life
// More copies of an item than this may fill its buckets of a cuckoo filter.
constexpr int kMaxCopies = 3;

// Makes up the commands of one client. It does not know the replies, only what it has sent.
class Author {
 public:
  Author(Random& random, size_t client, bool has_log) : random_(random), client_(client), has_log_(has_log) {}

  Words Next() {
    if (random_.OneIn(400)) return {"reconnect"};
    // Without a log, a snapshot in between has each filter as it was at another moment.
    if (has_log_ && random_.OneIn(300)) return {"SAVE"};
    if (random_.OneIn(200)) return {"WAITAOF", "1", "0", "200"};
    if (random_.OneIn(30)) return Transaction();
    return random_.OneIn(4) ? OnShared() : OnOwn();
  }

 private:
  Words Transaction() {
    Words all = {"MULTI", "|"};
    for (uint64_t i = random_.Between(1, 4); i > 0; --i) {
      const Words one = OnOwn();
      all.insert(all.end(), one.begin(), one.end());
      all.emplace_back("|");
    }
    all.emplace_back("EXEC");
    return all;
  }

  std::string Own(size_t key) const { return "c" + std::to_string(client_) + ":" + std::to_string(key); }
  std::string Item() const { return "c" + std::to_string(client_) + ":i" + std::to_string(random_.Below(kItems)); }
  // An item that all clients add.
  std::string CommonItem() const { return "x" + std::to_string(random_.Below(4)); }

  Words OnShared() {
    const std::string key = "shared:" + std::to_string(random_.Below(kSharedKeys));
    const bool is_common = random_.OneIn(5);
    const std::string item = is_common ? CommonItem() : Item();
    if (random_.OneIn(2)) return {"BF.EXISTS", key, item};
    if (!is_common && !MayAdd(key, item)) return {"BF.EXISTS", key, item};
    if (is_common || random_.OneIn(2)) return {"BF.ADD", key, item};
    Words many = {"BF.MADD", key, item};
    AddItems(many, key, 4);
    return many;
  }

  bool MayAdd(const std::string& key, const std::string& item) { return ++added_[key][item] <= kMaxCopies; }
  void AddItems(Words& words, const std::string& key, size_t most) {
    for (uint64_t i = random_.Below(most); i > 0; --i) {
      const std::string item = Item();
      if (MayAdd(key, item)) words.push_back(item);
    }
  }

  Words OnOwn() {
    const std::string key = Own(random_.Below(kOwnKeys));
    const uint64_t dice = random_.Below(100);
    if (dice < 30) return Add(key);
    if (dice < 38) return AddMany(key);
    if (dice < 58) return {"BF.EXISTS", key, Item()};
    if (dice < 62) return {"BF.MEXISTS", key, Item(), Item(), Item()};
    if (dice < 70) return {"BF.DEL", key, Item()};
    if (dice < 74) return {"BF.COUNT", key, Item()};
    if (dice < 77) return {"BF.CARD", key};
    if (dice < 87) return Reserve(key);
    return OnName(key, dice);
  }
  Words Add(const std::string& key) {
    const std::string item = Item();
    if (!MayAdd(key, item)) return {"BF.EXISTS", key, item};
    return {"BF.ADD", key, item};
  }
  Words AddMany(const std::string& key) {
    Words many = {"BF.MADD", key};
    AddItems(many, key, 9);
    return many.size() > 2 ? many : Words{"BF.CARD", key};
  }
  Words Reserve(const std::string& key) {
    const TypeTraits& type = ModelledTypes()[random_.Below(ModelledTypes().size())];
    Words words = {"BF.RESERVE", key};
    std::istringstream options(type.reserve);
    words.insert(words.end(), std::istream_iterator<std::string>(options), {});
    words.insert(words.end(), {"TYPE", type.name});
    if (std::string(type.name) == "window") words.insert(words.end(), {"WINDOW", "1000"});
    if (std::string(type.name) == "expiring") words.insert(words.end(), {"TTL", "3650d"});
    return words;
  }
  Words OnName(const std::string& key, uint64_t dice) {
    const std::string other = Own(random_.Below(kOwnKeys));
    switch (dice) {
      case 87:
      case 88:
      case 89:
        added_[key].clear();
        return {random_.OneIn(2) ? "DEL" : "UNLINK", key};
      case 90:
        return {"BF.CLEAR", key};
      case 91:
        return {"BF.FREEZE", key};
      case 92:
        if (other == key) return {"EXISTS", key};
        added_[other] = added_[key];
        return {"RENAME", key, other};
      case 93:
        if (other == key) return {"EXISTS", key};
        for (auto& [item, times] : added_[key]) added_[other][item] = std::max(added_[other][item], times);
        if (random_.OneIn(2)) return {"COPY", key, other};
        return random_.OneIn(2) ? Words{"duplicate", key, other} : Words{"duplicate", key, other, "chunks"};
      case 94:
      case 95:
      case 96:
        return {"PEXPIREAT", key, "@+" + std::to_string(random_.Magnitude(20'000))};
      case 97:
        return {"PERSIST", key};
      case 98:
        return {"PEXPIRETIME", key};
      default:
        return {"EXISTS", key};
    }
  }

  Random& random_;
  const size_t client_;
  const bool has_log_;
  std::map<std::string, std::map<std::string, int>> added_;  // since the key was deleted
};

Ending MakeEnding(Random& random) {
  using enum Ending::Kind;
  if (random.OneIn(12)) return {.kind = random.OneIn(2) ? kStopAndSave : kStop, .step = 0, .after_us = 0};
  Ending ending{.kind = random.OneIn(2) ? kKill : kPower, .step = 0, .after_us = 0};
  if (random.OneIn(3)) {
    ending.after_us = static_cast<int64_t>(random.Magnitude(3'000'000));
  } else {
    ending.step = random.Between(1, 1 + random.Magnitude(400));
  }
  return ending;
}

Life MakeLife(Random& random, std::vector<Author>& authors) {
  Life life;
  if (random.OneIn(4)) {
    life.faults.push_back({Fault::Kind::kRefuse, random.Magnitude(100), random.Between(1, 8)});
  }
  if (random.OneIn(4)) {
    const auto most_ms = static_cast<int64_t>(random.Between(10, 3000));
    life.faults.push_back({Fault::Kind::kSlow, random.Magnitude(100), random.Between(1, 8), most_ms});
  }
  if (random.OneIn(4)) {
    const auto ahead = static_cast<int64_t>(random.Magnitude(3'600'000));
    life.clock_steps.push_back({static_cast<int64_t>(random.Below(50'000)), random.OneIn(2) ? ahead : -ahead});
  }
  for (size_t client = 0; client < authors.size(); ++client) {
    if (random.OneIn(5)) continue;
    for (uint64_t i = random.Magnitude(kMaxCommands); i > 0; --i) {
      life.commands.push_back({client, authors[client].Next()});
    }
  }
  life.ending = MakeEnding(random);
  return life;
}

std::vector<std::pair<std::string, std::string>> MakeOptions(Random& random) {
  static constexpr std::array kPolicies = {"always", "always", "everysec", "no"};
  static constexpr std::array kIntervals = {"0", "1", "3"};
  static constexpr std::array kLogBytes = {"0", "4096", "20000", "1000000"};
  static constexpr std::array kGrowths = {"0", "20", "100"};
  const auto one_of = [&](const auto& choices) { return std::string(choices[random.Below(choices.size())]); };
  const bool has_log = !random.OneIn(8);
  return {{"appendonly", has_log ? "yes" : "no"},
          {"appendfsync", one_of(kPolicies)},
          {"save-interval", has_log ? one_of(kIntervals) : "0"},
          {"max-log-bytes", one_of(kLogBytes)},
          {"snapshot-growth", one_of(kGrowths)},
          {"default-type", ModelledTypes()[random.Below(3)].name},
          {"default-error-rate", "0.000000001"},
          {"default-capacity", random.OneIn(2) ? "4" : "100"},
          {"io-threads", std::to_string(random.Between(1, 3))}};
}

void RefuseMemory(Random& random, Script& script) {
  for (Life& life : script.lives) {
    for (uint64_t i = random.Below(4); i > 0; --i) {
      life.memory_steps.push_back({static_cast<int64_t>(random.Magnitude(10'000)), random.Magnitude(100'000)});
    }
  }
}

const std::pair<const char*, Ending::Kind> kEndings[] = {{"kill", Ending::Kind::kKill},
                                                         {"power", Ending::Kind::kPower},
                                                         {"stop save", Ending::Kind::kStopAndSave},
                                                         {"stop nosave", Ending::Kind::kStop}};

const std::pair<const char*, Fault::Kind> kFaults[] = {
    {"refuse", Fault::Kind::kRefuse}, {"slow", Fault::Kind::kSlow}, {"lie", Fault::Kind::kLie}};

const char* NameOf(Fault::Kind wanted) {
  for (const auto& [name, kind] : kFaults) {
    if (kind == wanted) return name;
  }
  return "";
}

std::string ToText(const Ending& ending) {
  std::string text = "end ";
  for (const auto& [name, kind] : kEndings) {
    if (kind == ending.kind) text += name;
  }
  if (!ending.is_crash()) return text;
  return text +
         (ending.step != 0 ? " step " + std::to_string(ending.step) : " time " + std::to_string(ending.after_us));
}

bool ReadEnding(std::istringstream& words, Ending& ending) {
  std::string kind, at;
  words >> kind >> at;
  for (const auto& [name, known] : kEndings) {
    if (kind == name || kind + " " + at == name) ending.kind = known;
  }
  if (!ending.is_crash()) return kind == "stop";
  if (at == "step") return static_cast<bool>(words >> ending.step);
  return at == "time" && words >> ending.after_us;
}

bool ReadLine(const std::string& line, Script& script) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb.empty() || verb[0] == '#') return true;
  if (verb == "seed") return static_cast<bool>(words >> script.seed);
  if (verb == "switch") return static_cast<bool>(words >> script.switch_every);
  if (verb == "option") {
    auto& [name, value] = script.options.emplace_back();
    return static_cast<bool>(words >> name >> value);
  }
  if (verb == "life") return script.lives.emplace_back(), true;
  if (script.lives.empty()) return false;
  Life& life = script.lives.back();
  for (const auto& [name, kind] : kFaults) {
    if (verb != name) continue;
    Fault& fault = life.faults.emplace_back(Fault{.kind = kind, .from_step = 0, .steps = 0});
    words >> fault.from_step >> fault.steps;
    if (kind == Fault::Kind::kSlow) words >> fault.most_ms;
    return static_cast<bool>(words);
  }
  if (verb == "clock") {
    ClockStep& step = life.clock_steps.emplace_back();
    return static_cast<bool>(words >> step.after_us >> step.step_ms);
  }
  if (verb == "memory") {
    MemoryStep& step = life.memory_steps.emplace_back();
    return static_cast<bool>(words >> step.after_us >> step.bytes);
  }
  if (verb == "client") {
    ClientLine& command = life.commands.emplace_back();
    words >> command.client;
    command.words.assign(std::istream_iterator<std::string>(words), {});
    return !command.words.empty();
  }
  return verb == "end" && ReadEnding(words, life.ending);
}

}  // namespace

const std::string* Script::Option(const std::string& name) const {
  for (const auto& option : options) {
    if (option.first == name) return &option.second;
  }
  return nullptr;
}

size_t Script::commands() const {
  size_t count = 0;
  for (const Life& life : lives) count += life.commands.size();
  return count;
}

bool Script::refuses_memory() const {
  return std::any_of(lives.begin(), lives.end(), [](const Life& life) { return !life.memory_steps.empty(); });
}

Script MakeScript(uint64_t seed) {
  Random random(seed);
  Script script;
  script.seed = seed;
  script.switch_every = uint64_t{1} << random.Between(0, 7);
  script.options = MakeOptions(random);
  std::vector<Author> authors;
  const bool has_log = *script.Option("appendonly") == "yes";
  for (size_t client = 0; client < kClients; ++client) authors.emplace_back(random, client, has_log);
  while (script.lives.size() < kLives) script.lives.push_back(MakeLife(random, authors));
  if (random.OneIn(4)) RefuseMemory(random, script);
  return script;
}

std::string ToText(const Script& script) {
  std::ostringstream text;
  text << "seed " << script.seed << "\nswitch " << script.switch_every << "\n";
  for (const auto& [name, value] : script.options) text << "option " << name << " " << value << "\n";
  for (const Life& life : script.lives) {
    text << "life\n";
    for (const Fault& fault : life.faults) {
      text << NameOf(fault.kind) << " " << fault.from_step << " " << fault.steps;
      if (fault.kind == Fault::Kind::kSlow) text << " " << fault.most_ms;
      text << "\n";
    }
    for (const ClockStep& step : life.clock_steps) text << "clock " << step.after_us << " " << step.step_ms << "\n";
    for (const MemoryStep& step : life.memory_steps) text << "memory " << step.after_us << " " << step.bytes << "\n";
    for (const ClientLine& command : life.commands) {
      text << "client " << command.client;
      for (const std::string& word : command.words) text << " " << word;
      text << "\n";
    }
    text << ToText(life.ending) << "\n";
  }
  return text.str();
}

std::optional<Script> FromText(const std::string& text) {
  Script script;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!ReadLine(line, script)) return std::nullopt;
  }
  return script;
}

}  // namespace bitsieve::simulation
