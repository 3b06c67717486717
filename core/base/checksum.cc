#include "core/base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bitsieve::core {

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct RunningChecksum::State {
  XXH3_state_t xxh;
};

RunningChecksum::RunningChecksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
RunningChecksum::RunningChecksum(RunningChecksum&&) noexcept = default;
RunningChecksum::~RunningChecksum() = default;

void RunningChecksum::Add(std::string_view bytes) { XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size()); }
uint64_t RunningChecksum::Value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace bitsieve::core
