// live_replay.h: the changes of an old server's filters, made on the new one in their order. Confined to one thread.
// Errors are for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bulk/server_client.h"
#include "cli/migrate/filter_source.h"
#include "core/base/result.h"

namespace bitsieve::cli {

class LiveReplay {
 public:
  // Replays the changes of names that match the glob pattern.
  LiveReplay(ServerClient& target, std::string pattern) : target_(target), pattern_(std::move(pattern)) {}

  // Adds one change, as a master sends it. The error: it cannot be made on the new server.
  core::Outcome<void> Add(const std::vector<std::string>& received);
  // Returns once the new server has made all changes.
  core::Outcome<void> Finish();

  uint64_t commands() const { return commands_; }
  uint64_t refused() const { return refused_; }
  // Returns the new server's first error reply to a filter command; empty if there is none.
  const std::string& first_refusal() const { return first_refusal_; }

 private:
  bool Concerns(const std::vector<std::string>& words, size_t first, size_t last) const;
  core::Outcome<void> Send();

  ServerClient& target_;
  const std::string pattern_;
  bool is_first_database_ = true;
  std::string bytes_;             // not sent yet
  std::vector<bool> of_filters_;  // for each command in them, whether it is one of a filter's own
  uint64_t commands_ = 0;
  uint64_t refused_ = 0;
  std::string first_refusal_;
};

}  // namespace bitsieve::cli
