#include "module/options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/option_table.h"
#include "core/base/parse.h"
#include "core/filter/filter_type.h"

namespace bitsieve::module {
namespace {

using config::OptionRow;

constexpr const char* kMaxFilterBytes = "max-filter-bytes";
constexpr const char* kChangesMemory = "changes-memory";  // as in the option table
constexpr const char* kForRedisBloom = "for-redisbloom";

constexpr std::array<std::string_view, 2> kGroups{"Filters", "Cuckoo filters"};

struct State {
  config::Options values = {};    // of the rows that filter commands have; each change goes on to the settings
  config::Options defaults = {};  // what an option has that is not in the engine's configuration
  bool is_loading = false;        // the engine's configuration
};
State& TheState() {
  static State& state = *new State;
  return state;
}

void FillSettings() { commands::FillFilterSettings(Settings(), TheState().values); }

engine::String* MakeString(std::string_view text) { return engine::CreateString(nullptr, text.data(), text.size()); }

std::string TextOf(const OptionRow& row) { return OptionText(row, TheState().values); }

// While the engine loads its configuration, it sets each option that is not in there to its default: under the one name
// of a row that must not undo what was set under the other.
bool IsDefaultOfOtherName(const OptionRow& row, std::string_view text) {
  return TheState().is_loading && text == OptionText(row, TheState().defaults) && text != TextOf(row);
}

// The numbers that an option can have now. As in RedisBloom, a bucket must fit twice into a new filter.
config::WholeNumber RangeNow(const OptionRow& row) {
  config::WholeNumber range = std::get<config::WholeNumber>(row.domain);
  const config::Options& now = TheState().values;
  if (TheState().is_loading) return range;  // options are loaded one after the other
  if (row.name == "cf-initial-size") range.min = std::max<uint64_t>(range.min, 2 * uint64_t{now.cf_bucket_size});
  if (row.name == "cf-bucket-size") range.max = std::min<uint64_t>(range.max, now.cf_initial_size / 2);
  return range;
}

// Why an option does not take a value, in RedisBloom's words as far as it has any.
std::string RefusalOf(const OptionRow& row, const std::string& name, std::string_view text, const std::string& reason) {
  if (std::holds_alternative<config::WholeNumber>(row.domain)) {
    const config::WholeNumber range = RangeNow(row);
    return "Value for `" + name + "` must be in the range [" + std::to_string(range.min) + ", " +
           std::to_string(range.max) + "]";
  }
  if (!std::holds_alternative<config::Real>(row.domain)) return reason;
  const std::optional<double> number = core::ParseDouble(text);
  if (!number) return "Invalid value for `" + name + "`";
  return *number > 0 && *number < 1 ? reason : "Value for `" + name + "` must be in the range (0.000000, 1.000000)";
}

int SetRow(const OptionRow& row, const std::string& name, std::string_view text, engine::String** error) {
  if (IsDefaultOfOtherName(row, text)) return engine::kOk;
  config::Options changed = TheState().values;
  core::Status status = SetOption(row, text, changed);
  // Several are loaded one after the other.
  if (status && !TheState().is_loading) status = config::CheckTogether(changed);
  if (!status) {
    if (error != nullptr) *error = MakeString(RefusalOf(row, name, text, status.error().message));
    return engine::kError;
  }
  TheState().values = std::move(changed);
  FillSettings();
  return engine::kOk;
}

const OptionRow& RowOf(void* data) { return *static_cast<const OptionRow*>(data); }

// The engine is given no range: its words for a number out of range are not RedisBloom's.
bool RegisterNumber(engine::Context* context, const char* name, const OptionRow& row) {
  const auto get = [](const char*, void* data) { return std::stoll(TextOf(RowOf(data))); };
  const auto set = [](const char* as, long long value, void* data, engine::String** error) {
    return SetRow(RowOf(data), as, std::to_string(value), error);
  };
  return engine::RegisterNumericConfig(context, name, std::stoll(TextOf(row)), engine::kConfigDefault,
                                       std::numeric_limits<long long>::min(), std::numeric_limits<long long>::max(),
                                       get, set, nullptr, const_cast<OptionRow*>(&row)) == engine::kOk;
}

bool RegisterReal(engine::Context* context, const char* name, const OptionRow& row) {
  // The engine takes no share in what is returned to it.
  static std::map<const void*, engine::String*> texts;
  const auto get = [](const char*, void* data) {
    engine::String*& text = texts[data];
    if (text != nullptr) engine::FreeString(nullptr, text);
    return text = MakeString(TextOf(RowOf(data)));
  };
  const auto set = [](const char* as, engine::String* value, void* data, engine::String** error) {
    return SetRow(RowOf(data), as, engine::TextOf(value), error);
  };
  return engine::RegisterStringConfig(context, name, TextOf(row).c_str(), engine::kConfigDefault, get, set, nullptr,
                                      const_cast<OptionRow*>(&row)) == engine::kOk;
}

const std::vector<std::string_view>& WordsOf(const OptionRow& row) { return std::get<config::OneOf>(row.domain).words; }
int NumberNow(const OptionRow& row) {
  return static_cast<int>(std::ranges::find(WordsOf(row), TextOf(row)) - WordsOf(row).begin());
}

bool RegisterChoice(engine::Context* context, const char* name, const OptionRow& row) {
  std::vector<const char*> words;
  std::vector<int> numbers;
  for (const std::string_view word : WordsOf(row)) {
    words.push_back(word.data());
    numbers.push_back(static_cast<int>(numbers.size()));
  }
  const auto get = [](const char*, void* data) { return NumberNow(RowOf(data)); };
  const auto set = [](const char* as, int value, void* data, engine::String** error) {
    return SetRow(RowOf(data), as, WordsOf(RowOf(data))[static_cast<size_t>(value)], error);
  };
  return engine::RegisterEnumConfig(context, name, NumberNow(row), engine::kConfigDefault, words.data(), numbers.data(),
                                    static_cast<int>(words.size()), get, set, nullptr,
                                    const_cast<OptionRow*>(&row)) == engine::kOk;
}

bool RegisterRow(engine::Context* context, std::string_view name, const OptionRow& row) {
  const std::string terminated(name);
  if (std::holds_alternative<config::WholeNumber>(row.domain)) return RegisterNumber(context, terminated.c_str(), row);
  if (std::holds_alternative<config::OneOf>(row.domain)) return RegisterChoice(context, terminated.c_str(), row);
  return RegisterReal(context, terminated.c_str(), row);
}

bool RegisterOwn(engine::Context* context) {
  const auto get_bytes = [](const char*, void*) { return static_cast<long long>(OwnSettings().max_filter_bytes); };
  const auto set_bytes = [](const char*, long long value, void*, engine::String**) {
    OwnSettings().max_filter_bytes = static_cast<uint64_t>(value);
    return engine::kOk;
  };
  const auto get_changes = [](const char*, void*) { return static_cast<long long>(FollowedFilters().limit_bytes()); };
  const auto set_changes = [](const char*, long long value, void*, engine::String**) {
    FollowedFilters().set_limit_bytes(static_cast<uint64_t>(value));
    return engine::kOk;
  };
  const auto get_redisbloom = [](const char*, void*) { return OwnSettings().for_redisbloom ? 1 : 0; };
  const auto set_redisbloom = [](const char*, int value, void*, engine::String**) {
    OwnSettings().for_redisbloom = value != 0;
    return engine::kOk;
  };
  constexpr long long kMaxBytes = 1LL << 50;
  const auto& changes = std::get<config::ByteSize>(config::FindOption(kChangesMemory)->domain);
  return engine::RegisterNumericConfig(context, kMaxFilterBytes, get_bytes(nullptr, nullptr), engine::kConfigMemory, 0,
                                       kMaxBytes, get_bytes, set_bytes, nullptr, nullptr) == engine::kOk &&
         engine::RegisterNumericConfig(context, kChangesMemory, get_changes(nullptr, nullptr), engine::kConfigMemory,
                                       static_cast<long long>(changes.min), static_cast<long long>(changes.max),
                                       get_changes, set_changes, nullptr, nullptr) == engine::kOk &&
         engine::RegisterBoolConfig(context, kForRedisBloom, get_redisbloom(nullptr, nullptr), engine::kConfigDefault,
                                    get_redisbloom, set_redisbloom, nullptr, nullptr) == engine::kOk;
}

bool IsOfFilterCommands(const OptionRow& row) { return std::ranges::find(kGroups, row.group) != kGroups.end(); }

// ---- arguments of loadmodule

// The words that RedisBloom's arguments have, in the table's spelling.
std::string OptionNameOf(std::string_view word) {
  std::string name = core::LowerCase(word);
  std::ranges::replace(name, '_', '-');
  if (name == "error-rate" || name == "initial-size") name.insert(0, "bf-");
  return name;
}

const OptionRow* FindRow(std::string_view name) {
  for (const OptionRow& row : config::OptionTable()) {
    if (IsOfFilterCommands(row) && (row.name == name || row.alias == name)) return &row;
  }
  return nullptr;
}

core::Status SetOwn(std::string_view name, const std::string& text) {
  if (name == kMaxFilterBytes) {
    const std::optional<uint64_t> bytes = config::ParseByteSize(text);
    if (!bytes) return core::Fail(core::ErrorCode::kInvalidArgument, "'" + text + "' is not a size such as 64mb");
    OwnSettings().max_filter_bytes = *bytes;
    return {};
  }
  if (name == kChangesMemory) {
    core::Status status = SetOption(*config::FindOption(name), text, TheState().values);
    if (status) FollowedFilters().set_limit_bytes(TheState().values.changes_memory);
    return status;
  }
  if (name == kForRedisBloom) {
    if (text != "yes" && text != "no") return core::Fail(core::ErrorCode::kInvalidArgument, "it must be yes or no");
    OwnSettings().for_redisbloom = text == "yes";
    return {};
  }
  return core::Fail(core::ErrorCode::kInvalidArgument, "unknown argument");
}

core::Status SetArgument(const std::string& name, const std::string& text) {
  const OptionRow* const row = FindRow(name);
  if (row == nullptr) return SetOwn(name, text);
  return SetOption(*row, text, TheState().values);
}

bool ReadArguments(engine::Context* context, engine::String** arguments, int count) {
  const auto text = [arguments](int index) { return std::string(engine::TextOf(arguments[index])); };
  for (int i = 0; i < count; i += 2) {
    const core::Status status = i + 1 < count ? SetArgument(OptionNameOf(text(i)), text(i + 1))
                                              : core::Fail(core::ErrorCode::kInvalidArgument, "its value is missing");
    if (status) continue;
    engine::Log(context, "warning", "bitsieve: argument %s: %s", text(i).c_str(), status.error().message.c_str());
    return false;
  }
  return true;
}

}  // namespace

commands::CommandSettings& Settings() {
  static commands::CommandSettings& settings = *new commands::CommandSettings;
  return settings;
}

ModuleSettings& OwnSettings() {
  static ModuleSettings settings;
  return settings;
}

commands::FollowedFilters& FollowedFilters() {
  static commands::FollowedFilters& followed = *new commands::FollowedFilters(config::Options{}.changes_memory);
  return followed;
}

bool RegisterOptions(engine::Context* context, engine::String** arguments, int count) {
  if (!ReadArguments(context, arguments, count)) return false;
  FillSettings();
  for (const OptionRow& row : config::OptionTable()) {
    if (!IsOfFilterCommands(row)) continue;
    if (!RegisterRow(context, row.name, row)) return false;
    const bool has_alias = !row.alias.empty() && row.alias != row.name;
    if (has_alias && !RegisterRow(context, row.alias, row)) return false;
  }
  if (!RegisterOwn(context)) return false;
  TheState().defaults = TheState().values;
  TheState().is_loading = true;
  bool loaded = engine::LoadConfigs(context) == engine::kOk;
  TheState().is_loading = false;
  if (const core::Status fits = config::CheckTogether(TheState().values); !fits) {
    engine::Log(context, "warning", "bitsieve: %s", fits.error().message.c_str());
    loaded = false;
  }
  return loaded;
}

}  // namespace bitsieve::module
