// server_client.h: commands to a server and its replies, over a connection that has authenticated: Bitsieve, or Redis
// or Valkey with BF.*. Replies are read by hiredis. Confined to one thread. Errors are for people.
#pragma once

#include <hiredis/read.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client/client_connection.h"
#include "core/base/result.h"

namespace bitsieve::cli {

struct Reply {
  enum Kind { kStatus, kError, kInteger, kString, kNil, kArray };

  Kind kind = kNil;
  int64_t integer = 0;
  std::string text = {};             // of a status, an error or a string
  std::vector<Reply> elements = {};  // of an array

  bool is_error() const { return kind == kError; }
  // Returns the value of this name in an array of names, each before its value; null if there is none.
  const Reply* ValueOf(std::string_view name) const;
  // Returns that value as a number that is not negative; 0 if there is none.
  uint64_t NumberOf(std::string_view name) const;
};

// Appends the command as the protocol has it.
void AppendCommand(std::string& bytes, std::initializer_list<std::string_view> words);
// Appends the head of a command of `words` words, which follow one by one.
void AppendCommandHead(std::string& bytes, size_t words);
void AppendWord(std::string& bytes, std::string_view word);

// Reads replies from bytes as they arrive.
class ReplyReader {
 public:
  ReplyReader();

  void Feed(std::string_view bytes);
  // The next reply; nothing before more bytes have come. The error: these are no replies.
  core::Outcome<std::optional<Reply>> Next();

 private:
  struct Closer {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  std::unique_ptr<redisReader, Closer> reader_;
};

class ServerClient {
 public:
  // Time limit for connecting, sending a command or receiving a reply.
  static constexpr std::chrono::seconds kPatience{60};

  static core::Outcome<ServerClient> Connect(const Target& target, const Credentials& credentials);

  core::Outcome<void> Send(std::string_view bytes);
  // The next reply. An error reply is a reply.
  core::Outcome<Reply> Receive();
  core::Outcome<Reply> Ask(std::initializer_list<std::string_view> words);
  // Whether the key is a cuckoo filter of RedisBloom's type, for CF.* commands.
  core::Outcome<bool> HoldsCuckoo(std::string_view key);
  core::Outcome<bool> HoldsNothing(std::string_view key);
  // `there is no filter "seem"; did you mean "seen"?` and, if it is not empty, the way to have one.
  std::string NoFilter(std::string_view key, std::string_view way = {});

 private:
  explicit ServerClient(ClientConnection connection) : connection_(std::move(connection)) {}
  core::Outcome<void> Authenticate(const Credentials& credentials);
  core::Outcome<std::string> TypeOf(std::string_view key);
  // Returns the most similar of the first names, empty if none is similar.
  std::string SimilarName(std::string_view key);

  ClientConnection connection_;
  ReplyReader reader_;
};

// Commands that are sent together, and their replies.
class PipelinedCommands {
 public:
  explicit PipelinedCommands(ServerClient& client) : client_(client) {}

  void Add(std::initializer_list<std::string_view> words);
  // Sends the commands, and returns a reply for each.
  core::Outcome<std::vector<Reply>> Ask();

 private:
  ServerClient& client_;
  std::string bytes_;
  size_t count_ = 0;
};

}  // namespace bitsieve::cli
