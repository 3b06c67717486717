#include "module/command_registration.h"

#include <array>
#include <cassert>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command_syntax.h"
#include "commands/filter_commands.h"
#include "commands/sketch_commands.h"
#include "module/command_adapter.h"
#include "module/sketch_commands.h"

namespace bitsieve::module {
namespace {

using commands::ArgumentDoc;
using commands::CommandRow;

// To the engine a command is a function that has nothing to remember a row by: hence one for each.
constexpr size_t kMaxRows = 64;
std::array<ModuleCommand, kMaxRows> filter_commands;
std::array<const CommandRow*, kMaxRows> sketch_commands;

template <size_t index>
int CallFilterCommand(engine::Context* context, engine::String** argv, int argc) {
  return RunCommand(context, argv, argc, filter_commands[index], Origin::kEngine);
}
template <size_t index>
int CallSketchCommand(engine::Context* context, engine::String** argv, int argc) {
  return RunSketchCommand(context, argv, argc, *sketch_commands[index]);
}
using Calls = std::array<engine::CommandFunction, kMaxRows>;
template <size_t... index>
constexpr Calls FilterCalls(std::index_sequence<index...>) {
  return {CallFilterCommand<index>...};
}
template <size_t... index>
constexpr Calls SketchCalls(std::index_sequence<index...>) {
  return {CallSketchCommand<index>...};
}
constexpr Calls kFilterCalls = FilterCalls(std::make_index_sequence<kMaxRows>());
constexpr Calls kSketchCalls = SketchCalls(std::make_index_sequence<kMaxRows>());

// RedisBloom has fast commands on sketches only as a category.
std::string FlagsOf(const CommandRow& row) {
  std::string flags = (row.flags & commands::kWrite) != 0 ? "write" : "readonly";
  if ((row.flags & commands::kDenyOom) != 0) flags += " deny-oom";
  if ((row.flags & commands::kFast) != 0 && !commands::IsOfSketches(row.group)) flags += " fast";
  return flags;
}

engine::KeySpec SpecOf(int first, int last, int step, bool writes) {
  engine::KeySpec spec{};
  spec.flags = writes ? engine::kKeyReadWrite | engine::kKeyAccess | engine::kKeyUpdate
                      : engine::kKeyReadOnly | engine::kKeyAccess;
  spec.begin_search_type = engine::kBeginIndex;
  spec.begin.index.position = first;
  spec.find_keys_type = engine::kFindRange;
  spec.find.range = {last < 0 ? last : last - first, step, 0};
  return spec;
}

// Returns the specification of keys that are read and follow their number.
engine::KeySpec CountedSpec(int count_at) {
  engine::KeySpec spec{};
  spec.flags = engine::kKeyReadOnly | engine::kKeyAccess;
  spec.begin_search_type = engine::kBeginIndex;
  spec.begin.index.position = count_at;
  spec.find_keys_type = engine::kFindNumber;
  spec.find.number = {0, 1, 1};
  return spec;
}

// Keys that are written and keys that are only read have a specification each. The array ends with one that is all 0.
std::vector<engine::KeySpec> SpecsOf(const CommandRow& row) {
  const commands::KeyPositions& keys = row.keys;
  const bool writes = (row.flags & commands::kWrite) != 0;
  std::vector<engine::KeySpec> specs;
  if (writes && keys.written == commands::WrittenKeys::kFirst && keys.last != keys.first) {
    specs.push_back(SpecOf(keys.first, keys.first, keys.step, true));
    specs.push_back(SpecOf(keys.first + keys.step, keys.last, keys.step, false));
  } else {
    specs.push_back(SpecOf(keys.first, keys.last, keys.step, writes));
  }
  if (keys.count_at != 0) specs.push_back(CountedSpec(keys.count_at));
  specs.push_back({});
  return specs;
}

engine::ArgumentType TypeOf(const ArgumentDoc& argument) {
  if (argument.type == "key") return engine::kArgKey;
  if (argument.type == "pure-token") return engine::kArgToken;
  if (argument.type == "oneof") return engine::kArgOneOf;
  if (argument.type == "block") return engine::kArgBlock;
  return engine::kArgString;
}

// The data of COMMAND DOCS, kept only until the engine has copied it.
class Documentation {
 public:
  void Set(engine::Command* command, const CommandRow& row) {
    constexpr engine::CommandInfoVersion kVersion{1, sizeof(engine::CommandHistory), sizeof(engine::KeySpec),
                                                  sizeof(engine::CommandArgument)};
    std::vector<engine::KeySpec> specs = SpecsOf(row);
    const engine::CommandInfo info{.version = &kVersion,
                                   .summary = Keep(row.summary),
                                   .complexity = Keep(row.complexity),
                                   .since = Keep(row.since),
                                   .history = nullptr,
                                   .tips = nullptr,
                                   .arity = row.arity,
                                   .key_specs = specs.data(),
                                   .arguments = Arguments(commands::ParseSyntax(row.syntax))};
    engine::SetCommandInfo(command, &info);
  }

