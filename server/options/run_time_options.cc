#include "server/options/run_time_options.h"

#include <algorithm>

namespace bitsieve::server {
namespace {

bool HasSameTemplates(const config::Options& a, const config::Options& b) {
  return std::ranges::equal(a.templates, b.templates,
                            [](const config::FilterTemplate& one, const config::FilterTemplate& other) {
                              return one.pattern == other.pattern && one.fields == other.fields;
                            });
}

// Those that are options of the table, by their own names.
std::vector<const config::OptionRow*> RowsOf(std::span<const config::NameAndText> pairs) {
  std::vector<const config::OptionRow*> rows;
  for (const auto& [name, text] : pairs) {
    if (const config::OptionRow* const row = config::FindOption(name); row != nullptr) rows.push_back(row);
  }
  return rows;
}

std::vector<const config::OptionRow*> RowsOf(const std::vector<OptionChange>& changes) {
  std::vector<const config::OptionRow*> rows;
  for (const OptionChange& change : changes) rows.push_back(change.row);
  return rows;
}

}  // namespace

RunTimeOptions::RunTimeOptions(config::Options options, Check check, Apply apply)
    : check_(std::move(check)), apply_(std::move(apply)), options_(std::move(options)), configured_(options_) {
  apply_(options_);
}

void RunTimeOptions::Notify(const Apply& user) const {
  const core::LockGuard lock(mutex_);
  user(options_);
}

std::vector<std::pair<std::string, std::string>> RunTimeOptions::Match(std::string_view glob) const {
  const core::LockGuard lock(mutex_);
  return config::MatchOptions(options_, glob);
}

tl::expected<void, config::RefusedPair> RunTimeOptions::Set(std::span<const config::NameAndText> pairs) {
  const core::LockGuard lock(mutex_);
  config::Options changed = options_;
  if (auto done = config::SetOptionsAtRunTime(pairs, changed); !done) return done;
  if (const core::Status status = check_(changed, RowsOf(pairs)); !status) {
    return tl::unexpected(config::RefusedPair{pairs.size() - 1, status.error().message});
  }
  options_ = std::move(changed);
  apply_(options_);
  return {};
}

tl::expected<RunTimeOptions::Reloaded, std::string> RunTimeOptions::Reload(const config::Options& configured) {
  const core::LockGuard lock(mutex_);
  Reloaded reloaded;
  config::Options changed = options_;
  config::Options now_configured = configured_;
  for (const config::OptionRow& row : config::OptionTable()) {
    if (config::IsSame(row, configured, configured_)) continue;
    OptionChange change{&row, config::OptionReadableText(row, options_), config::OptionReadableText(row, configured)};
    if (!row.at_run_time) {
      reloaded.at_restart.push_back(std::move(change));
      continue;
    }
    config::CopyValue(row, configured, now_configured);
    config::CopyValue(row, configured, changed);
    if (!config::IsSame(row, changed, options_)) reloaded.applied.push_back(std::move(change));
  }
  core::Status status = config::CheckTogether(changed);
  if (status && !reloaded.applied.empty()) status = check_(changed, RowsOf(reloaded.applied));
  if (!status) return tl::unexpected(std::move(status.error().message));
  reloaded.templates = !HasSameTemplates(configured, configured_);
  now_configured.templates = changed.templates = configured.templates;
  options_ = std::move(changed);
  configured_ = std::move(now_configured);
  if (!reloaded.applied.empty()) apply_(options_);
  return reloaded;
}

RunTimeOptions::SetAtRunTime RunTimeOptions::ChangedSinceConfigured() const {
  const core::LockGuard lock(mutex_);
  SetAtRunTime changed{{}, options_};
  for (const config::OptionRow& row : config::OptionTable()) {
    if (!config::IsSame(row, options_, configured_)) changed.rows.push_back(&row);
  }
  return changed;
}

void RunTimeOptions::NoteConfigured(const SetAtRunTime& written) {
  const core::LockGuard lock(mutex_);
  for (const config::OptionRow* const row : written.rows) config::CopyValue(*row, written.options, configured_);
}

}  // namespace bitsieve::server
