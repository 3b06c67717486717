#include "server/auth/permissions.h"

#include <algorithm>
#include <utility>

#include "core/base/glob.h"
#include "core/base/parse.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using core::ErrorCode;
using core::Fail;
using Reason = Verdict::Reason;

// Patterns are words, and would not be the same ones when they are read from a file again.
constexpr std::string_view kBlanks(" \t\n\v\f\r\0", 7);

core::Status UnknownCommand() { return RuleError("Unknown command or category name in ACL"); }

bool HasBlank(std::string_view pattern) { return pattern.find_first_of(kBlanks) != std::string_view::npos; }

void Append(std::string& text, std::string_view word) {
  if (!text.empty()) text += ' ';
  text += word;
}

// The name in "+name" or "-name|sub".
std::string_view NameIn(std::string_view rule) { return rule.substr(1); }

bool IsSubcommandOf(std::string_view name, std::string_view container) {
  return name.size() > container.size() && name.starts_with(container) && name[container.size()] == '|';
}

}  // namespace

core::Status Permissions::Apply(std::string_view rule) {
  const auto is = [rule](std::string_view word) { return EqualsIgnoringCase(rule, word); };
  if (is("allcommands") || is("+@all")) return AllCommands(true), core::Status();
  if (is("nocommands") || is("-@all")) return AllCommands(false), core::Status();
  if (is("allkeys") || rule == "~*") {
    all_keys_ = true;
    keys_.clear();
    return {};
  }
  if (is("resetkeys")) {
    all_keys_ = false;
    keys_.clear();
    return {};
  }
  if (is("allchannels") || rule == "&*") {
    all_channels_ = true;
    channels_.clear();
    return {};
  }
  if (is("resetchannels")) {
    all_channels_ = false;
    channels_.clear();
    return {};
  }
  if (rule.starts_with('~') || rule.starts_with('%')) return ApplyKeys(rule);
  if (rule.starts_with('&')) return ApplyChannels(rule.substr(1));
  if (rule.starts_with("+@") || rule.starts_with("-@")) return ApplyCategory(rule);
  if (rule.starts_with('+') || rule.starts_with('-')) return ApplyCommand(rule);
  return RuleError("Syntax error");
}

void Permissions::AllCommands(bool allowed) {
  all_commands_ = begins_with_all_ = allowed;
  allowed ? commands_.set() : commands_.reset();
  command_rules_.clear();
}

core::Status Permissions::ApplyCommand(std::string_view rule) {
  const CommandRow* const row = index_->Find(NameIn(rule));
  if (row == nullptr) return Unknown(rule);
  const bool allow = rule.front() == '+';
  const CommandIndex::Set set = index_->Of(*row);
  allow ? commands_ |= set : commands_ &= ~set;
  if (!allow) all_commands_ = false;
  Keep(rule, row);
  return {};
}

// Why a rule names no command, in Redis' words. There "+select|0" allows SELECT with this argument.
core::Status Permissions::Unknown(std::string_view rule) const {
  const std::string_view name = NameIn(rule);
  const size_t bar = name.rfind('|');
  const CommandRow* const command = bar == std::string_view::npos ? nullptr : index_->Find(name.substr(0, bar));
  if (command == nullptr || rule.front() == '-') return UnknownCommand();
  if (command->name.find('|') != std::string_view::npos) {
    return RuleError("Allowing first-arg of a subcommand is not supported");
  }
  if (bar + 1 == name.size()) return RuleError("Syntax error");
  if (!command->subcommands.empty()) return UnknownCommand();
  return RuleError(
      "Rules about a command's first argument are not supported: name a command, or a subcommand as in config|get");
}

core::Status Permissions::ApplyCategory(std::string_view rule) {
  const Category* const category = FindCategory(rule.substr(2));
  if (category == nullptr) return UnknownCommand();
  const bool allow = rule.front() == '+';
  const CommandIndex::Set set = index_->Of(*category);
  allow ? commands_ |= set : commands_ &= ~set;
  if (!allow) all_commands_ = false;
  Keep(rule, nullptr);
  return {};
}

// A later rule about the same replaces the earlier, so that the text does not grow without end.
void Permissions::Keep(std::string_view rule, const CommandRow* command) {
  std::string text = core::LowerCase(rule);
  std::erase_if(command_rules_, [&](const std::string& other) {
    const std::string_view name = NameIn(text);
    return NameIn(other) == name || (command != nullptr && IsSubcommandOf(NameIn(other), name));
  });
  command_rules_.push_back(std::move(text));
}

core::Status Permissions::ApplyKeys(std::string_view rule) {
  if (all_keys_) {
    return RuleError(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try "
        "'resetkeys' to start with an empty list of patterns");
  }
  auto pattern = ParseKeyPattern(rule);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto same = std::ranges::find(keys_, pattern->pattern, &KeyPattern::pattern);
  if (same == keys_.end()) {
    keys_.push_back(std::move(*pattern));
  } else {
    same->read |= pattern->read;
    same->write |= pattern->write;
  }
  return {};
}

