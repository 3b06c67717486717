// reseal.h: gives changed bytes a right checksum again, so that a decoder looks at their fields. Thread-safe: a pure
// function.
#pragma once

#include <string>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace bitsieve::test {

// Returns `bytes` with their last 8 bytes replaced by the checksum of those before.
inline std::string Reseal(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(uint64_t));
  core::ByteWriter(bytes).Put(core::Checksum(bytes));
  return bytes;
}

}  // namespace bitsieve::test
