// permissions.h: what a user may do, as one set of rules: commands, keys and channels, all of which a command must fit.
// A user has one such set, and may have further ones (selectors), each of which is enough.
//
// Rules are words, as in Redis:
//   +name -name +name|sub -name|sub   a command, a subcommand     +@category -@category  commands of a category
//   allcommands nocommands            +@all, -@all
//   ~pattern                          keys, to read and to write  %R~pattern %W~pattern  keys to read, to write
//   allkeys resetkeys                 ~*, none
//   &pattern allchannels resetchannels  channels of SUBSCRIBE and PUBLISH
// Thread-compatible; immutable once it is a user's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "commands/command.h"
#include "core/base/result.h"
#include "server/auth/command_index.h"

namespace bitsieve::server {

// Why a command is refused, and the argument that is to blame.
struct Verdict {
  enum class Reason : uint8_t { kAllowed, kCommand, kKey, kChannel };
  Reason reason = Reason::kAllowed;
  size_t argument = 0;

  bool allowed() const { return reason == Reason::kAllowed; }
};

// The error of a rule that cannot be applied, in Redis' words.
inline core::Status RuleError(const char* why) { return core::Fail(core::ErrorCode::kInvalidArgument, why); }

class Permissions {
 public:
  // Nothing may be done. The index outlives the permissions.
  explicit Permissions(const CommandIndex& index) : index_(&index) {}

  // On an error nothing has changed, and the message is Redis'.
  core::Status Apply(std::string_view rule);

  // `row` is the command's, and the arguments fit its arity.
  Verdict Check(const commands::CommandRow& row, commands::Arguments arguments) const;
  // Whether everything may be done, now and by any command to come.
  bool unlimited() const { return all_commands_ && all_keys_ && all_channels_; }
  // Whether every channel that `other` allows is allowed here.
  bool CoversChannelsOf(const Permissions& other) const;

  // These return the permissions as rules, all of them or one part: "~a:* %R~b:*" for keys, "&*" for channels, "-@all
  // +@read" for commands.
  std::string Text() const;
  std::string KeysText() const;
  std::string ChannelsText() const;
  std::string CommandsText() const;

 private:
  struct KeyPattern {
    std::string pattern = {};
    bool read = false;
    bool write = false;
  };

  core::Status ApplyCommand(std::string_view rule);
  core::Status Unknown(std::string_view rule) const;
  core::Status ApplyCategory(std::string_view rule);
  core::Status ApplyKeys(std::string_view rule);
  static core::Result<KeyPattern> ParseKeyPattern(std::string_view rule);
  core::Status ApplyChannels(std::string_view pattern);
  void AllCommands(bool allowed);
  void Keep(std::string_view rule, const commands::CommandRow* command);
  bool AllowsKey(std::string_view key, bool read, bool write) const;
  bool AllowsChannel(std::string_view channel, bool is_pattern) const;
  Verdict CheckKeys(const commands::CommandRow& row, commands::Arguments arguments) const;
  Verdict CheckChannels(const commands::CommandRow& row, commands::Arguments arguments) const;

  const CommandIndex* index_;
  bool all_commands_ = false;  // and none was taken away
  bool all_keys_ = false;
  bool all_channels_ = false;
  CommandIndex::Set commands_;
  std::vector<std::string> command_rules_;  // since the last of +@all and -@all
  bool begins_with_all_ = false;            // that was +@all
  std::vector<KeyPattern> keys_;
  std::vector<std::string> channels_;
};

}  // namespace bitsieve::server
