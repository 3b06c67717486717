#include "tests/simulation/model.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace bitsieve::simulation {
namespace {

// An expected reply is one of these, or the reply as Reply::ToString has it.
std::string Number(int64_t number) { return ":" + std::to_string(number); }
const std::string kOk = "+OK";
const std::string kAnyError = "-";
const std::string kAnyString = "$";
const std::string kAnything;

bool Matches(const std::string& expected, const Reply& reply) {
  if (expected == kAnything) return true;
  if (expected == kAnyError) return reply.is_error();
  if (expected == kAnyString) return reply.kind == '$' && reply.text != "-1";
  return reply.ToString() == expected;
}

// Errors by which the server refuses a change that it could make at another time.
bool IsRefusal(const Reply& reply) {
  return reply.is_error() && (reply.text.starts_with("MISCONF") || reply.text.starts_with("OOM") ||
                              reply.text.starts_with("EXECABORT") || reply.text.starts_with("ERR problem inserting"));
}

size_t KeyNumber(const std::string& key) {
  const auto number = static_cast<size_t>(key.back() - '0');
  return key.starts_with("shared") ? kOwnKeys + number : number;
}

size_t ItemNumber(const std::string& item) {
  size_t number = 0;
  const size_t digits = item.rfind('i') + 1;
  std::from_chars(item.data() + digits, item.data() + item.size(), number);
  return number;
}

FilterState Empty(size_t type) {
  FilterState filter;
  filter.exists = true;
  filter.type = static_cast<uint8_t>(type);
  return filter;
}

// Applies a step to a state, and returns what its reply must be.
class Transition {
 public:
  Transition(State& state, size_t default_type) : state_(state), default_type_(default_type) {}

