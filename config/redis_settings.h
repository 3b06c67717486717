// redis_settings.h: settings that clients of Redis read and that are no options here. Each has one value, which follows
// from the options; setting it to that value is accepted, to any other refused. Thread-safe: a constant table.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/options.h"

namespace bitsieve::config {

struct RedisSetting {
  std::string_view name;
  std::string (*value)(const Options& options);
  std::string_view reason;  // why it has no other value, or what to set instead
};

std::span<const RedisSetting> RedisSettings();

// Null if there is none of this name, which is in lower case.
const RedisSetting* FindRedisSetting(std::string_view name);

}  // namespace bitsieve::config
