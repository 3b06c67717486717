// simulated_disk.h: the disk of one life of a server, between two crashes. Its calls take simulated time; for a while
// it may be slow, or refuse to write. At a chosen step the machine or the process goes down: the disk that is then left
// is kept, and this one continues to work, for a server that does not know yet that it is gone. A step is a call that
// changes the disk. Confined to threads of the simulation.
#pragma once

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/persistence/disk/disk.h"
#include "tests/simulation/random.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/script.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::simulation {

enum class CrashKind : uint8_t {
  kKill,   // the process dies: what it has written stays
  kPower,  // the machine dies: any part of what is not synced is lost
};

class SimulatedDisk final : public server::Disk {
 public:
  SimulatedDisk(server::MemoryDisk content, Random& random) : content_(std::move(content)), random_(random) {}

  // Goes down at the given step, counted from 1: before it, within it or after it.
  void CrashAt(uint64_t step, CrashKind kind) {
    crash_step_ = step;
    kind_ = kind;
  }
  // Goes down now, unless it has.
  void Crash(CrashKind kind) {
    if (has_crashed()) return;
    kind_ = kind;
    KeepWhatIsLeft();
  }
  bool has_crashed() const { return has_crashed_; }
  CrashKind kind() const { return kind_; }
  // Called at the moment of the crash: what clients have received until then has to be left.
  void SetOnCrash(std::function<void()> on_crash) { on_crash_ = std::move(on_crash); }
  // Returns the disk that is left: after a crash, or as it is. Call it once, when no server uses this one any more.
  server::MemoryDisk TakeLeft() { return std::move(left_ ? *left_ : content_); }

  // Makes the given steps slow, or refuses them.
  void SetFaults(std::vector<Fault> faults) { faults_ = std::move(faults); }
  uint64_t steps() const { return steps_; }
  int64_t longest_step_ns() const { return longest_ns_; }
  uint64_t refused() const { return refused_; }

  core::Result<std::unique_ptr<server::WritableFile>> Create(const std::string& path) override {
    std::unique_ptr<server::WritableFile> made;
    core::Status status = Step("create", path, [&]() -> core::Status {
      auto file = content_.Create(path);
      if (!file) return tl::unexpected(file.error());
      made = std::make_unique<File>(*this, path, std::move(*file));
      return {};
    });
    if (!status) return tl::unexpected(std::move(status.error()));
    return made;
  }
  core::Result<std::unique_ptr<server::ReadableFile>> Open(const std::string& path) const override {
    Take(kReadNs);
    return content_.Open(path);
  }
  core::Status SyncFile(const std::string& path) override {
    return Step("sync", path, Honest([&] { return content_.SyncFile(path); }), kSyncNs);
  }
  core::Status Rename(const std::string& from, const std::string& to) override {
    return Step("rename", from, [&] { return content_.Rename(from, to); });
  }
  core::Status Remove(const std::string& path) override {
    return Step("remove", path, [&] { return content_.Remove(path); });
  }
  core::Status CreateDirectory(const std::string& path) override {
    return Step("create directory", path, [&] { return content_.CreateDirectory(path); });
  }
  core::Status SyncDirectory(const std::string& path) override {
    return Step("sync directory", path, Honest([&] { return content_.SyncDirectory(path); }), kSyncNs);
  }
  core::Result<std::vector<std::string>> List(const std::string& path) const override {
    Take(kReadNs);
    return content_.List(path);
  }
  core::Result<std::unique_ptr<server::FileLock>> Lock(const std::string& path) override { return content_.Lock(path); }
  std::string LockHolder(const std::string& path) const override { return content_.LockHolder(path); }

 private:
  using Act = std::function<core::Status()>;
  static constexpr int64_t kReadNs = 20'000;
  static constexpr int64_t kWriteNs = 50'000;
  static constexpr int64_t kSyncNs = 3'000'000;

  class File final : public server::WritableFile {
   public:
    File(SimulatedDisk& disk, std::string path, std::unique_ptr<server::WritableFile> base)
        : disk_(disk), path_(std::move(path)), base_(std::move(base)) {}
    // A write may reach the file in two parts, with a moment between them.
    core::Status Write(std::string_view bytes) override {
      const size_t first = disk_.random_.Below(bytes.size() + 1);
      return disk_.Step(
          "write", path_, [&] { return base_->Write(bytes); }, kWriteNs,
          [&] { return base_->Write(bytes.substr(0, first)); }, [&] { return base_->Write(bytes.substr(first)); });
    }
    core::Status Sync() override {
      return disk_.Step("sync", path_, disk_.Honest([&] { return base_->Sync(); }), kSyncNs);
    }
    core::Status Close() override { return base_->Close(); }

