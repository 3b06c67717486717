// nearest_name.h: what was meant by a name that is unknown. Thread-safe: a pure function.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bitsieve::cli {

// Returns the most similar of the known names, empty if none is similar: of up to three bytes one may differ, of longer
// names two.
std::string_view NearestName(std::string_view name, std::span<const std::string> known);

}  // namespace bitsieve::cli
