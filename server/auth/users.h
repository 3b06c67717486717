// users.h: the users of the server, by name. There is always one called "default", which is what a connection is before
// it authenticates. Users are immutable snapshots: a change makes a new one, and raises the generation, by which
// sessions see that theirs may be an old one.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "server/auth/user.h"

namespace bitsieve::server {

class Users {
 public:
  // The user default may do everything, with any password. The index outlives the users.
  explicit Users(const CommandIndex& index);

  // Raised by each change, after it.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // Whether a connection is let in without a password.
  bool default_is_open() const { return default_is_open_.load(std::memory_order_relaxed); }

  // Null if there is none of this name.
  UserPtr Find(std::string_view name) const;
  UserPtr Default() const { return Find(kDefaultUser); }
  // By name.
  std::vector<UserPtr> All() const;
  // The user, if the password is its own and it is on; null otherwise.
  UserPtr Authenticate(std::string_view name, std::string_view password) const;

  // Makes the user if need be. On an error nothing has changed.
  core::Status Set(std::string_view name, std::span<const std::string_view> rules);
  // False if there is none, and for the user default, which stays.
  bool Remove(std::string_view name);
  // Replaces all passwords of the user default, as `requirepass` does; with an empty one it needs none. A password has
  // at most kMaxPasswordBytes.
  core::Status SetDefaultPassword(std::string_view password);

  // All users, one "user NAME RULES" a line, as in Redis' ACL files.
  std::string Text() const;
  // Takes the place of all users; the user default stays if it is not named. On an error, which names the line,
  // nothing has changed. Blank lines, and those that begin with #, are passed over.
  core::Status Replace(std::string_view text);

 private:
  using ByName = std::map<std::string, UserPtr, std::less<>>;

  // These two put a change where others find it. What was there before is returned, to be freed without the lock.
  UserPtr Publish(UserPtr user) BITSIEVE_REQUIRES(change_mutex_);
  ByName Publish(ByName users) BITSIEVE_REQUIRES(change_mutex_);
  User MakeDefault() const;

  const CommandIndex& index_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<bool> default_is_open_{true};
  core::Mutex change_mutex_;  // held while users are changed, since rules take long to apply; taken before mutex_
  mutable core::Mutex mutex_;
  ByName users_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
