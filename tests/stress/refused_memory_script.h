// refused_memory_script.h: what refused_memory_test.cc has a server do, step by step: all commands, and all types.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_dump.h"
#include "server/commands/all_commands.h"
#include "server/dispatch/command_table.h"
#include "tests/support/command_fixture.h"
#include "tests/support/filter_types.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

using test::Words;

// Filters of these names have random seeds: only that they are there is compared.
inline constexpr std::string_view kRandomNames = "auto";

struct Step {
  std::vector<Words> commands;  // one batch; "@..." is no command but something done around them
  size_t items = 0;             // number of last arguments of the last command that are items, with one outcome each
  bool compares = true;         // the replies are the same in every run
};

// A step that makes a filter is repeated if it was refused, or not answered: later steps would make one of a random
// seed.
inline bool IsRepeated(const Step& step) {
  constexpr std::string_view kMakers[]{"BF.RESERVE", "CF.RESERVE", "COPY", "BF.RESTORE", "BF.MERGE"};
  return step.commands.size() == 1 && std::ranges::count(kMakers, step.commands[0][0]) != 0;
}

inline Words Add(std::string command, const std::string& name, int from, int count, Words between = {}) {
  Words words{std::move(command), name};
  words.insert(words.end(), between.begin(), between.end());
  for (int i = from; i < from + count; ++i) words.push_back("item" + std::to_string(i));
  return words;
}

// The command that reserves a filter of a type; the first word is its name, too.
inline Words Reserving(const std::string& type) {
  Words words{type, "BF.RESERVE", type, "0.001", "20", "TYPE", type};
  for (const auto& [word, value] : test::RequiredOptions(type, 20)) words.insert(words.end(), {word, value});
  if (type != "redisbloom") words.insert(words.end(), {"SEED", "7"});
  return words;
}

// The reserving commands of each type, of a filter with a high error rate, and of one that fills up.
inline const std::vector<Words>& Types() {
  static const std::vector<Words> kTypes = [] {
    std::vector<Words> types;
    for (const std::string& type : test::TypeNames(test::ByReserve)) types.push_back(Reserving(type));
    types.push_back({"wrong", "BF.RESERVE", "wrong", "0.2", "20", "TYPE", "blocked", "SEED", "7"});
    types.push_back({"full", "BF.RESERVE", "full", "0.001", "5", "NONSCALING", "SEED", "7"});
    types.push_back({"rediscuckoo", "CF.RESERVE", "rediscuckoo", "8", "EXPANSION", "1"});
    return types;
  }();
  return kTypes;
}

inline std::string DumpOf(core::FilterType kind) {
  TestKeyspace keyspace;
  const commands::FilterPtr filter = keyspace.Make("f", 50, kind);
  AddItems(*filter, "dumped", 20);
  core::DumpStream stream(filter->Capture());
  std::string dump;
  EXPECT_TRUE(stream.Read(stream.total_bytes(), dump));
  return dump;
}

