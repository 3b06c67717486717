#include "config/config_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

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

void AddTemplate(const Json& object, const std::string& where, FileEntries& entries) {
  FilterTemplate made{where, "", {}};
  if (!object.is_object()) {
    entries.problems.push_back(where + " must be an object, {\"pattern\": \"user:*\", \"capacity\": 1000}, not the " +
                               Described(object));
    return;
  }
  for (const auto& [field, value] : object.items()) {
    if (!value.is_string() && !value.is_number()) {
      entries.problems.push_back(where + ", " + field + " must be text or a number, not the " + Described(value));
    } else if (field == "pattern") {
      made.pattern = value.is_string() ? value.get<std::string>() : value.dump();
    } else {
      made.fields.emplace_back(field, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  if (!object.contains("pattern")) {
    entries.problems.push_back(where +
                               " has no pattern, which says what names it is for: {\"pattern\": \"user:*\", ...}");
  }
  entries.templates.push_back(std::move(made));
}

void AddTemplates(const Json& list, FileEntries& entries) {
  if (!list.is_array()) {
    entries.problems.push_back("templates must be a list, [{\"pattern\": \"user:*\", \"capacity\": 1000}], not the " +
                               Described(list));
    return;
  }
  for (size_t i = 0; i < list.size(); ++i) AddTemplate(list[i], "templates[" + std::to_string(i) + "]", entries);
}

void AddEntry(const std::string& key, const Json& value, FileEntries& entries) {
  if (key == kTemplatesKey) return AddTemplates(value, entries);
  const OptionRow* row = FindOption(key);
  if (row == nullptr) {
    entries.problems.push_back(UnknownOption(key));
    return;
  }
  const bool fits = value.is_string() || (value.is_number() && !std::holds_alternative<Text>(row->domain));
  if (!fits) {
    entries.problems.push_back(std::string(row->name) + " must be " + AllowedValues(*row) + ", not the " +
                               Described(value));
    return;
  }
  entries.values.emplace_back(row, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

FileEntries ParseConfigText(std::string_view json) {
  FileEntries entries;
  KeyWatch watch;
  Json object;
  try {
    object = Json::parse(json, std::ref(watch), /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const Json::parse_error& error) {
    const std::string_view text = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    entries.problems.emplace_back("not valid JSON: " + std::string(text.substr(text.find("] ") + 2)));
    return entries;
  }
  if (!object.is_object()) {
    entries.problems.push_back(std::string("must be a JSON object of options, {\"port\": 7379}, not the ") +
                               object.type_name());
    return entries;
  }
  for (const std::string& key : watch.repeated())
    entries.problems.push_back(core::Quoted(key) + " is there more than once");
  for (const auto& [key, value] : object.items()) AddEntry(key, value, entries);
  return entries;
}

tl::expected<std::string, std::string> ReadConfigFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxConfigFileBytes + 1, '\0');
  if (!file || !(file.read(text.data(), static_cast<std::streamsize>(text.size())) || file.eof())) {
    return tl::unexpected("cannot be read: " + std::string(std::strerror(errno)));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > kMaxConfigFileBytes) return tl::unexpected<std::string>("is larger than 1mb");
  return text;
}

}  // namespace bitsieve::config
