// user.h: a user: how a client proves to be it, and what it may do then.
//
// Rules, besides those of permissions.h:
//   on off              whether clients may authenticate as the user
//   nopass resetpass    any password does; none does
//   >password <password #hash !hash   adds and removes a password, or one that is given by its SHA-256
//   (rules) clearselectors            adds a further set of permissions; removes them all
//   reset               as a new user: off, without passwords and permissions
//   sanitize-payload skip-sanitize-payload   accepted: payloads are always checked
// Thread-compatible; immutable once others have it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "server/auth/password.h"
#include "server/auth/permissions.h"

namespace bitsieve::server {

inline constexpr std::string_view kDefaultUser = "default";

class User {
 public:
  // Makes a user as it is after "reset".
  User(std::string name, const CommandIndex& index) : name_(std::move(name)), index_(&index), root_(index) {}

  const std::string& name() const { return name_; }
  bool is_on() const { return is_on_; }
  bool needs_password() const { return !any_password_; }
  // Whether this password lets a client in. False if the user is off.
  bool Accepts(std::string_view password) const;

  Verdict Check(const commands::CommandRow& row, commands::Arguments arguments) const;
  // Whether the user may do everything, now and by any command to come.
  bool unlimited() const { return root_.unlimited(); }
  // Whether a client of `other` that has become this user may keep all its channels.
  bool CoversChannelsOf(const User& other) const;

  // All of the rules, or none. The error names the first that is refused, in Redis' words.
  core::Status Apply(std::span<const std::string_view> rules);

  // "user NAME RULES": Apply() with the rules after the name makes an equal user of a new one.
  std::string Text() const;
  std::vector<std::string_view> Flags() const;
  std::span<const PasswordHash> passwords() const { return passwords_; }
  const Permissions& root() const { return root_; }
  std::span<const Permissions> selectors() const { return selectors_; }

 private:
  core::Status ApplyOne(std::string_view rule);
  core::Status ApplyPassword(std::string_view rule);
  core::Status AddSelector(std::string_view rules);
  void Reset();

  std::string name_;
  const CommandIndex* index_;
  bool is_on_ = false;
  bool any_password_ = false;
  std::vector<PasswordHash> passwords_;
  Permissions root_;
  std::vector<Permissions> selectors_;
};

using UserPtr = std::shared_ptr<const User>;

// Words, with those from an opening parenthesis to the closing one joined. The error is Redis'.
core::Result<std::vector<std::string>> JoinSelectors(std::span<const std::string_view> words);

}  // namespace bitsieve::server
