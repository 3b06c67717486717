// dump_check.h: the bytes of a dump (docs/formats/dump.md), checked as they go by, without a filter being made of them.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/checksum.h"

namespace bitsieve::core {

class DumpCheck {
 public:
  void Add(std::string_view bytes);

  // Returns 0 before the head has been read, and for bytes that are not a dump.
  uint64_t total_bytes() const { return total_bytes_; }
  // Returns what is wrong if these were all bytes; empty if nothing is.
  std::string Problem() const;
  // Returns whether a single newline follows the dump, as redis-cli --raw adds one. It is not a problem.
  bool has_newline() const { return extra_bytes_ == 1 && last_ == '\n'; }

 private:
  std::string_view TakeHead(std::string_view bytes);

  std::string head_;  // the first bytes, until they are enough to know the total
  std::string tail_;  // the checksum that the dump has
  uint64_t total_bytes_ = 0;
  uint64_t position_ = 0;
  uint64_t extra_bytes_ = 0;
  char last_ = 0;
  RunningChecksum checksum_;
};

}  // namespace bitsieve::core
