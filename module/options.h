// options.h: the options of the module, as bf.NAME of the engine's configuration and as arguments of `loadmodule`:
// those of filter commands, read off the server's option table, under their own names and RedisBloom's; and three of
// the module's own. Confined to the engine's main thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "commands/command_settings.h"
#include "commands/followed_filters.h"
#include "module/engine_api.h"

namespace bitsieve::module {

// Returns the settings of filter commands.
commands::CommandSettings& Settings();

struct ModuleSettings {
  // Memory of one filter, beyond which a client can't make it or have it grow; 0 is no limit. Relaxed: an option.
  std::atomic<uint64_t> max_filter_bytes{0};
  // A RedisBloom node may follow: new filters of its types are replicated in words that it knows.
  std::atomic<bool> for_redisbloom{false};
};
ModuleSettings& OwnSettings();
// Returns the filters that are followed, whose memory an option limits.
commands::FollowedFilters& FollowedFilters();

// False, and the reason logged, if an argument is not known or not valid.
bool RegisterOptions(engine::Context* context, engine::String** arguments, int count);

}  // namespace bitsieve::module
