#include "server/keyspace/freezer.h"

#include <chrono>
#include <new>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/thread_name.h"

namespace bitsieve::server {

using namespace commands;

Freezer::Freezer(Registry& registry, OnReport on_report, Frozen frozen)
    : registry_(registry), on_report_(std::move(on_report)), frozen_(std::move(frozen)), thread_([this] { Run(); }) {}

Freezer::~Freezer() { Stop(); }

void Freezer::Freeze(std::string_view name, const FilterPtr& closed) {
  std::list<Job> job;
  job.push_back({std::string(name), closed});
  registry_.LogFreezing(closed);
  const core::LockGuard lock(mutex_);
  waiting_.splice(waiting_.end(), job);
  wake_.NotifyOne();
}

void Freezer::Stop() {
  {
    const core::LockGuard lock(mutex_);
    stopping_ = true;
    wake_.NotifyOne();
  }
  if (thread_.joinable()) thread_.join();
}

void Freezer::Run() {
  core::NameThread("freezer");
  const core::LockGuard lock(mutex_);
  while (true) {
    while (!stopping_ && waiting_.empty()) wake_.Wait(mutex_);
    if (waiting_.empty()) return;
    std::list<Job> job;
    job.splice(job.end(), waiting_, waiting_.begin());
    const core::UnlockGuard unlocked(mutex_);
    BuildOrReopen(job.front());
    job.clear();
  }
}

void Freezer::BuildOrReopen(const Job& job) {
  try {
    Build(job);
  } catch (const std::bad_alloc&) {
    const FilterPtr closed = job.filter.lock();
    if (closed != nullptr) closed->staging()->Reopen(core::kOutOfMemoryText);
  }
}

void Freezer::Build(const Job& job) {
  const FilterPtr closed = job.filter.lock();
  if (closed == nullptr) return;
  core::Staging& staging = *closed->staging();
  const auto began = std::chrono::steady_clock::now();
  // If nothing else holds it, it no longer has a name.
  const auto keep_going = [&] { return !stopping_.load(std::memory_order_relaxed) && closed.use_count() > 1; };
  auto frozen = staging.Build(registry_.MemoryOf(job.name), keep_going);
  if (frozen && *frozen == nullptr) {
    if (!stopping_.load(std::memory_order_relaxed)) staging.Reopen("");
    return;
  }
  const auto taken = std::chrono::steady_clock::now() - began;
  FreezeReport report{.name = job.name,
                      .status = {},
                      .items = closed->ItemCount(),
                      .collected_bytes = closed->size_bytes(),
                      .duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(taken).count()};
  const FilterPtr ready = frozen ? FilterPtr(std::move(*frozen)) : nullptr;
  const auto prepared = ready ? Prepare(staging, ready) : tl::unexpected(frozen.error());
  if (!prepared) {
    staging.Reopen(prepared.error().message);
    report.status = tl::unexpected(prepared.error());
    return on_report_(report);
  }
  report.frozen_bytes = ready->size_bytes();
  on_report_(report);
  Publish(job.name, closed, ready);
}

// False positives that were noted while the frozen filter was written to disk are in none of its files: it is written
// again, with all of them.
core::Result<std::unique_ptr<PreparedContent>> Freezer::Prepare(core::Staging& staging, const FilterPtr& frozen) {
  staging.CopyFalsePositivesTo(*frozen);
  auto prepared = registry_.Prepare(frozen);
  if (!prepared || !staging.HandOverTo(*frozen)) return prepared;
  return registry_.Prepare(frozen);
}

void Freezer::Publish(const std::string& name, const FilterPtr& closed, const FilterPtr& frozen) {
  std::string name_now = name;
  frozen->TakeUseOf(*closed);
  // Renamed, or gone, if it is not there.
  if (!registry_.Replace(name, closed, frozen) && !registry_.ReplaceAnywhere(closed, frozen, &name_now)) return;
  if (frozen_) frozen_(name_now);
}

}  // namespace bitsieve::server
