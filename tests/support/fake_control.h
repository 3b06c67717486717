// fake_control.h: a ServerControl that records its calls, for tests of commands. Saves end when the test ends them.
// Thread-compatible.
#pragma once

#include <functional>
#include <map>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "commands/keyspace.h"
#include "core/base/glob.h"
#include "server/dispatch/server_control.h"

namespace bitsieve::test {

class FakeControl final : public server::ServerControl, public commands::FreezeQueue {
 public:
  void Save(std::function<void(core::Status)> done) override {
    if (out_of_memory) throw std::bad_alloc();
    saves.push_back(std::move(done));
  }
  server::SnapshotStatus Snapshot() const override { return snapshot; }
  server::LogStatus Log() const override { return log; }
  void Freeze(std::string_view name, const core::FilterPtr& closed) override {
    if (on_freeze) return on_freeze(name, closed);
    freezes.emplace_back(name, closed);
  }
  core::Status LoadUsers() override { return load_users ? load_users() : core::Status(); }
  core::Status SaveUsers() override { return save_users; }
  void Shutdown(bool save) override { shutdowns.push_back(save); }
  std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view glob) const override {
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& option : options) {
      if (core::GlobMatch(glob, option.first)) found.push_back(option);
    }
    return found;
  }
  core::Outcome<void, config::RefusedPair> SetOptions(std::span<const config::NameAndText> pairs) override {
    auto changed = options;
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto found = changed.find(std::string(pairs[i].first));
      if (found == changed.end()) return tl::unexpected(config::RefusedPair{i, "unknown option"});
      if (pairs[i].second == "bad") return tl::unexpected(config::RefusedPair{i, "must be good"});
      found->second = pairs[i].second;
    }
    options = std::move(changed);
    return {};
  }
  void RewriteConfiguration(std::function<void(core::Status)> done) override { rewrites.push_back(std::move(done)); }

  bool out_of_memory = false;  // saving allocates, and is refused
  std::vector<std::function<void(core::Status)>> saves;
  std::vector<std::function<void(core::Status)>> rewrites;
  std::vector<std::pair<std::string, core::FilterPtr>> freezes;
  std::function<void(std::string_view name, const core::FilterPtr& closed)> on_freeze;  // instead
  std::function<core::Status()> load_users;
  core::Status save_users;
  std::vector<bool> shutdowns;
  server::SnapshotStatus snapshot;
  server::LogStatus log;
  std::map<std::string, std::string> options{{"maxclients", "10000"}, {"maxmemory", "0"}, {"timeout", "0"}};
};

}  // namespace bitsieve::test