  // A filter whose time is over is not there, unless the clock is set back or a crash brings it back.
  std::string Run(const Step& step) {
    const auto before = state_.filters;
    for (FilterState& filter : state_.filters) {
      if (filter.expired) filter = {};
    }
    std::string reply = step.size() < 2 ? kAnything : Reply(step);
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].expired && !state_.filters[i].exists) state_.filters[i] = before[i];
    }
    return reply;
  }

 private:
  std::string Reply(const Step& step) {
    const std::string& verb = step[0];
    FilterState& filter = state_.filters[KeyNumber(step[1])];
    if (verb == "BF.RESERVE") return Reserve(filter, step);
    if (verb == "BF.ADD") return Add(filter, step[2]);
    if (verb == "BF.EXISTS") return Number(filter.exists && Copies(filter, step[2]) != 0 ? 1 : 0);
    if (verb == "BF.DEL") return Remove(filter, step[2]);
    if (verb == "BF.COUNT") return Count(filter, step[2]);
    if (verb == "BF.CARD") return Card(filter);
    if (verb == "BF.CLEAR") return Clear(filter);
    if (verb == "BF.FREEZE") return Freeze(filter);
    if (verb == "DEL" || verb == "UNLINK") return Number(std::exchange(filter, {}).exists ? 1 : 0);
    if (verb == "EXISTS") return Number(filter.exists ? 1 : 0);
    if (verb == "RENAME") return Rename(filter, step[2]);
    if (verb == "COPY") return Copy(filter, step[2]);
    if (verb == "BF.DUMP") return Dump(filter);
    if (verb == "BF.SCANDUMP") return step[2] != "0" ? kAnything : Dump(filter) == kAnyError ? kAnyError : kAnything;
    if (verb == "BF.RESTORE") return Restore(filter);
    if (verb == "BF.LOADCHUNK") return step[2] != "last" ? kAnything : filter.exists ? kAnyError : Restore(filter);
    if (verb == "PEXPIREAT") return ExpireAt(filter, step[2]);
    if (verb == "PERSIST") return Number(filter.exists && std::exchange(filter.expires_ms, 0) != 0 ? 1 : 0);
    if (verb == "PEXPIRETIME") return Number(!filter.exists ? -2 : filter.expires_ms == 0 ? -1 : filter.expires_ms);
    return kAnything;
  }
  static uint8_t& Copies(FilterState& filter, const std::string& item) { return filter.copies[ItemNumber(item)]; }
  static const TypeTraits& TypeOf(const FilterState& filter) { return ModelledTypes()[filter.type]; }

  static std::string Reserve(FilterState& filter, const Step& step) {
    if (filter.exists) return kAnyError;
    filter = Empty(TypeNumber(std::find(step.begin(), step.end(), "TYPE")[1]));
    return kOk;
  }
  std::string Add(FilterState& filter, const std::string& item) const {
    if (!filter.exists) filter = Empty(default_type_);
    if (filter.frozen) return kAnyError;
    uint8_t& copies = Copies(filter, item);
    const bool is_new = copies == 0;
    if (is_new || TypeOf(filter).counts) ++copies;
    return Number(is_new ? 1 : 0);
  }
  static std::string Remove(FilterState& filter, const std::string& item) {
    if (!filter.exists || !TypeOf(filter).removes) return kAnyError;
    uint8_t& copies = Copies(filter, item);
    if (copies == 0) return Number(0);
    --copies;
    return Number(1);
  }
  static std::string Count(FilterState& filter, const std::string& item) {
    if (!filter.exists) return Number(0);
    return TypeOf(filter).counts ? Number(Copies(filter, item)) : kAnyError;
  }
  static std::string Card(const FilterState& filter) {
    if (!filter.exists) return Number(0);
    if (!TypeOf(filter).has_card) return kAnything;
    return Number(std::accumulate(filter.copies.begin(), filter.copies.end(), int64_t{0}));
  }
  static std::string Clear(FilterState& filter) {
    if (!filter.exists) return kAnyError;
    filter.copies = {};
    filter.frozen = false;
    return kOk;
  }
  static std::string Freeze(FilterState& filter) {
    if (!filter.exists || std::string(TypeOf(filter).name) != "ribbon") return kAnyError;
    filter.frozen = true;
    return kOk;
  }
  std::string Rename(FilterState& filter, const std::string& name) {
    if (!filter.exists) return kAnyError;
    FilterState moved = std::exchange(filter, {});
    state_.filters[KeyNumber(name)] = moved;
    return kOk;
  }
  std::string Copy(const FilterState& filter, const std::string& name) {
    FilterState& copy = state_.filters[KeyNumber(name)];
    if (!filter.exists || copy.exists) return Number(0);
    copy = filter;
    return Number(1);
  }
  std::string Dump(const FilterState& filter) {
    state_.filters[kDumped] = filter;
    state_.filters[kDumped].expires_ms = 0;
    return filter.exists ? kAnyString : kAnyError;
  }
  std::string Restore(FilterState& filter) {
    filter = std::exchange(state_.filters[kDumped], {});
    return kOk;
  }
  static std::string ExpireAt(FilterState& filter, const std::string& time) {
    if (!filter.exists) return Number(0);
    filter.expires_ms = std::stoll(time);
    return Number(1);
  }

  State& state_;
  const size_t default_type_;
};

bool NamesFilter(const Step& step, size_t filter) {
  for (size_t i = 1; i < step.size() && i < 3; ++i) {
    const bool is_key = i == 1 || step[0] == "RENAME" || step[0] == "COPY";
    if (is_key && KeyNumber(step[i]) == filter) return true;
  }
  return false;
}

// Makes one of equal states.
void Unite(std::vector<State>& states) {
  if (states.size() < 2) return;
  std::sort(states.begin(), states.end(), [](const State& a, const State& b) { return a.filters < b.filters; });
  size_t last = 0;
  for (size_t i = 1; i < states.size(); ++i) {
    if (states[i].filters != states[last].filters) {
      states[++last] = states[i];
      continue;
    }
    states[last].least_survived = std::min(states[last].least_survived, states[i].least_survived);
    states[last].most_survived = std::max(states[last].most_survived, states[i].most_survived);
  }
  states.resize(last + 1);
}

// A copy of a filter that is yet to be built is not frozen. Returns false if the step copies no frozen filter.
bool Thaw(State& state, const Step& step) {
  if (step[0] != "COPY" && step[0] != "BF.DUMP") return false;
  FilterState& copy = state.filters[step[0] == "COPY" ? KeyNumber(step[2]) : kDumped];
  return std::exchange(copy.frozen, false);
}

