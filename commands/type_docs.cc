#include "commands/type_docs.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/base/join.h"
#include "core/filter/filter_type.h"

namespace bitsieve::commands {
namespace {

using core::FilterTypeRow;
using core::InfoField;
using core::Join;
using core::TypeOption;

// An option or a field, and the names of the types that have it.
template <class Entry>
struct Shared {
  const Entry* entry;
  std::vector<std::string_view> types;
};

// Returns what the types have, in the order of the rows, each once.
template <class Entry>
std::vector<Shared<Entry>> OfTypes(std::span<const Entry> FilterTypeRow::*entries, std::string_view Entry::*word) {
  std::vector<Shared<Entry>> all;
  for (const FilterTypeRow* type : core::FilterTypes()) {
    for (const Entry& entry : type->*entries) {
      const auto same = [&](const Shared<Entry>& other) { return other.entry->*word == entry.*word; };
      auto found = std::ranges::find_if(all, same);
      if (found == all.end()) found = all.insert(all.end(), Shared<Entry>{&entry, {}});
      found->types.push_back(type->name);
    }
  }
  return all;
}

auto Options() { return OfTypes(&FilterTypeRow::options, &TypeOption::word); }
auto Fields() { return OfTypes(&FilterTypeRow::info_fields, &InfoField::selector); }

std::string OptionsSyntax() {
  std::vector<std::string> options;
  for (const auto& [option, types] : Options()) {
    options.push_back("[" + Join(std::array{option->word, option->value}, " ") + "]");
  }
  return Join(options, " ");
}

std::string DefaultOf(const TypeOption& option) {
  return option.param == nullptr ? std::string(option.default_text) : std::to_string(option.param->default_value);
}

// "COUNTERBITS, 4 or 8, is for TYPE counting; the default is 4."
std::string OptionNotes() {
  std::string notes;
  for (const Shared<TypeOption>& option : Options()) {
    const TypeOption& entry = *option.entry;
    notes.append(notes.empty() ? "" : " ").append(entry.word);
    if (entry.param != nullptr) notes.append(", ").append(entry.param->Range()).append(",");
    notes.append(" is for TYPE ").append(Join(option.types, " and "));
    if (const std::string value = DefaultOf(entry); !value.empty()) notes.append("; the default is ").append(value);
    notes.append(entry.notes.empty() ? "." : ". ").append(entry.notes);
  }
  return notes;
}

std::string FieldSelectors() {
  std::vector<std::string_view> selectors;
  for (const Shared<InfoField>& field : Fields()) selectors.push_back(field.entry->selector);
  return Join(selectors, " | ");
}

// "HASH, the hash function (blocked, classic); ..."
std::string FieldNotes() {
  std::string notes;
  for (const Shared<InfoField>& field : Fields()) {
    notes.append(notes.empty() ? "" : "; ").append(field.entry->selector).append(", ").append(field.entry->meaning);
    notes.append(" (").append(Join(field.types, ", ")).append(")");
  }
  return notes;
}

struct Place {
  std::string_view name;
  std::string (*text)();
};
constexpr std::array kPlaces{Place{"{options}", OptionsSyntax}, Place{"{option notes}", OptionNotes},
                             Place{"{fields}", FieldSelectors}, Place{"{field notes}", FieldNotes}};

}  // namespace

std::string WithTypeDocs(std::string_view text) {
  std::string filled(text);
  for (const Place& place : kPlaces) {
    if (const size_t at = filled.find(place.name); at != std::string::npos) {
      filled.replace(at, place.name.size(), place.text());
    }
  }
  return filled;
}

}  // namespace bitsieve::commands
