// watch_list.h: the names that a connection watches (WATCH), and what they meant when it began to. Nothing is kept at
// the names themselves: EXEC looks at each watched name once and compares. Confined to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/keyspace/keyspace.h"

namespace bitsieve::server {

class WatchList {
 public:
  static constexpr size_t kMaxNames = 16384;
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  // False, and nothing done, if that would be too many. A name that is watched already stays as it was first seen.
  bool Add(std::string_view name, const Keyspace& keyspace) {
    std::string key(name);
    if (names_.contains(key)) return true;
    const size_t bytes = bytes_ + BytesOf(name);
    if (names_.size() == kMaxNames || bytes > kMaxBytes) return false;
    names_.emplace(std::move(key), keyspace.StateOf(name));
    bytes_ = bytes;
    return true;
  }
  // Whether anything happened to a watched name.
  bool Touched(const Keyspace& keyspace) const {
    for (const auto& [name, state] : names_) {
      if (!keyspace.IsUnchanged(name, state)) return true;
    }
    return false;
  }
  void Clear() {
    if (names_.empty()) return;
    Names().swap(names_);
    bytes_ = 0;
  }

  bool empty() const { return names_.empty(); }
  size_t size() const { return names_.size(); }
  // Returns the memory of the list, bookkeeping included.
  size_t bytes() const { return bytes_; }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [name, state] : names_) visit(std::string_view(name));
  }

 private:
  using Names = std::unordered_map<std::string, NameState>;

  static size_t BytesOf(std::string_view name) { return sizeof(Names::value_type) + 4 * sizeof(void*) + name.size(); }

  Names names_;
  size_t bytes_ = 0;
};

}  // namespace bitsieve::server
