// change_position.h: a place in the history of a filter's changes. Thread-safe: a plain value.
#pragma once

#include <cstdint>

namespace bitsieve::core {

// The place between a filter's changes at which a copy of it stands. Positions of different histories cannot be
// compared: each history has a random number.
struct ChangePosition {
  uint64_t history = 0;  // its number; 0: nowhere
  uint64_t changes = 0;  // hashes that it had received by then

  bool operator==(const ChangePosition&) const = default;
};

}  // namespace bitsieve::core
