// run_time_options.h: the option values of the running server, and how a change of one reaches its users. Thread-safe.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "config/option_table.h"
#include "config/options.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace bitsieve::server {

class RunTimeOptions {
 public:
  // Brings the values to their users. Called with the lock held, so that the last change is the last applied.
  using Apply = std::function<void(const config::Options& options)>;
  // Whether the system can do what the values ask for; kInvalidArgument with the reason if not.
  using Check = std::function<core::Status(const config::Options& options)>;

  RunTimeOptions(config::Options options, Check check, Apply apply);

  // Passes the values to a user that is created later; no change can happen during the call.
  void Notify(const Apply& user) const;
  // As in config::MatchOptions.
  std::vector<std::pair<std::string, std::string>> Match(std::string_view glob) const;
  // As in config::SetOptionsAtRunTime, and the outcome of Check. No other change comes in between.
  tl::expected<void, config::RefusedPair> Set(std::span<const config::NameAndText> pairs);

 private:
  const Check check_;
  const Apply apply_;
  mutable core::Mutex mutex_;
  config::Options options_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
