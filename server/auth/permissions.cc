#include "server/auth/permissions.h"

#include <algorithm>
#include <utility>

#include "core/base/glob.h"
#include "core/base/parse.h"

namespace bitsieve::server {
namespace {

using core::ErrorCode;
using core::Fail;
using Reason = Verdict::Reason;

constexpr std::string_view kBlanks(" \t\n\v\f\r\0", 7);

core::Status Refused(const char* why) { return Fail(ErrorCode::kInvalidArgument, why); }

core::Status UnknownCommand() { return Refused("Unknown command or category name in ACL"); }

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
  // Rules are words, and would not be the same ones when they are read from a file again.
  if (rule.find_first_of(kBlanks) != std::string_view::npos) return Refused("Syntax error");
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
  return Refused("Syntax error");
}

void Permissions::AllCommands(bool allowed) {
  all_commands_ = begins_with_all_ = allowed;
  allowed ? commands_.set() : commands_.reset();
  command_rules_.clear();
}

core::Status Permissions::ApplyCommand(std::string_view rule) {
  const CommandRow* const row = index_->Find(NameIn(rule));
  if (row == nullptr) {
    const std::string_view name = NameIn(rule);
    const CommandRow* const container = index_->Find(name.substr(0, name.find('|')));
    const bool is_argument = container != nullptr && container->subcommands.empty();
    return is_argument ? Refused(
                             "Rules about a command's first argument are not supported: name a command, or a "
                             "subcommand as in config|get")
                       : UnknownCommand();
  }
  const bool allow = rule.front() == '+';
  const CommandIndex::Set set = index_->Of(*row);
  allow ? commands_ |= set : commands_ &= ~set;
  if (!allow) all_commands_ = false;
  Note(rule, row);
  return {};
}

core::Status Permissions::ApplyCategory(std::string_view rule) {
  const Category* const category = FindCategory(rule.substr(2));
  if (category == nullptr) return UnknownCommand();
  const bool allow = rule.front() == '+';
  const CommandIndex::Set set = index_->Of(*category);
  allow ? commands_ |= set : commands_ &= ~set;
  if (!allow) all_commands_ = false;
  Note(rule, nullptr);
  return {};
}

// A later rule about the same replaces the earlier, so that the text does not grow without end.
void Permissions::Note(std::string_view rule, const CommandRow* command) {
  std::string text = core::LowerCase(rule);
  std::erase_if(command_rules_, [&](const std::string& other) {
    const std::string_view name = NameIn(text);
    return NameIn(other) == name || (command != nullptr && IsSubcommandOf(NameIn(other), name));
  });
  command_rules_.push_back(std::move(text));
}

core::Status Permissions::ApplyKeys(std::string_view rule) {
  if (all_keys_) {
    return Refused(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try "
        "'resetkeys' to start with an empty list of patterns");
  }
  KeyPattern pattern{.pattern = {}, .read = true, .write = true};
  if (rule.starts_with('%')) {
    const size_t tilde = rule.find('~');
    const std::string mode = core::LowerCase(rule.substr(1, tilde == std::string_view::npos ? tilde : tilde - 1));
    pattern.read = mode.find('r') != std::string::npos;
    pattern.write = mode.find('w') != std::string::npos;
    const bool is_mode = !mode.empty() && mode.find_first_not_of("rw") == std::string::npos;
    if (!is_mode || tilde == std::string_view::npos) return Refused("Syntax error");
    rule.remove_prefix(tilde);
  }
  pattern.pattern = rule.substr(1);
  if (pattern.pattern == "*" && pattern.read && pattern.write) return Apply("allkeys");
  if (!std::ranges::count(keys_, pattern)) keys_.push_back(std::move(pattern));
  return {};
}

core::Status Permissions::ApplyChannels(std::string_view pattern) {
  if (all_channels_) {
    return Refused(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. "
        "Try 'resetchannels' to start with an empty list of channels");
  }
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
    const std::string_view mode = each.read && each.write ? "~" : (each.read ? "%R~" : "%W~");
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
