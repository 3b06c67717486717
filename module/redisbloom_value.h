// redisbloom_value.h: reads the values that RedisBloom wrote into RDB files, full syncs and DUMP payloads: encoding
// versions 0 to 4 of MBbloom-- and MBbloomCF. docs/formats/module.md has their fields. They load as the types
// redisbloom and rediscuckoo, byte for byte. Everything in them is hostile until the core's decoders have taken it:
// sizes are checked, numbers of items are not, since RedisBloom's own may be wrong. On the engine's main thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "module/engine_api.h"
#include "module/filter_value.h"

namespace bitsieve::module {

inline constexpr int kNewestRedisBloomVersion = 4;

// A string of a value. Empty after an error, of which the engine knows.
struct LoadedBytes {
  std::unique_ptr<char, void (*)(void*)> memory{nullptr, nullptr};
  size_t size = 0;

  std::string_view view() const { return {memory.get(), size}; }
};
LoadedBytes LoadBytes(engine::Io* io);

core::Result<FilterPtr> LoadRedisBloom(engine::Io* io, int version);
// kUnsupported below version 4: those fingerprints come from another hash.
core::Result<FilterPtr> LoadRedisCuckoo(engine::Io* io, int version);

}  // namespace bitsieve::module
