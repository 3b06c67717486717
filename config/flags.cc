#include "config/flags.h"

#include "config/option_table.h"

namespace bitsieve::config {
namespace {

std::string TypeName(const OptionRow& row) {
  if (const auto* words = std::get_if<OneOf>(&row.domain)) {
    std::string name;
    for (const std::string_view word : words->words) name += (name.empty() ? "" : "|") + std::string(word);
    return name;
  }
  if (std::holds_alternative<ByteSize>(row.domain)) return "SIZE";
  if (!row.unit.empty()) return std::string(row.unit);
  if (std::holds_alternative<Text>(row.domain)) return "TEXT";
  return "NUMBER";
}

std::string Help(const OptionRow& row) {
  const std::string value = OptionReadableText(row, Options{});
  return std::string(row.help) + " [" + (value.empty() ? "none" : value) + "]";
}

}  // namespace

void Flags::AddFileTo(CLI::App& command) {
  command.add_option("--config", file_, "JSON file of options; BITSIEVE_... variables and flags override it")
      ->type_name("FILE");
}

void Flags::AddTo(CLI::App& command) {
  AddFileTo(command);
  flags_.reserve(OptionTable().size());  // CLI11 keeps references to the values
  for (const OptionRow& row : OptionTable()) AddRow(command, row);
}

void Flags::AddOneTo(CLI::App& command, std::string_view option) {
  AddFileTo(command);
  flags_.reserve(1);
  AddRow(command, *FindOption(option));
}

void Flags::AddRow(CLI::App& command, const OptionRow& row) {
  Flag& flag = flags_.emplace_back(Flag{&row, "", nullptr});
  flag.option = command.add_option("--" + std::string(row.name), flag.value, Help(row))
                    ->group(std::string(row.group))
                    ->type_name(TypeName(row));
}

Sources Flags::ToSources() const {
  Sources sources{.file = file_, .environment = ProcessEnvironment(), .flags = {}};
  for (const Flag& flag : flags_) {
    if (flag.option->count() > 0) sources.flags.emplace_back(flag.row, flag.value);
  }
  return sources;
}

}  // namespace bitsieve::config
