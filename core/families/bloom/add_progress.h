// add_progress.h: what an addition of several hashes to a sub-filter did. Thread-safe: a plain value.
// It is returned as it is by every function that has it from another one: copying a struct that was just written word
// by word makes the processor wait until all that was loaded before has arrived (core/hash/key_hash.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace bitsieve::core {

struct AddProgress {
  size_t done;        // hashes dealt with
  uint64_t added;     // of them, new
  uint64_t bits_set;  // bits that were clear before
};

}  // namespace bitsieve::core