inline void ScriptOfTypes(std::vector<Step>& script) {
  for (const Words& type : Types()) {
    const std::string& name = type[0];
    script.push_back({{Words(type.begin() + 1, type.end())}});
    script.push_back({{Add("BF.MADD", name, 0, 30)}, 30});  // it grows, or is full
    script.push_back({{Add("BF.MEXISTS", name, 0, 40)}});
    script.push_back({{{"BF.ADD", name, "a"}, {"BF.EXISTS", name, "a"}, {"BF.ADD", name, "b"}, {"BF.ADD", name, "a"}}});
    script.push_back({{{"@SNAPSHOT"}}, 0, false});
    script.push_back({{Add("BF.INSERT", name, 100, 30, {"ITEMS"})}, 30});
    script.push_back({{{"BF.CARD", name}, {"BF.INFO", name}, {"BF.DEBUG", name}}});
    script.push_back({{{"COPY", name, "copy of " + name}}});
    script.push_back({{Add("BF.MADD", "copy of " + name, 200, 3)}, 3});
  }
  for (const std::string name : {"wrong", "ribbon"}) {
    script.push_back({{Add("BF.FPADD", name, 1000, 40)}, 40});
    script.push_back({{Add("BF.MADD", name, 1030, 20)}, 20});
  }
  for (const std::string& name : test::TypeNames(test::Removes)) {
    script.push_back({{Add("BF.MDEL", name, 0, 10)}, 10});
    script.push_back({{{"BF.DEL", name, "a"}, {"BF.DEL", name, "absent"}}});
    script.push_back({{{"BF.COUNT", name, "a"}, {"BF.EXISTS", name, "item20"}}});
  }
  script.push_back({{Add("CF.INSERT", "rediscuckoo", 300, 20, {"ITEMS"})}, 20});
  script.push_back({{Add("CF.INSERTNX", "rediscuckoo", 310, 20, {"ITEMS"})}, 20});
  script.push_back(
      {{{"CF.ADD", "rediscuckoo", "c"}, {"CF.ADDNX", "rediscuckoo", "c"}, {"CF.DEL", "rediscuckoo", "c"}}});
  script.push_back({{{"CF.COMPACT", "rediscuckoo"}}});
  // The items are present, so there is nothing for the log, even if it lacks the compaction.
  script.push_back({{{"CF.INSERTNX", "rediscuckoo", "ITEMS", "item305", "item306"}}, 2});
  script.push_back({{{"CF.INFO", "rediscuckoo"}, {"CF.COUNT", "rediscuckoo", "item305"}}});
  script.push_back({{{"BF.FREEZE", "ribbon"}}});
  script.push_back({{{"@FROZEN", "ribbon"}}});
  script.push_back({{{"BF.ADD", "ribbon", "late"}, {"BF.EXISTS", "ribbon", "item3"}}});
}

inline void ScriptOfNames(std::vector<Step>& script) {
  script.push_back({{{"BF.CLEAR", "classic"}}});
  script.push_back({{{"RENAME", "blocked", "renamed, to a name longer than a short string"}}});
  script.push_back({{{"RENAMENX", "classic", "counting"}}});
  script.push_back({{{"COPY", "counting", "redisbloom", "REPLACE"}}});
  script.push_back({{{"BF.MERGE", "merged", "copy of classic"}}});
  script.push_back({{{"BF.RESERVE", "other", "0.001", "20", "TYPE", "classic", "SEED", "7"}}});
  script.push_back({{{"BF.ADD", "other", "z"}}});
  script.push_back({{{"BF.MERGE", "other", "classic"}}});
  script.push_back({{{"BF.ESTIMATE", "other"}}});
  script.push_back({{{"BF.RESERVE", "folded", "0.01", "5000", "SEED", "7"}}});
  script.push_back({{Add("BF.MADD", "folded", 0, 20)}, 20});
  script.push_back({{{"BF.FOLD", "folded", "1000"}}});
  script.push_back({{Add("BF.MEXISTS", "folded", 0, 20)}});
  script.push_back({{Add("BF.MADD", "folded", 20, 20)}, 20});
  script.push_back({{{"BF.EXISTSIN", "z", "other", "classic", "nothing"}}});
  script.push_back({{{"EXPIRE", "other", "100"}}});
  script.push_back({{{"PEXPIREAT", "copy of full", "1700000050000"}}});
  script.push_back({{{"PERSIST", "other"}}});
  script.push_back({{{"EXPIRE", "other", "100"}}});
  script.push_back({{{"RENAME", "other", "expiring"}}});
  script.push_back({{{"@TICK", "60000"}}});
  script.push_back({{{"EXISTS", "copy of full", "expiring"}, {"TTL", "expiring"}, {"DBSIZE"}}});
  script.push_back({{{"BF.RESERVE", "copy of full", "0.001", "20", "SEED", "7"}}});
  script.push_back({{{"@TICK", "60000"}}});
  script.push_back({{{"EXPIRE", "window", "-1"}}});
  script.push_back({{{"DEL", "cuckoo", "expiring", "nothing"}}, 3});
  script.push_back({{{"@SNAPSHOT"}}, 0, false});
  script.push_back({{{"UNLINK", "full"}}});
  script.push_back({{{"KEYS", "*"}}, 0, false});
  script.push_back({{{"SCAN", "0", "COUNT", "10000"}}, 0, false});
}

