// module_identity.h: the module that clients look for, by its name and version, before they use BF.* and CF.*: the
// RedisBloom whose commands and replies are followed, 2.8.12. Thread-safe: constants.
#pragma once

#include <cstdint>
#include <string_view>

namespace bitsieve::commands {

inline constexpr std::string_view kModuleName = "bf";
inline constexpr int64_t kModuleVersion = 20812;

}  // namespace bitsieve::commands
