#include "server/http/byte_range.h"

#include <algorithm>

#include "core/base/parse.h"

namespace bitsieve::server {
namespace {

std::optional<ByteRange> LastBytes(std::string_view digits, uint64_t total) {
  const auto count = core::ParseUnsigned(digits);
  if (!count) return std::nullopt;
  return ByteRange{total - std::min(*count, total), total};
}

}  // namespace

std::optional<ByteRange> ParseByteRange(std::string_view text, uint64_t total) {
  constexpr std::string_view kUnit = "bytes=";
  if (!core::EqualsIgnoringCase(text.substr(0, kUnit.size()), kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t hyphen = text.find('-');
  if (hyphen == std::string_view::npos) return std::nullopt;
  const std::string_view last_digits = text.substr(hyphen + 1);
  if (hyphen == 0) return LastBytes(last_digits, total);
  const auto first = core::ParseUnsigned(text.substr(0, hyphen));
  const auto last = last_digits.empty() ? std::optional(UINT64_MAX) : core::ParseUnsigned(last_digits);
  if (!first || !last || *last < *first) return std::nullopt;
  const uint64_t end = *last < total ? *last + 1 : total;
  return ByteRange{std::min(*first, end), end};
}

}  // namespace bitsieve::server