   private:
    SimulatedDisk& disk_;
    const std::string path_;
    const std::unique_ptr<server::WritableFile> base_;
  };

  static void Take(int64_t ns) {
    if (Scheduler* scheduler = Scheduler::Current()) scheduler->SleepUntil(scheduler->now_ns() + ns);
  }

  const Fault* FaultOf(uint64_t step, Fault::Kind kind) const {
    for (const Fault& fault : faults_) {
      const bool is_its = step >= fault.from_step && step < fault.from_step + fault.steps;
      if (is_its && fault.kind == kind && !has_crashed()) return &fault;
    }
    return nullptr;
  }
  bool IsRefused(uint64_t step) const { return FaultOf(step, Fault::Kind::kRefuse) != nullptr; }
  // Returns a sync that is not done where the script has the disk lie.
  Act Honest(Act sync) {
    return [this, sync = std::move(sync)] {
      return FaultOf(steps_, Fault::Kind::kLie) != nullptr ? core::Status() : sync();
    };
  }
  int64_t TimeOf(uint64_t step, int64_t usual_ns) {
    const Fault* const slow = FaultOf(step, Fault::Kind::kSlow);
    if (slow == nullptr) return static_cast<int64_t>(random_.Magnitude(static_cast<uint64_t>(usual_ns)));
    return static_cast<int64_t>(random_.Below(static_cast<uint64_t>(slow->most_ms) * 1'000'000));
  }

  core::Status Step(const char* what, const std::string& path, const Act& act, int64_t usual_ns = kWriteNs,
                    const Act& first = {}, const Act& rest = {}) {
    const uint64_t step = ++steps_;
    const int64_t time_ns = TimeOf(step, usual_ns);
    spdlog::debug("disk: step {}: {} {}{}", step, what, path, IsRefused(step) ? ", which is refused" : "");
    longest_ns_ = std::max(longest_ns_, time_ns);
    Take(time_ns / 2);
    if (step != crash_step_ || has_crashed()) {
      const core::Status status = IsRefused(step) ? Refusal(path, first) : act();
      Take(time_ns / 2);
      return status;
    }
    switch (random_.Below(3)) {
      case 0:
        KeepWhatIsLeft();
        return act();
      case 1:
        if (!first) break;
        if (core::Status status = first(); !status) return status;
        KeepWhatIsLeft();
        return rest();
      default:
        break;
    }
    core::Status status = act();
    KeepWhatIsLeft();
    return status;
  }

  // Nothing is done, or a part of a write.
  core::Status Refusal(const std::string& path, const Act& first) {
    ++refused_;
    if (first && random_.OneIn(2)) (void)first();
    return core::Fail(core::ErrorCode::kIo, path + ": No space left on device");
  }

  // Another thread may have been first while this step took its time.
  void KeepWhatIsLeft() {
    if (std::exchange(has_crashed_, true)) return;
    if (on_crash_) on_crash_();
    spdlog::debug("disk: crash, {}", kind_ == CrashKind::kKill ? "of the process" : "of the machine");
    if (kind_ == CrashKind::kKill) {
      left_.emplace(content_.Copy());
    } else {
      left_.emplace(content_.AfterPowerFailure([this](uint64_t limit) { return random_.Below(limit); }));
    }
    for (const auto& [path, bytes] : left_->All()) spdlog::debug("disk: {} has {} bytes left", path, bytes.size());
  }

  server::MemoryDisk content_;
  Random& random_;
  bool has_crashed_ = false;
  std::optional<server::MemoryDisk> left_;
  std::function<void()> on_crash_;
  uint64_t steps_ = 0;
  uint64_t crash_step_ = 0;
  CrashKind kind_ = CrashKind::kKill;
  std::vector<Fault> faults_;
  uint64_t refused_ = 0;
  int64_t longest_ns_ = 0;
};

}  // namespace bitsieve::simulation
