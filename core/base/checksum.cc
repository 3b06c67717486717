#include "core/base/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace bitsieve::core {

uint64_t Checksum(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace bitsieve::core
