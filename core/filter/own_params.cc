#include "core/filter/own_params.h"

#include <algorithm>
#include <cassert>

namespace bitsieve::core {

bool OwnParam::Allows(uint64_t value) const {
  if (!only.empty()) return std::ranges::find(only, value) != only.end();
  return value >= min && value <= max;
}

std::string OwnParam::Range() const {
  if (only.empty()) return "in the range [" + std::to_string(min) + ", " + std::to_string(max) + "]";
  std::string values;
  for (const uint64_t value : only) values.append(values.empty() ? "" : " or ").append(std::to_string(value));
  return values;
}

void OwnParams::Set(const OwnParam& param, uint64_t value) {
  OwnParams changed;
  for (const Pair& pair : pairs()) {
    if (pair.number < param.number) changed.Append(pair);
  }
  if (value != param.default_value) {
    [[maybe_unused]] const bool added = changed.Append({param.number, value});
    assert(added && "a type has at most kMaxPairs parameters");
  }
  for (const Pair& pair : pairs()) {
    if (pair.number > param.number) changed.Append(pair);
  }
  *this = changed;
}

bool OwnParams::Append(const Pair& pair) {
  const size_t used = size();
  if (used == kMaxPairs || pair.number <= (used == 0 ? 0 : pairs_[used - 1].number)) return false;
  pairs_[used] = pair;
  return true;
}

size_t OwnParams::size() const {
  size_t used = 0;
  while (used < kMaxPairs && pairs_[used].number != 0) ++used;
  return used;
}

}  // namespace bitsieve::core
