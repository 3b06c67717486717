// process_control.h: what commands may request of the process, passed on to the parts that do it. Thread-safe. What it
// is given outlives it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/access_control.h"
#include "server/dispatch/server_control.h"
#include "server/keyspace/freezer.h"
#include "server/run_time_options.h"
#include "server/storage.h"

namespace bitsieve::server {

class ProcessControl final : public ServerControl {
 public:
  using Rewrite = std::function<void(std::function<void(core::Status)> done)>;

  // `shutdown` begins the stop, `rewrite` the writing of the configuration file; both return at once, and any thread
  // may call them.
  ProcessControl(Storage& storage, AccessControl& access, RunTimeOptions& options,
                 std::function<void(bool save)> shutdown, Rewrite rewrite)
      : storage_(storage),
        access_(access),
        options_(options),
        shutdown_(std::move(shutdown)),
        rewrite_(std::move(rewrite)) {}

  void Save(std::function<void(core::Status)> done) override { storage_.Save(std::move(done)); }
  SnapshotStatus Snapshot() const override { return storage_.Snapshot(); }
  LogStatus Log() const override { return storage_.Log(); }
  void Shutdown(bool save) override { shutdown_(save); }
  core::Status LoadUsers() override { return access_.LoadUsers(); }
  core::Status SaveUsers() override { return access_.SaveUsers(); }
  std::vector<std::pair<std::string, std::string>> GetOptions(std::string_view glob) const override {
    return options_.Match(glob);
  }
  tl::expected<void, RefusedOption> SetOptions(
      std::span<const std::pair<std::string_view, std::string_view>> pairs) override {
    return options_.Set(pairs).map_error([](config::RefusedPair refused) {
      return RefusedOption{refused.index, std::move(refused.reason)};
    });
  }
  void RewriteConfiguration(std::function<void(core::Status)> done) override { rewrite_(std::move(done)); }

 private:
  Storage& storage_;
  AccessControl& access_;
  RunTimeOptions& options_;
  const std::function<void(bool save)> shutdown_;
  const Rewrite rewrite_;
};

}  // namespace bitsieve::server
