// recent_names.h: which names came to be lately, by their hashes. It answers for WATCH whether a name that is missing
// now, and was missing then, has been missing all the time. Thread-compatible.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace bitsieve::server {

class RecentNames {
 public:
  static constexpr size_t kKept = 256;

  void Add(uint64_t hash) { hashes_[noted_++ % kKept] = hash; }
  // Names noted so far.
  uint64_t noted() const { return noted_; }
  // Whether one of this hash was noted after the first `since` names; true as well if that is not known any more.
  bool MayHaveNoted(uint64_t hash, uint64_t since) const {
    if (noted_ - since > kKept) return true;
    for (uint64_t i = since; i < noted_; ++i) {
      if (hashes_[i % kKept] == hash) return true;
    }
    return false;
  }

 private:
  std::array<uint64_t, kKept> hashes_{};  // the newest ones, in a ring
  uint64_t noted_ = 0;
};

}  // namespace bitsieve::server
