#include "server/auth/user.h"

#include <algorithm>
#include <utility>

#include "core/base/parse.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using core::ErrorCode;
using core::Fail;

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

bool BeginsPassword(char c) { return c == '>' || c == '<'; }

// Returns the place in a rule where a password begins; npos if there is none. A selector contains one only by mistake.
size_t PasswordIn(std::string_view rule) {
  if (!rule.empty() && BeginsPassword(rule.front())) return 0;
  if (!rule.starts_with('(')) return std::string_view::npos;
  for (size_t i = 1; i < rule.size(); ++i) {
    const bool begins_word = rule[i - 1] == '(' || rule[i - 1] == ' ';
    if (begins_word && BeginsPassword(rule[i])) return i;
  }
  return std::string_view::npos;
}

// Returns the part of a rule that an error quotes: no password, and nothing long.
std::string Shown(std::string_view rule) {
  constexpr size_t kMaxShown = 128;
  const size_t password = PasswordIn(rule);
  if (password >= kMaxShown) return std::string(rule.substr(0, kMaxShown));
  return std::string(rule.substr(0, password + 1)) + "***";
}

}  // namespace

core::Result<std::vector<std::string>> JoinSelectors(std::span<const std::string_view> words) {
  std::vector<std::string> rules;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string rule(words[i]);
    if (rule.starts_with('(')) {
      const std::string first = rule;
      while (!rule.ends_with(')') && ++i < words.size()) rule.append(" ").append(words[i]);
      if (!rule.ends_with(')')) {
        return Fail(ErrorCode::kInvalidArgument,
                    "Unmatched parenthesis in acl selector starting at '" + Shown(first) + "'.");
      }
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

bool User::Accepts(std::string_view password) const {
  if (!is_on_) return false;
  if (any_password_) return true;
  if (password.size() > kMaxPasswordBytes) return false;
  const PasswordHash hash = HashPassword(password);
  bool found = false;
  for (const PasswordHash& each : passwords_) found |= SameHash(each, hash);
  return found;
}

// If all sets of permissions refuse, returns the refusal of the most lenient one, which got furthest in the checks: it
// shows best what was missing.
Verdict User::Check(const CommandRow& row, Arguments arguments) const {
  Verdict best = root_.Check(row, arguments);
  for (const Permissions& selector : selectors_) {
    if (best.allowed()) break;
    const Verdict verdict = selector.Check(row, arguments);
    if (verdict.allowed() || verdict.reason > best.reason ||
        (verdict.reason == best.reason && verdict.argument > best.argument)) {
      best = verdict;
    }
  }
  return best;
}

bool User::CoversChannelsOf(const User& other) const {
  const auto covered = [this](const Permissions& theirs) {
    return root_.CoversChannelsOf(theirs) || std::ranges::any_of(selectors_, [&theirs](const Permissions& ours) {
             return ours.CoversChannelsOf(theirs);
           });
  };
  return covered(other.root_) && std::ranges::all_of(other.selectors_, covered);
}

core::Status User::Apply(std::span<const std::string_view> rules) {
  const auto joined = JoinSelectors(rules);
  if (!joined) return tl::unexpected(joined.error());
  User changed = *this;
  for (const std::string& rule : *joined) {
    if (const core::Status status = changed.ApplyOne(rule); !status) {
      return Fail(ErrorCode::kInvalidArgument,
                  "Error in ACL SETUSER modifier '" + Shown(rule) + "': " + status.error().message);
    }
  }
  *this = std::move(changed);
  return {};
}

core::Status User::ApplyOne(std::string_view rule) {
  if (rule.empty()) return {};  // as in Redis
  const auto is = [rule](std::string_view word) { return EqualsIgnoringCase(rule, word); };
  if (is("on") || is("off")) return is_on_ = is("on"), core::Status();
  if (is("nopass") || is("resetpass")) {
    any_password_ = is("nopass");
    passwords_.clear();
    return {};
  }
  if (is("reset")) return Reset(), core::Status();
  if (is("clearselectors")) return selectors_.clear(), core::Status();
  if (is("sanitize-payload") || is("skip-sanitize-payload")) return {};
  if (rule.starts_with('(')) return AddSelector(rule.substr(1, rule.size() - 2));
  if (!rule.empty() && std::string_view("><#!").find(rule.front()) != std::string_view::npos) {
    return ApplyPassword(rule);
  }
  return root_.Apply(rule);
}

void User::Reset() {
  // The name may be that of this object.
  User fresh(name_, *index_);
  *this = std::move(fresh);
}

core::Status User::ApplyPassword(std::string_view rule) {
  const char kind = rule.front();
  const std::string_view text = rule.substr(1);
  const bool is_hash = kind == '#' || kind == '!';
  if (!is_hash && text.size() > kMaxPasswordBytes) return RuleError("A password has at most 16384 bytes");
  const auto parsed = is_hash ? ParseHash(text) : HashPassword(text);
  if (!parsed) {
    return RuleError(
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters");
  }
  if (kind == '>' || kind == '#') {
    any_password_ = false;
    if (!std::ranges::count(passwords_, *parsed)) passwords_.push_back(*parsed);
    return {};
  }
  if (std::erase(passwords_, *parsed) != 0) return {};
  return RuleError("The password you are trying to remove from the user does not exist");
}

core::Status User::AddSelector(std::string_view rules) {
  Permissions selector(*index_);
  for (const std::string_view rule : Words(rules)) {
    if (rule.ends_with(')'))
      return RuleError("Syntax error");  // where it is read from a file, the selector would end here
    if (core::Status status = selector.Apply(rule); !status) return status;
  }
  selectors_.push_back(std::move(selector));
  return {};
}

std::vector<std::string_view> User::Flags() const {
  std::vector<std::string_view> flags{is_on_ ? "on" : "off"};
  if (any_password_) flags.push_back("nopass");
  return flags;
}

std::string User::Text() const {
  std::string text = "user " + name_;
  for (const std::string_view flag : Flags()) text.append(" ").append(flag);
  for (const PasswordHash& hash : passwords_) text.append(" #").append(HexOf(hash));
  const auto append = [&text](const std::string& words) {
    if (!words.empty()) text.append(" ").append(words);
  };
  append(root_.Text());
  for (const Permissions& selector : selectors_) append("(" + selector.Text() + ")");
  return text;
}

}  // namespace bitsieve::server
