#include "config/redis_settings.h"

#include <algorithm>

namespace bitsieve::config {
namespace {

// Returns save-interval as Redis writes it: a snapshot after this many seconds if there was at least one change.
std::string SaveRule(const Options& options) {
  return options.save_interval == 0 ? "" : std::to_string(options.save_interval) + " 1";
}

constexpr RedisSetting kSettings[] = {
    {"databases", [](const Options&) -> std::string { return "1"; }, "there is one database"},
    {"maxmemory-policy", [](const Options&) -> std::string { return "noeviction"; },
     "filters are not evicted; commands that need more memory than maxmemory are refused"},
    {"save", SaveRule, "set save-interval instead"},
};

}  // namespace

std::span<const RedisSetting> RedisSettings() { return kSettings; }

const RedisSetting* FindRedisSetting(std::string_view name) {
  const auto* const found = std::ranges::find(kSettings, name, &RedisSetting::name);
  return found == std::end(kSettings) ? nullptr : found;
}

}  // namespace bitsieve::config
