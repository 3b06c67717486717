#include "commands/type_options.h"

#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace {

using core::FilterTypeRow;
using core::TypeOption;

const TypeOption* FindOption(const FilterTypeRow& type, std::string_view word) {
  for (const TypeOption& option : type.options) {
    if (option.word == word) return &option;
  }
  return nullptr;
}

std::string TypesWith(std::string_view word) {
  std::string names;
  for (const FilterTypeRow* type : core::FilterTypes()) {
    if (FindOption(*type, word) == nullptr) continue;
    if (!names.empty()) names += " or ";
    names += type->name;
  }
  return names;
}

void Read(ArgumentReader& reader, const TypeOption& option, std::string_view value, core::FilterParams& params) {
  if (!reader.ok()) return;
  if (const core::Status status = option.Read(value, params); !status) reader.Fail(wire::Error(status.error().message));
}

// Reads past the next argument if it is the word of such an option, of whatever type; else null.
const TypeOption* SkipWord(ArgumentReader& reader) {
  for (const FilterTypeRow* type : core::FilterTypes()) {
    for (const TypeOption& option : type->options) {
      if (reader.Skip(option.word)) return &option;
    }
  }
  return nullptr;
}

}  // namespace

bool ReadTypeOption(ArgumentReader& reader, std::string_view missing_instead, const core::FilterParams& params,
                    GivenTypeOptions& given) {
  const TypeOption* const found = SkipWord(reader);
  if (found == nullptr) return false;
  const TypeOption* const of_type = FindOption(*core::FindFilterType(params.type), found->word);
  const TypeOption& option = of_type != nullptr ? *of_type : *found;
  const std::string missing =
      missing_instead.empty() ? wire::Error("no " + std::string(option.name)) : std::string(missing_instead);
  const std::string_view value = reader.Next(missing);
  core::FilterParams checked = params;
  Read(reader, option, value, checked);
  given.push_back({option.word, value});
  return true;
}

void ApplyTypeOptions(ArgumentReader& reader, const GivenTypeOptions& given, core::FilterParams& params) {
  const FilterTypeRow& type = *core::FindFilterType(params.type);
  for (const GivenTypeOption& one : given) {
    if (const TypeOption* const option = FindOption(type, one.word)) Read(reader, *option, one.value, params);
  }
}

void RefuseMisplaced(ArgumentReader& reader, const GivenTypeOptions& given, core::FilterType type) {
  for (const GivenTypeOption& one : given) {
    if (FindOption(*core::FindFilterType(type), one.word) != nullptr) continue;
    reader.Fail(wire::OptionOfTypes(one.word, TypesWith(one.word)));
  }
}

std::optional<std::string> TypeOptionDifference(const core::FilterParams& have, const core::FilterParams& asked) {
  for (const TypeOption& option : core::FindFilterType(have.type)->options) {
    const std::string its = option.Text(have);
    const std::string other = option.Text(asked);
    if (its != other) return wire::ExistsWithOther(option.noun, its, other);
  }
  return std::nullopt;
}

}  // namespace bitsieve::commands
