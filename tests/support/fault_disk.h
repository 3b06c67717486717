// fault_disk.h: wraps another disk, and fails or ends the process at one chosen step, or fails one chosen reading. A
// step is a call that changes the disk; a reading opens, lists or reads. Thread-safe.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

struct Fault {
  enum class Kind {
    kFail,        // the step is not done
    kFailFromOn,  // nor is any after it
    kShortWrite,  // half of the bytes are written, then the step fails; other steps as kFail
    kKillBefore,  // SIGKILL
    kKillWithin,  // half of the bytes are written, then SIGKILL; other steps as kKillAfter
    kKillAfter,
  };
  uint64_t step = 0;  // counted from 1; 0: never
  Kind kind = Kind::kFail;
  std::string reason = "No space left on device";
};

class FaultDisk final : public Disk {
 public:
  explicit FaultDisk(Disk& base) : base_(base) {}

  // Counts steps from here on.
  void SetFault(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
    steps_ = 0;
    log_.clear();
  }
  uint64_t steps() const {
    const std::lock_guard lock(mutex_);
    return steps_;
  }
  // Fails the given reading, counted from 1 and from here on; 0: none.
  void FailReading(uint64_t reading) {
    const std::lock_guard lock(mutex_);
    failing_reading_ = reading;
    readings_ = 0;
  }
  uint64_t readings() const {
    const std::lock_guard lock(mutex_);
    return readings_;
  }
  // Called before each step, by the thread that takes it, with what log() has of it.
  void SetHook(std::function<void(const std::string& step)> hook) {
    const std::lock_guard lock(mutex_);
    hook_ = std::move(hook);
  }
  // "create /d/MANIFEST.tmp" and so on, in order.
  std::vector<std::string> log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    std::unique_ptr<WritableFile> made;
    core::Status status = Step("create", path, [&]() -> core::Status {
      core::Result<std::unique_ptr<WritableFile>> file = base_.Create(path);
      if (!file) return tl::unexpected(file.error());
      made = std::make_unique<File>(*this, path, std::move(*file));
      return {};
    });
    if (!status) return tl::unexpected(std::move(status.error()));
    return made;
  }
  core::Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override {
    if (core::Status status = Read("open", path); !status) return tl::unexpected(status.error());
    core::Result<std::unique_ptr<ReadableFile>> file = base_.Open(path);
    if (!file) return file;
    return std::make_unique<ReadFile>(*this, path, std::move(*file));
  }
  core::Status SyncFile(const std::string& path) override {
    return Step("sync", path, [&] { return base_.SyncFile(path); });
  }
  core::Status Rename(const std::string& from, const std::string& to) override {
    return Step("rename", from, [&] { return base_.Rename(from, to); });
  }
  core::Status Remove(const std::string& path) override {
    return Step("remove", path, [&] { return base_.Remove(path); });
  }
  core::Status CreateDirectory(const std::string& path) override {
    return Step("create directory", path, [&] { return base_.CreateDirectory(path); });
  }
  core::Status SyncDirectory(const std::string& path) override {
    return Step("sync directory", path, [&] { return base_.SyncDirectory(path); });
  }
  core::Result<std::vector<std::string>> List(const std::string& path) const override {
    if (core::Status status = Read("list", path); !status) return tl::unexpected(status.error());
    return base_.List(path);
  }
  core::Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return base_.Lock(path); }
  std::string LockHolder(const std::string& path) const override { return base_.LockHolder(path); }

 private:
  using Act = std::function<core::Status()>;

  class File final : public WritableFile {
   public:
    File(FaultDisk& disk, std::string path, std::unique_ptr<WritableFile> base)
        : disk_(disk), path_(std::move(path)), base_(std::move(base)) {}
    core::Status Write(std::string_view bytes) override {
      return disk_.Step(
          "write", path_, [&] { return base_->Write(bytes); },
          [&] { return base_->Write(bytes.substr(0, bytes.size() / 2)); });
    }
    core::Status Sync() override {
      return disk_.Step("sync", path_, [&] { return base_->Sync(); });
    }
    core::Status Close() override {
      return disk_.Step("close", path_, [&] { return base_->Close(); });
    }

   private:
    FaultDisk& disk_;
    const std::string path_;
    const std::unique_ptr<WritableFile> base_;
  };

  class ReadFile final : public ReadableFile {
   public:
    ReadFile(const FaultDisk& disk, std::string path, std::unique_ptr<ReadableFile> base)
        : disk_(disk), path_(std::move(path)), base_(std::move(base)) {}
    uint64_t size() const override { return base_->size(); }
    core::Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
      if (core::Status status = disk_.Read("read", path_); !status) return status;
      return base_->ReadAt(offset, out);
    }

   private:
    const FaultDisk& disk_;
    const std::string path_;
    const std::unique_ptr<ReadableFile> base_;
  };

  core::Status Read(const std::string& what, const std::string& path) const {
    const std::lock_guard lock(mutex_);
    if (++readings_ != failing_reading_) return {};
    return core::Fail(core::ErrorCode::kIo, path + ": cannot " + what + ": Input/output error");
  }
  core::Status Step(const std::string& what, const std::string& path, const Act& act, const Act& half = {}) {
    Fault fault;
    bool hit;
    std::function<void(const std::string&)> hook;
    {
      const std::lock_guard lock(mutex_);
      log_.push_back(what + " " + path);
      hook = hook_;
      fault = fault_;
      ++steps_;
      hit =
          fault.step != 0 && (steps_ == fault.step || (fault.kind == Fault::Kind::kFailFromOn && steps_ > fault.step));
    }
    if (hook) hook(what + " " + path);
    if (!hit) return act();
    const bool kills = fault.kind >= Fault::Kind::kKillBefore;
    const bool halves = fault.kind == Fault::Kind::kShortWrite || fault.kind == Fault::Kind::kKillWithin;
    if (halves && half) {
      (void)half();
    } else if (kills && fault.kind != Fault::Kind::kKillBefore) {
      (void)act();
    }
    if (kills) std::raise(SIGKILL);
    return core::Fail(core::ErrorCode::kIo, path + ": cannot " + what + ": " + fault.reason);
  }

  Disk& base_;
  mutable std::mutex mutex_;
  // Protected by mutex_.
  Fault fault_;
  uint64_t steps_ = 0;
  std::vector<std::string> log_;
  std::function<void(const std::string&)> hook_;
  uint64_t failing_reading_ = 0;
  mutable uint64_t readings_ = 0;
};

}  // namespace bitsieve::server
