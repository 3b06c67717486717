#include "config/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "config/option_table.h"
#include "config/quote.h"

namespace bitsieve::config {
namespace {

using Json = nlohmann::ordered_json;

// The library keeps the last of equal keys; to us they are a mistake, so they are counted on the way.
class KeyWatch {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) keys_.push_back(parsed.get<std::string>());
    return true;
  }
  std::vector<std::string> Repeated() {
    std::ranges::sort(keys_);
    std::vector<std::string> repeated;
    for (size_t i = 1; i < keys_.size(); ++i) {
      const bool seen = !repeated.empty() && repeated.back() == keys_[i];
      if (keys_[i] == keys_[i - 1] && !seen) repeated.push_back(keys_[i]);
    }
    return repeated;
  }

 private:
  std::vector<std::string> keys_;
};

void AddEntry(const std::string& key, const Json& value, FileEntries& entries) {
  const OptionRow* row = FindOption(key);
  if (row == nullptr) {
    entries.problems.push_back(UnknownOption(key));
    return;
  }
  const bool fits = value.is_string() || (value.is_number() && !std::holds_alternative<Text>(row->domain));
  if (!fits) {
    entries.problems.push_back(std::string(row->name) + " must be " + AllowedValues(*row) + ", not the " +
                               (value.is_structured() ? value.type_name() : value.type_name() + (" " + value.dump())));
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
  for (const std::string& key : watch.Repeated()) entries.problems.push_back(Quoted(key) + " is there more than once");
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
