// error_rates.h: the range of error rates in words, for every error, option and page that states it. Its numbers are
// kMinErrorRate and kMaxErrorRate. Thread-safe: a constant.
#pragma once

#include <string_view>

namespace bitsieve::core {

inline constexpr std::string_view kErrorRates = "from 1e-9 to 0.25, or a larger one below 1, which is taken as 0.25";

}  // namespace bitsieve::core