// Filters whose time was over, and is not any more since the clock was set back, may be there again: a lookup that does
// not find them leaves them to be removed later.
std::vector<State> WithClockSetBack(const State& state, const Step& step, WallTimes times) {
  std::vector<State> all = {state};
  for (size_t i = 0; i < state.filters.size(); ++i) {
    if (!state.filters[i].expired || state.filters[i].expires_ms <= times.first_ms || !NamesFilter(step, i)) continue;
    const size_t before = all.size();
    for (size_t j = 0; j < before; ++j) {
      State back = all[j];
      back.filters[i].expired = false;
      all.push_back(back);
    }
  }
  return all;
}

// The states in which each filter of the step whose time may be over is there, or is gone.
std::vector<State> WithExpiry(const State& state, const Step& step, WallTimes times) {
  std::vector<State> all = WithClockSetBack(state, step, times);
  for (size_t i = 0; i < state.filters.size(); ++i) {
    const int64_t expires_ms = state.filters[i].expires_ms;
    if (!state.filters[i].exists || expires_ms == 0 || expires_ms > times.latest_ms || !NamesFilter(step, i)) continue;
    const bool surely = expires_ms <= times.first_ms;
    const size_t before = all.size();
    for (size_t j = 0; j < before; ++j) {
      if (all[j].filters[i].expired) continue;
      State gone = all[j];
      gone.filters[i].expired = true;
      if (surely) {
        all[j] = gone;
      } else {
        all.push_back(gone);
      }
    }
  }
  return all;
}

// A filter that there was no memory to freeze takes items again, from some moment on.
std::vector<State> WithGivenUpFreezes(std::vector<State> all, const Step& step) {
  for (size_t i = 0; i < kDumped; ++i) {
    const size_t before = NamesFilter(step, i) ? all.size() : 0;
    for (size_t j = 0; j < before; ++j) {
      if (!all[j].filters[i].frozen) continue;
      State collects = all[j];
      collects.filters[i].frozen = false;
      all.push_back(collects);
    }
  }
  return all;
}

// The states that a crash may leave of one: what has expired may not have been removed on the disk.
std::vector<State> WithRevivals(const State& state) {
  std::vector<State> all = {state};
  for (size_t i = 0; i < state.filters.size(); ++i) {
    const size_t before = state.filters[i].expired ? all.size() : 0;
    for (size_t j = 0; j < before; ++j) {
      State revived = all[j];
      revived.filters[i].expired = false;
      all.push_back(revived);
    }
  }
  return all;
}

}  // namespace

const std::vector<TypeTraits>& ModelledTypes() {
  static const std::vector<TypeTraits> types = {
      {"blocked", false, false, true, "0.000000001 3"},
      {"classic", false, false, true, "0.000000001 3"},
      {"counting", true, true, true, "0.000000001 5"},
      {"cuckoo", true, true, true, "0.00000001 100 BUCKETSIZE 8"},
      {"fingerprint", false, false, true, "0.00000001 100"},
      {"ribbon", false, false, true, "0.000000001 4"},
      {"window", false, false, false, "0.000000001 1000"},
      {"expiring", false, true, false, "0.00000001 100"},
      {"redisbloom", false, false, true, "0.000000001 1000"},
      {"valkeybloom", false, false, true, "0.000000001 1000"},
  };
  return types;
}

size_t TypeNumber(const std::string& name) {
  const auto& types = ModelledTypes();
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const TypeTraits& type) { return name == type.name; });
  return static_cast<size_t>(found - types.begin());
}

std::vector<Words> CommandsOf(const Words& words) {
  std::vector<Words> commands(1);
  for (const std::string& word : words) {
    if (word == "|") {
      commands.emplace_back();
    } else {
      commands.back().push_back(word);
    }
  }
  return commands;
}

std::vector<Step> StepsOf(const Words& command) {
  std::vector<Step> steps;
  for (const Words& one : CommandsOf(command)) {
    if (one[0] == "MULTI" || one[0] == "EXEC") continue;
    if (one[0] != "BF.MADD" && one[0] != "BF.MEXISTS") {
      steps.push_back(one);
      continue;
    }
    const std::string verb = one[0] == "BF.MADD" ? "BF.ADD" : "BF.EXISTS";
    for (size_t i = 2; i < one.size(); ++i) steps.push_back({verb, one[1], one[i]});
  }
  return steps;
}

