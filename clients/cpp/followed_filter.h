// followed_filter.h: a copy of a server's filter in this process, which a thread of its own keeps up to date: a lookup
// takes some 50 ns instead of a round trip, and works while the server cannot be reached. docs/follow.md has the
// promises. Items are added at the server.
//
// Threads: thread-safe, except that no other call may run at the same time as a move or the destructor. Lookups take no
// lock and never wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "clients/cpp/filter.h"

namespace bitsieve {

/// How a filter is followed.
struct FollowOptions {
  /// Time between two requests for changes: how old an answer may be, if the server can be reached.
  std::chrono::milliseconds interval{100};
  /// Time limit of each step: connecting, and each reply.
  std::chrono::milliseconds timeout{5000};
  /// A file in which the copy is kept, at the end and once a minute, so that a program that starts again needs only the
  /// changes since. Empty: none.
  std::string cache_path = {};
  /// Maximum number of bytes that the copy may take; 0: no limit.
  uint64_t memory_limit_bytes = 0;
};

/// A copy of a server's filter. A copy that was moved from may only be assigned to or destroyed.
class FollowedFilter {
 public:
  /// Makes a copy, from the cache file if there is a whole one, else from the server, and begins to follow.
  /// @param url the server: redis://[user:password@]host[:port], bitsieve:// likewise, or unix:///path.
  /// @param key the name of the filter.
  /// @return kInvalidArgument for a malformed URL, kUnsupported for a URL with TLS; kIo, with a message that says what
  /// failed, if there is no cache file and the server cannot be reached or has no such filter; kOutOfMemory.
  static Result<FollowedFilter> Follow(const std::string& url, const std::string& key,
                                       const FollowOptions& options = {});

  /// Moves the other copy into this one.
  FollowedFilter(FollowedFilter&& other) noexcept;
  /// Moves the other copy into this one, and frees the copy that was here.
  FollowedFilter& operator=(FollowedFilter&& other) noexcept;
  /// Ends following, and writes the cache file, if there is one.
  ~FollowedFilter();

  /// Returns whether the item was probably added before the copy's position; false means that it definitely was not.
  bool MayContain(std::string_view item) const;
  /// Looks up items together, all in the same copy, which is faster than one by one.
  /// @param items the items to look up.
  /// @param present receives for each item 1 if it was probably added, else 0; of equal length.
  void MayContain(std::span<const std::string_view> items, std::span<uint8_t> present) const;

  /// Returns the time since the copy was last known to be current: no item that was added before then is missed.
  std::chrono::milliseconds Staleness() const;
  /// Returns the copy's position in the server's history of the filter, as BF.FOLLOW and BF.CHANGES return it.
  std::string Position() const;
  /// Returns why the copy cannot be brought up to date at the moment; empty if it can. It is tried again until it can.
  std::string Trouble() const;
  /// Returns how often the whole filter was read from the server.
  uint64_t DumpsRead() const;
  /// Returns the parameters and the state of the copy.
  FilterDescription Describe() const;
  /// Returns the copy as the bytes of a dump, with its position.
  Result<std::string> ToBytes() const;

 private:
  class Follower;
  explicit FollowedFilter(std::unique_ptr<Follower> follower);

  std::unique_ptr<Follower> follower_;  // null after a move
};

}  // namespace bitsieve
