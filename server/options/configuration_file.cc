#include "server/options/configuration_file.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "commands/filter_templates.h"
#include "config/config_file.h"
#include "config/config_members.h"
#include "config/text_file.h"

namespace bitsieve::server {

using namespace commands;

namespace {

std::string Shown(const std::string& value) { return value.empty() ? "\"\"" : value; }

}  // namespace

void ConfigurationFile::Reload() {
  auto loaded = config::Load(sources_);
  if (!loaded) return Refuse(loaded.error());
  const config::Options configured = resolve_(std::move(loaded->options));
  auto templates = FilterTemplates::Make(configured.templates);
  if (!templates) return Refuse(templates.error());
  const auto reloaded = options_.Reload(configured);
  if (!reloaded) return Refuse({reloaded.error()});
  if (reloaded->templates) settings_.templates.Set(std::move(*templates));
  for (const OptionChange& change : reloaded->applied) {
    spdlog::info("Configuration: {} is now {}, it was {}", change.row->name, Shown(change.to), Shown(change.from));
  }
  if (reloaded->templates) spdlog::info("Configuration: the templates were replaced");
  for (const OptionChange& change : reloaded->at_restart) {
    spdlog::warn("Configuration: {} stays {} until the server is restarted, and will then be {}", change.row->name,
                 Shown(change.from), Shown(change.to));
  }
}

void ConfigurationFile::Refuse(const config::Problems& problems) const {
  for (const std::string& problem : problems) spdlog::error("Configuration: {}", problem);
  spdlog::error("Configuration: not reloaded, all values are unchanged");
}

core::Status ConfigurationFile::Rewrite() {
  const std::string path = config::FileOf(sources_);
  if (path.empty()) {
    return core::Fail(core::ErrorCode::kInvalidArgument, "The server is running without a config file");
  }
  const auto invalid = [&path](const std::string& reason) {
    return core::Fail(core::ErrorCode::kInvalidArgument, "Rewriting config file: " + path + ": " + reason);
  };
  const RunTimeOptions::SetAtRunTime changed = options_.ChangedSinceConfigured();
  const auto text = config::ReadTextFile(path, config::kMaxConfigFileBytes);
  if (!text) return core::Fail(text.error().code, "Rewriting config file: " + text.error().message);
  const auto rewritten = config::WithValues(*text, changed.rows, changed.options);
  if (!rewritten) return invalid(rewritten.error());
  if (*rewritten != *text) {
    if (const core::Status done = config::ReplaceTextFile(path, *rewritten); !done) {
      return core::Fail(done.error().code, "Rewriting config file: " + done.error().message);
    }
  }
  options_.SetConfigured(changed);
  spdlog::info("{} now has the values in use: {} set at run time", path, changed.rows.size());
  WarnOfOverridden(changed);
  return {};
}

// A start with the same environment and flags would read other values than those that were set.
void ConfigurationFile::WarnOfOverridden(const RunTimeOptions::SetAtRunTime& written) const {
  const auto loaded = config::Load(sources_);
  if (!loaded) return;
  const config::Options configured = resolve_(loaded->options);
  for (const config::OptionRow* const row : written.rows) {
    if (config::IsSame(*row, configured, written.options)) continue;
    const std::string& origin = loaded->origins[static_cast<size_t>(row - config::OptionTable().data())];
    spdlog::warn("Configuration: {} will be {} at the next start despite the file, because of {}", row->name,
                 Shown(config::OptionReadableText(*row, configured)), origin);
  }
}

}  // namespace bitsieve::server
