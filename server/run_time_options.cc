#include "server/run_time_options.h"

namespace bitsieve::server {

RunTimeOptions::RunTimeOptions(config::Options options, Check check, Apply apply)
    : check_(std::move(check)), apply_(std::move(apply)), options_(std::move(options)) {
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
  if (const core::Status status = check_(changed); !status) {
    return tl::unexpected(config::RefusedPair{pairs.size() - 1, status.error().message});
  }
  options_ = std::move(changed);
  apply_(options_);
  return {};
}

}  // namespace bitsieve::server
