// quick_add.h: the outcome of adding one item in the quick way, which declines all that is not simple.
// Thread-safe: a plain value.
#pragma once

#include <cstdint>

namespace bitsieve::core {

enum class QuickAdd : uint8_t {
  kPresent,   // probably there before
  kAdded,     // new
  kDeclined,  // nothing was done: the item has to be added in the general way
};

}  // namespace bitsieve::core