 private:
  engine::CommandArgument* Arguments(const std::vector<ArgumentDoc>& docs) {
    if (docs.empty()) return nullptr;
    std::vector<engine::CommandArgument> all;
    for (const ArgumentDoc& doc : docs) {
      engine::CommandArgument argument{};
      argument.name = Keep(doc.name);
      argument.type = TypeOf(doc);
      argument.key_spec = argument.type == engine::kArgKey ? 0 : -1;
      argument.token = doc.token.empty() ? nullptr : Keep(doc.token);
      argument.flags = (doc.optional ? engine::kArgOptional : 0) | (doc.multiple ? engine::kArgMultiple : 0);
      argument.subarguments = Arguments(doc.arguments);
      all.push_back(argument);
    }
    all.push_back({});
    return arrays_.emplace_back(std::move(all)).data();
  }
  const char* Keep(std::string_view text) { return texts_.emplace_back(text).c_str(); }

  std::deque<std::string> texts_;
  std::deque<std::vector<engine::CommandArgument>> arrays_;
};

// Since Redis 7.4 and Valkey 8 a module has categories of its own.
void SetCategories(engine::Command* command, const std::string& categories) {
  if (engine::SetCommandACLCategories != nullptr) engine::SetCommandACLCategories(command, categories.c_str());
}

std::string_view FamilyOf(commands::CommandGroup group) {
  using enum commands::CommandGroup;
  switch (group) {
    case kCuckoo:
      return "cuckoo";
    case kCountMin:
      return "cms";
    case kTopK:
      return "topk";
    case kTDigest:
      return "tdigest";
    default:
      return "bloom";
  }
}

std::string CategoriesOf(const CommandRow& row) {
  std::string categories(FamilyOf(row.group));
  categories += (row.flags & commands::kWrite) != 0 ? " write" : " read";
  categories += (row.flags & commands::kFast) != 0 ? " fast" : " slow";
  return categories;
}

// Null, and the reason logged, if the name is taken.
engine::Command* Create(engine::Context* context, const char* name, engine::CommandFunction call, const char* flags,
                        const commands::KeyPositions& keys) {
  if (engine::CreateCommand(context, name, call, flags, keys.first, keys.last, keys.step) == engine::kOk) {
    return engine::GetCommand(context, name);
  }
  engine::Log(context, "warning", "bitsieve: another module already has the command %s: load only one of them", name);
  return nullptr;
}

bool RegisterRow(engine::Context* context, const CommandRow& row, engine::CommandFunction call) {
  engine::Command* const command = Create(context, row.name.data(), call, FlagsOf(row).c_str(), row.keys);
  if (command == nullptr) return false;
  Documentation().Set(command, row);
  SetCategories(command, CategoriesOf(row));
  return true;
}

// Registers the commands that only the replication stream and the log have.
bool RegisterInternal(engine::Context* context) {
  constexpr std::array<std::pair<const char*, engine::CommandFunction>, 3> kInternal{
      {{"bf.made", RunMade}, {"bf.at", RunAt}, {"bf.content", RunContent}}};
  for (const auto& [name, call] : kInternal) {
    engine::Command* const command = Create(context, name, call, "write admin", commands::kFirstArgument);
    if (command == nullptr) return false;
    SetCategories(command, "write admin dangerous");
  }
  return true;
}

bool RegisterFilterRows(engine::Context* context) {
  size_t index = 0;
  for (const auto& rows : commands::kFilterCommands) {
    for (const CommandRow& row : rows()) {
      assert(index < kMaxRows);
      filter_commands[index] = MakeModuleCommand(row);
      if (!RegisterRow(context, row, kFilterCalls[index])) return false;
      ++index;
    }
  }
  return true;
}

bool RegisterSketchRows(engine::Context* context) {
  size_t index = 0;
  for (const auto& rows : commands::kSketchCommands) {
    for (const CommandRow& row : rows()) {
      assert(index < kMaxRows);
      sketch_commands[index] = &row;
      if (!RegisterRow(context, row, kSketchCalls[index])) return false;
      ++index;
    }
  }
  return true;
}

}  // namespace

bool RegisterCommands(engine::Context* context) {
  if (engine::AddACLCategory != nullptr) {
    for (const char* const family : {"bloom", "cuckoo", "cms", "topk", "tdigest"}) {
      engine::AddACLCategory(context, family);
    }
  }
  return RegisterFilterRows(context) && RegisterSketchRows(context) && RegisterInternal(context);
}

}  // namespace bitsieve::module
