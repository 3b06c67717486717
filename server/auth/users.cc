#include "server/auth/users.h"

#include <memory>
#include <utility>

namespace bitsieve::server {
namespace {

using core::ErrorCode;
using core::Fail;

constexpr size_t kMaxUserNameBytes = 1024;

bool IsUserName(std::string_view name) {
  constexpr std::string_view kNotAllowed(" \t\r\n\0", 5);
  return !name.empty() && name.find_first_of(kNotAllowed) == std::string_view::npos;
}

core::Status CheckName(std::string_view name) {
  if (!IsUserName(name)) return Fail(ErrorCode::kInvalidArgument, "Usernames can't contain spaces or null characters");
  if (name.size() <= kMaxUserNameBytes) return {};
  return Fail(ErrorCode::kInvalidArgument, "Usernames have at most " + std::to_string(kMaxUserNameBytes) + " bytes");
}

std::vector<std::string_view> Split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace

Users::Users(const CommandIndex& index) : index_(index) {
  const core::LockGuard change(change_mutex_);
  Publish(std::make_shared<const User>(MakeDefault()));
}

User Users::MakeDefault() const {
  User user{std::string(kDefaultUser), index_};
  constexpr std::string_view kRules[] = {"on", "nopass", "+@all", "~*", "&*"};
  (void)user.Apply(kRules);  // rules of our own, which hold
  return user;
}

UserPtr Users::Publish(UserPtr user) {
  const core::LockGuard lock(mutex_);
  UserPtr& place = users_[user->name()];
  std::swap(place, user);
  if (place->name() == kDefaultUser) {
    default_is_open_.store(place->is_on() && !place->needs_password(), std::memory_order_relaxed);
  }
  generation_.fetch_add(1, std::memory_order_release);
  return user;
}

Users::ByName Users::Publish(ByName users) {
  const User& user = *users.find(kDefaultUser)->second;
  const core::LockGuard lock(mutex_);
  default_is_open_.store(user.is_on() && !user.needs_password(), std::memory_order_relaxed);
  users_.swap(users);
  generation_.fetch_add(1, std::memory_order_release);
  return users;
}

UserPtr Users::Find(std::string_view name) const {
  const core::LockGuard lock(mutex_);
  const auto found = users_.find(name);
  return found == users_.end() ? nullptr : found->second;
}

std::vector<UserPtr> Users::All() const {
  const core::LockGuard lock(mutex_);
  std::vector<UserPtr> all;
  for (const auto& [name, user] : users_) all.push_back(user);
  return all;
}

UserPtr Users::Authenticate(std::string_view name, std::string_view password) const {
  UserPtr user = Find(name);
  return user != nullptr && user->Accepts(password) ? user : nullptr;
}

core::Status Users::Set(std::string_view name, std::span<const std::string_view> rules) {
  if (core::Status status = CheckName(name); !status) return status;
  const core::LockGuard change(change_mutex_);
  const UserPtr before = Find(name);
  auto changed = std::make_shared<User>(before == nullptr ? User(std::string(name), index_) : *before);
  if (core::Status status = changed->Apply(rules); !status) return status;
  Publish(std::move(changed));
  return {};
}

bool Users::Remove(std::string_view name) {
  if (name == kDefaultUser) return false;
  ByName::node_type removed;  // freed without the lock
  const core::LockGuard change(change_mutex_);
  const core::LockGuard lock(mutex_);
  const auto found = users_.find(name);
  if (found == users_.end()) return false;
  removed = users_.extract(found);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

core::Status Users::SetDefaultPassword(std::string_view password) {
  const std::string rule = password.empty() ? "nopass" : ">" + std::string(password);
  const std::string_view rules[] = {"resetpass", rule};
  return Set(kDefaultUser, rules);
}

std::string Users::Text() const {
  std::string text;
  for (const UserPtr& user : All()) text += user->Text() + "\n";
  return text;
}

core::Status Users::Replace(std::string_view text) {
  ByName users;
  size_t number = 0;
  const auto refuse = [&number](const std::string& why) {
    return Fail(ErrorCode::kInvalidArgument, "line " + std::to_string(number) + ": " + why);
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = Split(text.substr(0, end), " \t\r");
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words[0] != "user" || words.size() < 2) return refuse("it should begin with user and a name");
    if (const core::Status status = CheckName(words[1]); !status) return refuse(status.error().message);
    User user(std::string(words[1]), index_);
    if (const core::Status status = user.Apply(std::span(words).subspan(2)); !status) {
      return refuse(status.error().message);
    }
    if (!users.emplace(words[1], std::make_shared<const User>(std::move(user))).second) {
      return refuse("user '" + std::string(words[1]) + "' is defined twice");
    }
  }
  const core::LockGuard change(change_mutex_);
  if (!users.contains(kDefaultUser)) users.emplace(kDefaultUser, Default());
  Publish(std::move(users));
  return {};
}

}  // namespace bitsieve::server
