// run_time_options.h: the option values of the running server, and how a change of one reaches the part that applies
// it: what can fail is made ready first, so that a change is made as a whole or not at all. Thread-safe.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_table.h"
#include "config/options.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace bitsieve::server {

// A change of one option, with the values as people write them.
struct OptionChange {
  const config::OptionRow* row;
  std::string from;
  std::string to;
};

class RunTimeOptions {
 public:
  using Use = std::function<void(const config::Options& options)>;
  // The parts of a change, each once. An option that is set to the value it has counts: its file may be another.
  using Parts = std::span<const config::AppliedBy>;
  // Makes ready what the parts need to take up the values, and changes nothing. Returns what commits the change, or
  // kInvalidArgument with the reason why the system cannot do what the values say. Both are called with the lock held,
  // so that the last change is the last applied.
  using Prepare = std::function<core::Result<Use>(const config::Options& options, Parts parts)>;

  // `options` are what the configuration gave, and already applied.
  RunTimeOptions(config::Options options, Prepare prepare);

  // Passes the values to a part that is created later; no change can happen during the call.
  void Read(const Use& use) const;
  // See config::MatchOptions.
  std::vector<std::pair<std::string, std::string>> Match(std::string_view glob) const;
  // Sets the options by config::SetOptionsAtRunTime, unless Prepare refuses them. No other change comes in between.
  core::Outcome<void, config::RefusedPair> Set(std::span<const config::NameAndText> pairs);

  // The changes that another reading of the configuration made.
  struct Reloaded {
    std::vector<OptionChange> applied;
    std::vector<OptionChange> at_restart;  // the value in use stays
    bool templates = false;                // they changed
  };
  // Applies what the configuration gives now, for options that it gave another value before: so what was set at run
  // time stays, unless the configuration was changed for that option as well. All of it, or nothing and the reason.
  core::Outcome<Reloaded> Reload(const config::Options& configured);
  // The options whose values are not those of the configuration, and all values in use.
  struct SetAtRunTime {
    std::vector<const config::OptionRow*> rows;
    config::Options options;
  };
  SetAtRunTime ChangedSinceConfigured() const;
  // The configuration gives these values from now on.
  void SetConfigured(const SetAtRunTime& written);

 private:
  const Prepare prepare_;
  mutable core::Mutex mutex_;
  config::Options options_ BITSIEVE_GUARDED_BY(mutex_);
  config::Options configured_ BITSIEVE_GUARDED_BY(mutex_);  // of options that are read at start only, as they were then
};

}  // namespace bitsieve::server
