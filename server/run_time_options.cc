#include "server/run_time_options.h"

#include "config/option_table.h"

namespace bitsieve::server {

RunTimeOptions::RunTimeOptions(config::Options options, Check check, Apply apply)
    : check_(std::move(check)), apply_(std::move(apply)), options_(std::move(options)) {
  apply_(options_);
}

void RunTimeOptions::Tell(const Apply& user) const {
  const std::lock_guard lock(mutex_);
  user(options_);
}

std::vector<std::pair<std::string, std::string>> RunTimeOptions::Match(std::string_view glob) const {
  const std::lock_guard lock(mutex_);
  return config::MatchOptions(options_, glob);
}

core::Status RunTimeOptions::Set(std::string_view name, std::string_view value) {
  const std::lock_guard lock(mutex_);
  config::Options changed = options_;
  if (auto status = config::SetOptionAtRunTime(name, value, changed); !status) return status;
  if (auto status = check_(changed); !status) return status;
  options_ = std::move(changed);
  apply_(options_);
  return {};
}

}  // namespace bitsieve::server
