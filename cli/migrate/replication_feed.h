// replication_feed.h: what a Redis or Valkey server sends to a replica: all its data as of one moment, as an RDB file,
// and every change from that moment on, as commands. Both are kept in temporary files without names, so that the old
// server never waits for the new one. Confined to one thread. Errors are for people.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bulk/server_client.h"
#include "cli/client/client_connection.h"
#include "cli/migrate/filter_source.h"
#include "core/base/result.h"

namespace bitsieve::cli {

// A file that is gone when its descriptor is closed, in TMPDIR or else /tmp.
class TemporaryFile {
 public:
  static core::Outcome<TemporaryFile> Make();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();

  core::Outcome<void> Append(std::string_view bytes);
  // The next bytes that were not taken yet; empty if there are none.
  core::Outcome<std::string_view> Take(std::string& room);
  uint64_t left() const { return end_ - taken_; }
  // By which it can be opened.
  std::string path() const;

 private:
  explicit TemporaryFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
  uint64_t end_ = 0;
  uint64_t taken_ = 0;
};

class ReplicationFeed {
 public:
  using Progress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;
  using Deadline = ClientConnection::Deadline;

  // Until all data is there.
  static core::Outcome<std::unique_ptr<ReplicationFeed>> Start(const Target& target, const Credentials& credentials,
                                                               const Progress& progress);

  // Where the RDB file can be opened.
  std::string rdb_path() const { return rdb_.path(); }
  // Takes in what has come, after waiting no longer than until then for something. To be called often: the old server
  // gives up on a replica that leaves too much unread, and on one that it hears nothing of for a minute.
  core::Outcome<void> Receive(Deadline until);
  // The next change of those taken in; nothing if they were all.
  core::Outcome<std::optional<std::vector<std::string>>> Next();
  uint64_t waiting_bytes() const { return changes_.left(); }

 private:
  ReplicationFeed(ClientConnection connection, TemporaryFile rdb, TemporaryFile changes)
      : connection_(std::move(connection)), rdb_(std::move(rdb)), changes_(std::move(changes)) {}

  core::Outcome<void> ShakeHands(const Credentials& credentials);
  core::Outcome<std::string> AskForLine(std::initializer_list<std::string_view> words);
  core::Outcome<std::string> ReadLine();
  core::Outcome<void> ReceiveRdb(const Progress& progress);
  core::Outcome<void> Fill();
  core::Outcome<void> Acknowledge();

  ClientConnection connection_;
  TemporaryFile rdb_, changes_;
  std::string buffer_;  // of the handshake
  ReplyReader reader_;
  std::string room_;
  uint64_t offset_ = 0;  // in the old server's stream
  Deadline acknowledged_{};
};

}  // namespace bitsieve::cli
