// server_identity.h: what the server calls itself on the wire. Thread-safe: constants.
#pragma once

#include <cstdint>
#include <string_view>

namespace bitsieve::server {

inline constexpr std::string_view kServerName = "bitsieve";
inline constexpr std::string_view kServerVersion = BITSIEVE_VERSION;
// The Redis whose commands and replies are followed; clients choose features by it.
inline constexpr std::string_view kRedisVersion = "7.4.0";
// The RedisBloom whose commands and replies are followed: 2.8.12.
inline constexpr std::string_view kModuleName = "bf";
inline constexpr int64_t kModuleVersion = 20812;

}  // namespace bitsieve::server
