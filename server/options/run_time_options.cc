#include "server/options/run_time_options.h"

#include <algorithm>

namespace bitsieve::server {
namespace {

bool HasSameTemplates(const config::Options& a, const config::Options& b) {
  return std::ranges::equal(a.templates, b.templates,
                            [](const commands::TemplateEntry& one, const commands::TemplateEntry& other) {
                              return one.pattern == other.pattern && one.fields == other.fields;
                            });
}

void Include(config::AppliedBy part, std::vector<config::AppliedBy>& parts) {
  if (std::ranges::count(parts, part) == 0) parts.push_back(part);
}

// Settings of Redis, which are no options of the table, belong to none.
std::vector<config::AppliedBy> PartsOf(std::span<const config::NameAndText> pairs) {
  std::vector<config::AppliedBy> parts;
  for (const auto& [name, text] : pairs) {
    if (const config::OptionRow* const row = config::FindOptionAtRunTime(name)) Include(row->applied_by, parts);
  }
  return parts;
}

std::vector<config::AppliedBy> PartsOf(const std::vector<OptionChange>& changes) {
  std::vector<config::AppliedBy> parts;
  for (const OptionChange& change : changes) Include(change.row->applied_by, parts);
  return parts;
}

}  // namespace

RunTimeOptions::RunTimeOptions(config::Options options, Prepare prepare)
    : prepare_(std::move(prepare)), options_(std::move(options)), configured_(options_) {}

void RunTimeOptions::Read(const Use& use) const {
  const core::LockGuard lock(mutex_);
  use(options_);
}

std::vector<std::pair<std::string, std::string>> RunTimeOptions::Match(std::string_view glob) const {
  const core::LockGuard lock(mutex_);
  return config::MatchOptions(options_, glob);
}

core::Outcome<void, config::RefusedPair> RunTimeOptions::Set(std::span<const config::NameAndText> pairs) {
  const core::LockGuard lock(mutex_);
  config::Options changed = options_;
  if (auto done = config::SetOptionsAtRunTime(pairs, changed); !done) return done;
  const core::Result<Use> commit = prepare_(changed, PartsOf(pairs));
  if (!commit) return tl::unexpected(config::RefusedPair{pairs.size() - 1, commit.error().message});
  options_ = std::move(changed);
  (*commit)(options_);
  return {};
}

core::Outcome<RunTimeOptions::Reloaded> RunTimeOptions::Reload(const config::Options& configured) {
  const core::LockGuard lock(mutex_);
  Reloaded reloaded;
  config::Options changed = options_;
  config::Options now_configured = configured_;
  for (const config::OptionRow& row : config::OptionTable()) {
    if (config::IsSame(row, configured, configured_)) continue;
    OptionChange change{&row, config::OptionReadableText(row, options_), config::OptionReadableText(row, configured)};
    if (!row.at_run_time()) {
      reloaded.at_restart.push_back(std::move(change));
      continue;
    }
    config::CopyValue(row, configured, now_configured);
    config::CopyValue(row, configured, changed);
    if (!config::IsSame(row, changed, options_)) reloaded.applied.push_back(std::move(change));
  }
  if (core::Status status = config::CheckTogether(changed); !status) {
    return tl::unexpected(std::move(status.error().message));
  }
  core::Result<Use> commit = prepare_(changed, PartsOf(reloaded.applied));
  if (!commit) return tl::unexpected(std::move(commit.error().message));
  reloaded.templates = !HasSameTemplates(configured, configured_);
  now_configured.templates = changed.templates = configured.templates;
  options_ = std::move(changed);
  configured_ = std::move(now_configured);
  (*commit)(options_);
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

void RunTimeOptions::SetConfigured(const SetAtRunTime& written) {
  const core::LockGuard lock(mutex_);
  for (const config::OptionRow* const row : written.rows) config::CopyValue(*row, written.options, configured_);
}

}  // namespace bitsieve::server
