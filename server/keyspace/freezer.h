// freezer.h: the thread that builds frozen filters, one after the other, and puts each in the place of the one that
// collected its items: under the name that this one has by then, which keeps its expiry. Readers that hold the old
// filter still get right answers from it; it is destroyed with the last of them. A filter that is deleted while it
// waits or is built is dropped.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "commands/keyspace.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/filter/staging.h"
#include "server/keyspace/registry.h"

namespace bitsieve::server {

// The outcome of freezing a filter.
struct FreezeReport {
  std::string name;     // that it had when it was closed
  core::Status status;  // an error: it collects again
  uint64_t items = 0;
  uint64_t collected_bytes = 0;
  uint64_t frozen_bytes = 0;
  int64_t duration_ms = 0;
};

class Freezer final : public commands::FreezeQueue {
 public:
  // Called by the freezer's thread.
  using OnReport = std::function<void(const FreezeReport& report)>;
  // Called by the freezer's thread when a frozen filter has taken its place, with the name that it has.
  using Frozen = std::function<void(std::string_view name)>;

  // The registry outlives the freezer.
  Freezer(Registry& registry, OnReport on_report, Frozen frozen = {});
  // Calls Stop().
  ~Freezer() override;

  // `closed` has a core::Staging whose Close returned true. What throws std::bad_alloc has done nothing.
  void Freeze(std::string_view name, const commands::FilterPtr& closed) override;
  // Abandons the build in progress and ends the thread. This takes milliseconds, unless a finished build is being
  // written to disk. A filter that is not frozen yet stays closed, and is saved as such, so that the next start freezes
  // it.
  void Stop();

 private:
  struct Job {
    std::string name;
    core::WeakFilterPtr filter;  // so that one that waits and is deleted frees its memory
  };

  void Run();
  void Build(const Job& job);
  void BuildOrReopen(const Job& job);
  core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(core::Staging& staging,
                                                                   const commands::FilterPtr& frozen);
  void Publish(const std::string& name, const commands::FilterPtr& closed, const commands::FilterPtr& frozen);

  Registry& registry_;
  const OnReport on_report_;
  const Frozen frozen_;
  core::Mutex mutex_;
  core::ConditionVariable wake_;
  std::list<Job> waiting_ BITSIEVE_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};  // set under mutex_; relaxed, while building: seen late, a shard more is built
  std::thread thread_;                 // last: it uses all of the above
};

}  // namespace bitsieve::server
