#include "config/loader.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "config/config_file.h"
#include "config/option_table.h"
#include "config/text_file.h"
#include "core/base/quote.h"

namespace bitsieve::config {
namespace {

constexpr std::string_view kPrefix = "BITSIEVE_";

class Loader {
 public:
  Loader() : origins_(OptionTable().size(), std::string(kDefaultOrigin)) {}

  void ApplyFile(const std::string& path) {
    const auto text = ReadTextFile(path, kMaxConfigFileBytes);
    if (!text) {
      problems_.push_back(text.error().message);
      return;
    }
    const FileEntries entries = ParseConfigText(*text);
    for (const FileProblem& each : entries.problems) {
      problems_.push_back(PlaceInFile(path, each.line) + ": " + each.text);
    }
    for (const FileValue& each : entries.values) Apply(*each.row, each.text, path, PlaceInFile(path, each.line));
    options_.templates = entries.templates;
    for (commands::TemplateEntry& each : options_.templates) each.where = path + ": " + each.where;
  }

  void ApplyVariable(const std::string& name, const std::string& value) {
    if (!name.starts_with(kPrefix) || name == kFileVariable) return;
    const auto rows = OptionTable();
    const auto row = std::ranges::find(rows, name, VariableName);
    if (row == rows.end()) {
      problems_.push_back(name + ": " + UnknownVariable(name) + KubernetesHint(name, value));
    } else {
      Apply(*row, value, name, name);
    }
  }

  void ApplyFlag(const OptionRow& row, const std::string& value) {
    const std::string flag = "--" + std::string(row.name);
    Apply(row, value, flag, flag);
  }

  core::Outcome<Configuration, Problems> Finish() {
    if (const core::Status status = CheckTogether(options_); !status) problems_.push_back(status.error().message);
    if (!problems_.empty()) return tl::unexpected(std::move(problems_));
    return Configuration{std::move(options_), std::move(origins_)};
  }

 private:
  void Apply(const OptionRow& row, const std::string& value, const std::string& origin, const std::string& place) {
    const core::Status status = SetOption(row, value, options_);
    if (!status) {
      problems_.push_back(place + ": " + status.error().message + KubernetesHint(origin, value));
      return;
    }
    origins_[static_cast<size_t>(&row - OptionTable().data())] = origin;
  }

  // Kubernetes gives each pod variables of every service; for a service named "bitsieve" they look like ours.
  static std::string KubernetesHint(std::string_view name, std::string_view value) {
    const bool is_variable = name.starts_with(kPrefix);
    const bool of_service = name.starts_with("BITSIEVE_SERVICE_") || name.starts_with("BITSIEVE_PORT_");
    if (!is_variable || !(of_service || value.starts_with("tcp://"))) return "";
    return " (Kubernetes sets it for a service named bitsieve: set enableServiceLinks to false in the pod)";
  }

  static std::string UnknownVariable(std::string_view name) {
    std::string option(name.substr(kPrefix.size()));
    std::ranges::replace(option, '_', '-');
    return UnknownOption(option);
  }

  Options options_;
  std::vector<std::string> origins_;
  Problems problems_;
};

// A number as one, if JSON has it so.
nlohmann::ordered_json ValueOf(const std::string& text) {
  if (!nlohmann::json::accept(text)) return text;
  nlohmann::ordered_json value = nlohmann::ordered_json::parse(text);
  return value.is_number() && value.dump() == text ? value : nlohmann::ordered_json(text);
}

nlohmann::ordered_json TemplatesOf(const Options& options) {
  auto list = nlohmann::ordered_json::array();
  for (const commands::TemplateEntry& each : options.templates) {
    nlohmann::ordered_json object{{"pattern", each.pattern}};
    for (const auto& [field, value] : each.fields) object[field] = ValueOf(value);
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

std::string FileOf(const Sources& sources) {
  if (!sources.file.empty()) return sources.file;
  for (const auto& [name, value] : sources.environment) {
    if (name == kFileVariable) return value;
  }
  return "";
}

core::Outcome<Configuration, Problems> Load(const Sources& sources) {
  Loader loader;
  const std::string file = FileOf(sources);
  if (!file.empty()) loader.ApplyFile(file);
  for (const auto& [name, value] : sources.environment) loader.ApplyVariable(name, value);
  for (const auto& [row, value] : sources.flags) loader.ApplyFlag(*row, value);
  return loader.Finish();
}

std::vector<std::pair<std::string, std::string>> ProcessEnvironment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string ToJson(const Options& options) {
  nlohmann::ordered_json object;
  for (const OptionRow& row : OptionTable()) {
    const std::string text = OptionReadableText(row, options);
    const std::string name(row.name);
    if (IsJsonNumber(row, text)) {
      object[name] = nlohmann::ordered_json::parse(text);
    } else {
      object[name] = text;
    }
  }
  object[std::string(kTemplatesKey)] = TemplatesOf(options);
  // A path may contain bytes that are not UTF-8, which JSON cannot represent.
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace bitsieve::config
