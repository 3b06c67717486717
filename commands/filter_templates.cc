#include "commands/filter_templates.h"

#include <cassert>

#include "commands/wire_errors.h"
#include "core/base/glob.h"
#include "core/base/parse.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::commands {
namespace {

constexpr OptionErrors kErrors{.missing = "ERR the value is missing",
                               .bad_expansion = wire::kExpansionRange,
                               .bad_capacity = wire::kCapacityRange,
                               .bad_error_rate = wire::kErrorRateRange};

using Words = std::vector<std::string>;

// The option that a field, which is in lower case, stands for; empty if it stands for none.
std::string OptionOf(const std::string& field) {
  if (field == "error-rate") return "ERROR";
  std::string option;
  for (const char c : field) {
    if (c < 'a' || c > 'z') return "";
    option += static_cast<char>(c - 'a' + 'A');
  }
  return option == "ERROR" || option == "NONSCALING" ? "" : option;
}

// Reads all words; false if one of them is no option.
bool ReadWords(const Words& words, ArgumentReader& reader, core::FilterParams& params, GivenOptions& given) {
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  reader = ArgumentReader(arguments, 0);
  while (reader.More() && ReadCreateOption(reader, kErrors, params, given)) {
  }
  return !reader.ok() || reader.AtEnd();
}

// Returns the type that an entry states; the default one if it states none.
core::FilterType StatedType(const TemplateEntry& entry) {
  for (const auto& [field, value] : entry.fields) {
    const core::FilterTypeRow* const type = field == "type" ? core::FindFilterType(value) : nullptr;
    if (type != nullptr) return type->type;
  }
  return core::kDefaultFilterType;
}

// An error as it is shown in a log: without the prefix that marks it as an error for clients.
std::string Plain(std::string_view error) {
  if (error.starts_with("ERR ")) error.remove_prefix(4);
  return std::string(error);
}

}  // namespace

core::Outcome<FilterTemplate, std::vector<std::string>> FilterTemplate::Make(const TemplateEntry& entry) {
  FilterTemplate made;
  std::vector<std::string> problems;
  made.pattern_ = entry.pattern;
  made.Read(entry, problems);
  if (problems.empty()) made.Check(entry.where, problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return made;
}

// Field by field, each alone, so that a problem has its field's name.
void FilterTemplate::Read(const TemplateEntry& entry, std::vector<std::string>& problems) {
  const core::FilterType type = StatedType(entry);
  for (const auto& [field, value] : entry.fields) {
    const std::string option = OptionOf(field);
    const Words words{option, value};
    ArgumentReader reader({}, 0);
    core::FilterParams params;
    GivenOptions given;
    const std::string place = entry.where + ", " + field;
    if (option.empty() || !ReadWords(words, reader, params, given)) {
      problems.push_back(place +
                         ": unknown field; the fields are named like the options of BF.INSERT: type, error-rate, "
                         "capacity, expansion and so on");
      continue;
    }
    if (given.expansion && !ExpansionInRange(type, *given.expansion)) reader.Fail(kErrors.bad_expansion);
    if (!reader.ok()) problems.push_back(place + " " + wire::Quoted(value) + ": " + Plain(reader.error()));
    if (given.type) type_ = params.type;
    Words& list = given.type || given.own_seed || !given.of_type.empty() ? of_type_ : general_;
    list.insert(given.type ? list.begin() : list.end(), words.begin(), words.end());
  }
}

// Whether the fields fit together, and whether such a filter can be made. A budget of one byte shows the latter without
// making it.
void FilterTemplate::Check(const std::string& where, std::vector<std::string>& problems) const {
  if (!type_ && !of_type_.empty()) {
    problems.push_back(where + ": " + core::LowerCase(of_type_.front()) +
                       " needs a type next to it, since not every type has it");
    return;
  }
  core::FilterParams params;
  GivenOptions given;
  ArgumentReader reader({}, 0);
  ReadWords(general_, reader, params, given);
  ReadWords(of_type_, reader, params, given);
  SettleCreateOptions(reader, kErrors, given, params);
  if (!reader.ok()) {
    problems.push_back(where + ": " + Plain(reader.error()));
    return;
  }
  core::MemoryBudget none(1);
  const auto refused = core::MakeFilter(params, none, core::SystemClock());
  if (!refused && refused.error().code == core::ErrorCode::kInvalidArgument) {
    problems.push_back(where + ": " + refused.error().message);
  }
}

void FilterTemplate::Apply(bool own_type, core::FilterParams& params, GivenOptions& given) const {
  ArgumentReader reader({}, 0);
  ReadWords(general_, reader, params, given);
  assert(reader.ok());
  if (own_type) ReadWords(of_type_, reader, params, given);
  assert(reader.ok());
  // Set as a default, not as a stated option: the type requested may be one that does not grow.
  if (given.expansion) params.expansion = static_cast<uint32_t>(*given.expansion);
  given.expansion.reset();
}

core::Outcome<FilterTemplates, std::vector<std::string>> FilterTemplates::Make(
    const std::vector<TemplateEntry>& entries) {
  FilterTemplates made;
  std::vector<std::string> problems;
  for (const TemplateEntry& entry : entries) {
    auto one = FilterTemplate::Make(entry);
    if (one) {
      made.templates_.push_back(std::move(*one));
    } else {
      problems.insert(problems.end(), one.error().begin(), one.error().end());
    }
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return made;
}

const FilterTemplate* FilterTemplates::Find(std::string_view name) const {
  for (const FilterTemplate& each : templates_) {
    if (core::GlobMatch(each.pattern(), name)) return &each;
  }
  return nullptr;
}

}  // namespace bitsieve::commands
