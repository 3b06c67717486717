#include "core/filter/shared_options.h"

namespace bitsieve::core {

Status ReadHash(std::string_view text, FilterParams& params) {
  constexpr size_t kMaxQuotedBytes = 128;
  const std::optional<HashKind> hash = HashKindFromName(text);
  if (!hash) {
    return OutOfRange("unknown hash '" + std::string(text.substr(0, kMaxQuotedBytes)) +
                      "', must be one of: " + std::string(HashKindNames()));
  }
  params.hash = *hash;
  return {};
}

}  // namespace bitsieve::core
