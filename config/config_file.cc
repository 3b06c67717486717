#include "config/config_file.h"

#include <algorithm>
#include <string_view>

#include "config/config_members.h"
#include "config/json_value.h"
#include "config/option_table.h"
#include "core/base/quote.h"

namespace bitsieve::config {
namespace {

void AddTemplate(const JsonValue& object, const std::string& where, size_t line, FileEntries& entries) {
  commands::TemplateEntry made{where, "", {}};
  const auto note = [&](const std::string& problem) { entries.problems.push_back({where + problem, line}); };
  if (object.kind != JsonValue::Kind::kObject) {
    return note(" must be an object, {\"pattern\": \"user:*\", \"capacity\": 1000}, not the " + Described(object));
  }
  bool has_pattern = false;
  for (const auto& [field, value] : object.members) {
    has_pattern |= field == "pattern";
    if (!value.is_text_or_number()) {
      note(", " + field + " must be text or a number, not the " + Described(value));
    } else if (field == "pattern") {
      made.pattern = value.text;
    } else {
      made.fields.emplace_back(field, value.text);
    }
  }
  if (!has_pattern) {
    note(" has no pattern, which states the names that it applies to: {\"pattern\": \"user:*\", ...}");
  }
  entries.templates.push_back(std::move(made));
}

void AddTemplates(const JsonValue& list, size_t line, FileEntries& entries) {
  if (list.kind != JsonValue::Kind::kArray) {
    entries.problems.push_back(
        {"templates must be a list, [{\"pattern\": \"user:*\", \"capacity\": 1000}], not the " + Described(list),
         line});
    return;
  }
  for (size_t i = 0; i < list.items.size(); ++i) {
    AddTemplate(list.items[i], "templates[" + std::to_string(i) + "]", line, entries);
  }
}

void AddEntry(const std::string& key, const JsonValue& value, size_t line, FileEntries& entries) {
  if (key == kTemplatesKey) return AddTemplates(value, line, entries);
  const OptionRow* row = FindOption(key);
  if (row == nullptr) {
    entries.problems.push_back({UnknownOption(key), line});
    return;
  }
  const bool is_number = value.kind == JsonValue::Kind::kNumber;
  const bool fits = value.is_text_or_number() && !(is_number && std::holds_alternative<Text>(row->domain));
  if (!fits) {
    entries.problems.push_back(
        {std::string(row->name) + " must be " + AllowedValues(*row) + ", not the " + Described(value), line});
    return;
  }
  entries.values.push_back({row, value.text, line});
}

// Returns the line of the last member of this name, which is the one that the library keeps; 0 if there is none at the
// top.
size_t LineOf(const ConfigMembers& found, std::string_view key) {
  const auto member = std::ranges::find(found.members.rbegin(), found.members.rend(), key, &ConfigMember::key);
  return member == found.members.rend() ? 0 : member->line;
}

}  // namespace

FileEntries ParseConfigText(std::string_view json) {
  FileEntries entries;
  const auto read = ReadJson(json);
  if (!read) {
    entries.problems.push_back({"not valid JSON: " + read.error()});
    return entries;
  }
  const JsonValue& object = read->value;
  if (object.kind != JsonValue::Kind::kObject) {
    entries.problems.push_back(
        {"must be a JSON object of options, {\"port\": 7379}, not the " + std::string(NameOf(object.kind))});
    return entries;
  }
  const ConfigMembers members = MembersOf(json);
  for (const std::string& key : read->repeated) {
    entries.problems.push_back({core::Quoted(key) + " is given more than once", LineOf(members, key)});
  }
  for (const auto& [key, value] : object.members) AddEntry(key, value, LineOf(members, key), entries);
  return entries;
}

std::string PlaceInFile(const std::string& path, size_t line) {
  return line == 0 ? path : path + ":" + std::to_string(line);
}

}  // namespace bitsieve::config
