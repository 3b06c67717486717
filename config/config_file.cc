#include "config/config_file.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "config/config_members.h"
#include "config/option_table.h"
#include "core/base/quote.h"

namespace bitsieve::config {
namespace {

using Json = nlohmann::ordered_json;

// The library keeps the last of equal keys; to us they are a mistake, so they are counted on the way.
class KeyWatch {
 public:
  bool operator()(int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) objects_.emplace_back();
    if (event == Json::parse_event_t::object_end) objects_.pop_back();
    if (event == Json::parse_event_t::key) {
      auto key = parsed.get<std::string>();
      if (++objects_.back()[key] == 2) repeated_.push_back(std::move(key));
    }
    return true;
  }
  // Each once for an object that has it more than once.
  const std::vector<std::string>& repeated() const { return repeated_; }

 private:
  std::vector<std::map<std::string, int>> objects_;  // those that are open, outermost first: how often a key was there
  std::vector<std::string> repeated_;
};

std::string Described(const Json& value) {
  return value.is_structured() ? value.type_name() : value.type_name() + (" " + value.dump());
}

void AddTemplate(const Json& object, const std::string& where, size_t line, FileEntries& entries) {
  FilterTemplate made{where, "", {}};
  const auto note = [&](const std::string& problem) { entries.problems.push_back({where + problem, line}); };
  if (!object.is_object()) {
    return note(" must be an object, {\"pattern\": \"user:*\", \"capacity\": 1000}, not the " + Described(object));
  }
  for (const auto& [field, value] : object.items()) {
    if (!value.is_string() && !value.is_number()) {
      note(", " + field + " must be text or a number, not the " + Described(value));
    } else if (field == "pattern") {
      made.pattern = value.is_string() ? value.get<std::string>() : value.dump();
    } else {
      made.fields.emplace_back(field, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  if (!object.contains("pattern")) {
    note(" has no pattern, which says what names it is for: {\"pattern\": \"user:*\", ...}");
  }
  entries.templates.push_back(std::move(made));
}

void AddTemplates(const Json& list, size_t line, FileEntries& entries) {
  if (!list.is_array()) {
    entries.problems.push_back(
        {"templates must be a list, [{\"pattern\": \"user:*\", \"capacity\": 1000}], not the " + Described(list),
         line});
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) AddTemplate(list[i], "templates[" + std::to_string(i) + "]", line, entries);
}

void AddEntry(const std::string& key, const Json& value, size_t line, FileEntries& entries) {
  if (key == kTemplatesKey) return AddTemplates(value, line, entries);
  const OptionRow* row = FindOption(key);
  if (row == nullptr) {
    entries.problems.push_back({UnknownOption(key), line});
    return;
  }
  const bool fits = value.is_string() || (value.is_number() && !std::holds_alternative<Text>(row->domain));
  if (!fits) {
    entries.problems.push_back(
        {std::string(row->name) + " must be " + AllowedValues(*row) + ", not the " + Described(value), line});
    return;
  }
  entries.values.push_back({row, value.is_string() ? value.get<std::string>() : value.dump(), line});
}

// Of the last member of this name, which is the one that the library keeps; 0 if there is none at the top.
size_t LineOf(const ConfigMembers& found, std::string_view key) {
  const auto member = std::ranges::find(found.members.rbegin(), found.members.rend(), key, &ConfigMember::key);
  return member == found.members.rend() ? 0 : member->line;
}

}  // namespace

FileEntries ParseConfigText(std::string_view json) {
  FileEntries entries;
  KeyWatch watch;
  Json object;
  try {
    object = Json::parse(json, std::ref(watch), /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::exception& error) {       // of the syntax, or a number that is too large
    const std::string_view text = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    entries.problems.push_back({"not valid JSON: " + std::string(text.substr(text.find("] ") + 2))});
    return entries;
  }
  if (!object.is_object()) {
    entries.problems.push_back(
        {std::string("must be a JSON object of options, {\"port\": 7379}, not the ") + object.type_name()});
    return entries;
  }
  const ConfigMembers members = MembersOf(json);
  for (const std::string& key : watch.repeated()) {
    entries.problems.push_back({core::Quoted(key) + " is there more than once", LineOf(members, key)});
  }
  for (const auto& [key, value] : object.items()) AddEntry(key, value, LineOf(members, key), entries);
  return entries;
}

std::string PlaceInFile(const std::string& path, size_t line) {
  return line == 0 ? path : path + ":" + std::to_string(line);
}

}  // namespace bitsieve::config