// "~x", "%R~x", "%rw~x"; "%R" is "%R~", as in Redis.
core::Result<Permissions::KeyPattern> Permissions::ParseKeyPattern(std::string_view rule) {
  const auto syntax_error = [] { return Fail(ErrorCode::kInvalidArgument, "Syntax error"); };
  const size_t tilde = std::min(rule.find('~'), rule.size());
  KeyPattern parsed;
  parsed.read = parsed.write = tilde == 0;
  for (const char mode : rule.substr(std::min<size_t>(1, tilde), tilde == 0 ? 0 : tilde - 1)) {
    const bool reads = mode == 'R' || mode == 'r';
    bool& allowed = reads ? parsed.read : parsed.write;
    if (allowed || !(reads || mode == 'W' || mode == 'w')) return syntax_error();
    allowed = true;
  }
  parsed.pattern = rule.substr(std::min(tilde + 1, rule.size()));
  if (!(parsed.read || parsed.write) || HasBlank(parsed.pattern)) return syntax_error();
  return parsed;
}

core::Status Permissions::ApplyChannels(std::string_view pattern) {
  if (all_channels_) {
    return RuleError(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. "
        "Try 'resetchannels' to start with an empty list of channels");
  }
  if (HasBlank(pattern)) return RuleError("Syntax error");
  if (!std::ranges::count(channels_, pattern)) channels_.emplace_back(pattern);
  return {};
}

Verdict Permissions::Check(const CommandRow& row, Arguments arguments) const {
  if (!all_commands_ && !(row.flags & kNoAuth) && !commands_.test(index_->NumberOf(row))) return {Reason::kCommand, 0};
  if (const Verdict keys = CheckKeys(row, arguments); !keys.allowed()) return keys;
  return CheckChannels(row, arguments);
}

Verdict Permissions::CheckKeys(const CommandRow& row, Arguments arguments) const {
  const KeyPositions& keys = row.keys;
  if (all_keys_ || keys.first == 0) return {};
  for (int i = keys.first; i <= LastOf(keys, arguments.size()); i += keys.step) {
    const auto at = static_cast<size_t>(i);
    if (!AllowsKey(arguments[at], Reads(row, i, arguments.size()), Writes(row, i, arguments.size()))) {
      return {Reason::kKey, at};
    }
  }
  return {};
}

bool Permissions::AllowsKey(std::string_view key, bool read, bool write) const {
  return std::ranges::any_of(keys_, [&](const KeyPattern& each) {
    return each.read >= read && each.write >= write && core::GlobMatch(each.pattern, key);
  });
}

Verdict Permissions::CheckChannels(const CommandRow& row, Arguments arguments) const {
  if (all_channels_ || row.channels.first == 0) return {};
  for (int i = row.channels.first; i <= LastOf(row.channels, arguments.size()); i += row.channels.step) {
    const auto at = static_cast<size_t>(i);
    if (!AllowsChannel(arguments[at], row.channels_are_patterns)) return {Reason::kChannel, at};
  }
  return {};
}

// A pattern is allowed only as it stands in the rules: whether one pattern covers another is not looked into.
bool Permissions::AllowsChannel(std::string_view channel, bool is_pattern) const {
  return std::ranges::any_of(channels_, [&](const std::string& each) {
    return is_pattern ? each == channel : core::GlobMatch(each, channel);
  });
}

bool Permissions::CoversChannelsOf(const Permissions& other) const {
  if (all_channels_) return true;
  return !other.all_channels_ && std::ranges::all_of(other.channels_, [this](const std::string& pattern) {
    return std::ranges::count(channels_, pattern) != 0;
  });
}

std::string Permissions::CommandsText() const {
  std::string text = begins_with_all_ ? "+@all" : "-@all";
  for (const std::string& rule : command_rules_) Append(text, rule);
  return text;
}

std::string Permissions::KeysText() const {
  if (all_keys_) return "~*";
  std::string text;
  for (const KeyPattern& each : keys_) {
    // "~*" would be allkeys, which takes no further patterns.
    const std::string_view both = each.pattern == "*" ? "%RW~" : "~";
    const std::string_view mode = each.read && each.write ? both : (each.read ? "%R~" : "%W~");
    Append(text, std::string(mode) + each.pattern);
  }
  return text;
}

std::string Permissions::ChannelsText() const {
  if (all_channels_) return "&*";
  std::string text;
  for (const std::string& each : channels_) Append(text, "&" + each);
  return text;
}

std::string Permissions::Text() const {
  std::string text = KeysText();
  if (!all_channels_) Append(text, "resetchannels");
  if (const std::string channels = ChannelsText(); !channels.empty()) Append(text, channels);
  Append(text, CommandsText());
  return text;
}

}  // namespace bitsieve::server