Model::States Model::Follow(const States& before, const Step& step, const Reply* reply, WallTimes times) const {
  States after;
  for (const State& state : before) {
    std::vector<State> at_times = WithExpiry(state, step, times);
    if (memory_is_refused_) at_times = WithGivenUpFreezes(std::move(at_times), step);
    for (const State& at_time : at_times) {
      State changed = at_time;
      const std::string expected = Transition(changed, default_type_).Run(step);
      const bool is_refused = reply != nullptr && IsRefusal(*reply);
      if (is_refused || (reply == nullptr && memory_is_refused_)) {
        after.push_back(at_time);
        // There was memory for the filter, and none for the item.
        if (State made = at_time; memory_is_refused_ && MakeFilter(made, step)) after.push_back(made);
      }
      if (!is_refused && (reply == nullptr || Matches(expected, *reply))) {
        after.push_back(changed);
        if (Thaw(changed, step)) after.push_back(changed);
      }
    }
  }
  Unite(after);
  return after;
}

bool Model::Observe(const Step& step, const Reply& reply, WallTimes times, bool only_looks) {
  States after = Follow(states_, step, &reply, times);
  if (after.empty()) return false;
  if (!only_looks) history_.push_back({states_, step});
  states_ = std::move(after);
  return true;
}

void Model::Crash(size_t durable, const std::vector<Pending>& pending, bool may_refuse) {
  States left;
  for (size_t i = durable; i < history_.size(); ++i) Survive(history_[i].before, history_[i].step, i, left);
  const size_t most_refused = may_refuse ? pending.size() : 0;
  for (size_t from = 0; from <= most_refused; ++from) {
    for (size_t to = from; to <= most_refused; ++to) {
      States states = states_;
      size_t survived = history_.size();
      for (size_t i = 0; i < pending.size(); ++i) {
        for (const Step& step : pending[i].steps) {
          Survive(states, step, survived++, left);
          if (i < from || i >= to) states = Follow(states, step, nullptr, pending[i].times);
        }
      }
      Survive(states, {}, survived, left);
    }
  }
  states_ = std::move(left);
  for (State& state : states_) state.filters[kDumped] = {};
  Unite(states_);
  history_.clear();
}

void Model::Survive(const States& before, const Step& step, size_t survived, States& left) const {
  for (const State& state : before) {
    for (State revived : WithRevivals(state)) {
      revived.least_survived = revived.most_survived = survived;
      left.push_back(revived);
      if (MakeFilter(revived, step)) left.push_back(revived);
    }
  }
}

// Adding to a missing name is two changes: the filter is made, and then the item is added.
bool Model::MakeFilter(State& state, const Step& step) const {
  if (step.empty() || step[0] != "BF.ADD") return false;
  FilterState& filter = state.filters[KeyNumber(step[1])];
  if (filter.exists && !filter.expired) return false;
  filter = Empty(default_type_);
  return true;
}

size_t Model::least_survived() const {
  const auto less = [](const State& a, const State& b) { return a.least_survived < b.least_survived; };
  return std::min_element(states_.begin(), states_.end(), less)->least_survived;
}

size_t Model::most_survived() const {
  const auto less = [](const State& a, const State& b) { return a.most_survived < b.most_survived; };
  return std::max_element(states_.begin(), states_.end(), less)->most_survived;
}

void Model::BeginLife() {
  for (State& state : states_) state.least_survived = state.most_survived = 0;
  history_.clear();
}

std::string Model::Describe() const {
  std::string text;
  for (size_t i = 0; i < states_.size() && i < 4; ++i) {
    text += "  state " + std::to_string(i + 1) + " of " + std::to_string(states_.size()) + ":";
    for (size_t key = 0; key < states_[i].filters.size(); ++key) {
      const FilterState& filter = states_[i].filters[key];
      if (!filter.exists) continue;
      text += " [" + std::to_string(key) + " " + ModelledTypes()[filter.type].name + (filter.frozen ? " frozen" : "") +
              (filter.expired ? " expired" : "");
      for (size_t item = 0; item < kItems; ++item) {
        if (filter.copies[item] != 0) text += " i" + std::to_string(item) + "x" + std::to_string(filter.copies[item]);
      }
      if (filter.expires_ms != 0) text += " expires " + std::to_string(filter.expires_ms);
      text += "]";
    }
    text += "\n";
  }
  return text;
}

}  // namespace bitsieve::simulation
