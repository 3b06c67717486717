#include "cli/client/nearest_name.h"

#include <algorithm>
#include <cstddef>

#include "core/base/edit_distance.h"

namespace bitsieve::cli {
namespace {

constexpr size_t kLongestGuessed = 256;  // the cost grows with the product of both lengths
constexpr size_t kShortName = 3;

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string> known) {
  if (name.empty() || name.size() > kLongestGuessed) return {};
  size_t most = name.size() <= kShortName ? 1 : 2;
  std::string_view nearest;
  for (const std::string& each : known) {
    const size_t longer = std::max(name.size(), each.size()), shorter = std::min(name.size(), each.size());
    if (longer - shorter > most) continue;
    const size_t distance = core::EditDistance(name, each);
    if (distance > most || (distance == most && !nearest.empty())) continue;
    nearest = each;
    most = distance;
  }
  return nearest;
}

}  // namespace bitsieve::cli