inline void ScriptOfDumps(std::vector<Step>& script) {
  const std::string dump = DumpOf(core::kBlockedType);
  script.push_back({{{"BF.RESTORE", "restored", dump}}});
  script.push_back({{{"BF.RESTORE", "restored", dump, "REPLACE"}}});
  script.push_back({{Add("BF.MADD", "restored", 400, 3)}, 3});
  script.push_back({{{"BF.DUMP", "restored"}}});
  const size_t half = dump.size() / 2;
  const uint64_t cursor = uint64_t{1} << 20 | 1;
  script.push_back({{{"BF.LOADCHUNK", "loaded", std::to_string(cursor), dump.substr(0, half)}}, 0, false});
  script.push_back({{{"BF.LOADCHUNK", "loaded", std::to_string(cursor + 1), dump.substr(half)}}, 0, false});
  script.push_back({{{"BF.SCANDUMP", "restored", "0"}}, 0, false});
  script.push_back({{{"CF.SCANDUMP", "rediscuckoo", "0"}, {"CF.SCANDUMP", "rediscuckoo", "1"}}});
}

inline void ScriptOfTransactions(std::vector<Step>& script) {
  script.push_back({{{"MULTI"}}});
  script.push_back({{{"BF.ADD", "counting", "in a transaction, an item longer than a short string"}}});
  script.push_back({{{"DEL", "merged"}}});
  script.push_back({{{"EXEC"}}});
  script.push_back({{{"MULTI"}, {"BF.ADD", "counting", "u"}, {"BF.ADD", "counting", "v"}, {"EXEC"}}});
  script.push_back({{{"MULTI"}, {"BF.ADD", "counting", "w"}, {"DISCARD"}}});
  script.push_back({{{"BF.ADD", "auto", "x"}, {"BF.ADD", "auto", "y"}}});
  script.push_back({{{"HELLO", "3", "SETNAME", "a name that is longer than a short string"}}, 0, false});
  script.push_back({{{"NONSENSE", "and more of it, longer than a short string"}}});
}

// Appends the commands that the script has not had yet, each with as many arguments as it must have.
inline void ScriptOfAllCommands(std::vector<Step>& script) {
  std::set<std::string> had;
  for (const Step& step : script) {
    for (const Words& words : step.commands) had.insert(words[0]);
  }
  const auto append = [&](const commands::CommandRow& row, const std::string& name, const std::string& subcommand) {
    Words words{name};
    if (!subcommand.empty()) words.push_back(subcommand);
    while (words.size() < static_cast<size_t>(std::abs(row.arity))) words.push_back("1");
    script.push_back({{std::move(words)}, 0, false});
  };
  for (const commands::CommandRow* row : AllCommands().rows()) {
    std::string name(row->name);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
    if (had.contains(name) || name == "FLUSHALL" || name == "FLUSHDB") continue;
    if (row->subcommands.empty()) append(*row, name, "");
    for (const commands::CommandRow& sub : row->subcommands) {
      append(sub, name, std::string(sub.name.substr(row->name.size() + 1)));
    }
  }
}

inline const std::vector<Step>& Script() {
  static const std::vector<Step> kScript = [] {
    std::vector<Step> script;
    ScriptOfTypes(script);
    ScriptOfNames(script);
    ScriptOfDumps(script);
    ScriptOfTransactions(script);
    ScriptOfAllCommands(script);
    script.push_back({{{"FLUSHALL"}}});
    for (const Words& type : Types()) script.push_back({{Words(type.begin() + 1, type.end())}});
    script.push_back({{Add("BF.MADD", "blocked", 0, 30)}, 30});
    return script;
  }();
  return kScript;
}

}  // namespace bitsieve::server
