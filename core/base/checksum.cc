#include "core/base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(BITSIEVE_X86_KERNELS)
#include "core/base/checksum_avx512.h"
#endif

namespace bitsieve::core {

namespace {

#if defined(BITSIEVE_X86_KERNELS)
bool HasAvx512() { return __builtin_cpu_supports("avx512f"); }
#endif

}  // namespace

uint64_t Checksum(std::string_view bytes) {
#if defined(BITSIEVE_X86_KERNELS)
  if (HasAvx512()) return ChecksumAvx512(bytes.data(), bytes.size());
#endif
  return XXH3_64bits(bytes.data(), bytes.size());
}

struct RunningChecksum::State {
  XXH3_state_t xxh;
};

RunningChecksum::RunningChecksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
RunningChecksum::RunningChecksum(RunningChecksum&&) noexcept = default;
RunningChecksum::~RunningChecksum() = default;

void RunningChecksum::Add(std::string_view bytes) {
#if defined(BITSIEVE_X86_KERNELS)
  if (HasAvx512()) return AddToChecksumAvx512(&state_->xxh, bytes.data(), bytes.size());
#endif
  XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size());
}

uint64_t RunningChecksum::Value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace bitsieve::core
