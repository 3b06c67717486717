// quotas.h: the option quota: rows of a pattern of names, and how many filters and bytes there may be of them.
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitsieve::config {

// A new name is compared with all patterns before the one that it matches.
inline constexpr size_t kMaxQuotas = 1000;

// 0: no limit.
struct QuotaRow {
  std::string pattern;
  uint64_t filters = 0;
  uint64_t bytes = 0;
};

// "PATTERN FILTERS BYTES ...": as many words as that, with blanks between them, and no pattern twice. Nothing if it is
// anything else.
std::optional<std::vector<QuotaRow>> ParseQuotas(std::string_view text);

bool AreQuotas(const std::string& text);

}  // namespace bitsieve::config
