// memory_disk.h: a disk in memory that can lose power. What was not synced by then is lost, or any part of it is: some
// of the bytes and some of the names, in any order. No directory is lost. Thread-safe.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

class MemoryDisk final : public Disk {
 public:
  // Selects what a power failure leaves of names that were changed but not synced. (Unsynced bytes are always lost.)
  enum class UnsyncedNames { kLost, kKept };

  // Returns a number from 0 to `limit` - 1.
  using Draw = std::function<uint64_t(uint64_t limit)>;

  MemoryDisk() { directories_[""]; }
  // No file or lock of either disk may be open.
  MemoryDisk(MemoryDisk&& other) noexcept : directories_(std::move(other.directories_)) {}
  MemoryDisk& operator=(MemoryDisk&& other) noexcept {
    directories_ = std::move(other.directories_);
    locked_.clear();
    return *this;
  }

  core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Directory* directory = Find(Parent(path));
    if (directory == nullptr) return NotFound(path);
    const auto file = std::make_shared<File>();
    auto writer = std::make_unique<Writer>(*this, file);
    directory->Set(Name(path), file);
    return writer;
  }

  core::Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    const Directory* directory = Find(Parent(path));
    if (directory == nullptr || !directory->names.contains(Name(path))) return NotFound(path);
    return std::make_unique<Reader>(path, directory->names.at(Name(path))->bytes);
  }

  core::Status SyncFile(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Directory* directory = Find(Parent(path));
    if (directory == nullptr || !directory->names.contains(Name(path))) return NotFound(path);
    directory->names.at(Name(path))->Sync();
    return {};
  }

  core::Status Rename(const std::string& from, const std::string& to) override {
    const std::lock_guard lock(mutex_);
    if (Find(from) != nullptr) {
      RenameDirectory(from, to);
      return {};
    }
    Directory* source = Find(Parent(from));
    Directory* target = Find(Parent(to));
    if (source == nullptr || target == nullptr || !source->names.contains(Name(from))) return NotFound(from);
    const std::string from_name = Name(from);
    target->Set(Name(to), source->names.at(from_name));
    source->Set(from_name, nullptr);
    return {};
  }

  core::Status Remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (Directory* directory = Find(Parent(path)); directory != nullptr) directory->Set(Name(path), nullptr);
    if (const Directory* empty = Find(path); empty != nullptr && empty->names.empty()) directories_.erase(path);
    return {};
  }

  core::Status CreateDirectory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    for (std::string missing = path; Find(missing) == nullptr; missing = Parent(missing)) directories_[missing];
    return {};
  }

  core::Status SyncDirectory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Directory* directory = Find(path);
    if (directory == nullptr) return NotFound(path);
    auto names = directory->names;  // aside: a copy that memory is refused for takes nothing away
    directory->durable_names.swap(names);
    directory->unsynced.clear();
    return {};
  }

  core::Result<std::vector<std::string>> List(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    const Directory* directory = Find(path);
    if (directory == nullptr) return NotFound(path);
    std::vector<std::string> names;
    for (const auto& [name, file] : directory->names) names.push_back(name);
    for (const auto& [other, ignored] : directories_) {
      if (!other.empty() && Parent(other) == path) names.push_back(Name(other));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  core::Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (!locked_.insert(path).second) {
      return core::Fail(core::ErrorCode::kIo, path + ": held by somebody in this process");
    }
    return std::make_unique<Locked>(*this, path);
  }

  std::string LockHolder(const std::string& path) const override {
    const std::lock_guard lock(mutex_);
    return locked_.contains(path) ? "somebody in this process" : "";
  }

  // Returns another disk that holds the same, durably or not.
  MemoryDisk Copy() const {
    const std::lock_guard lock(mutex_);
    std::map<const File*, std::shared_ptr<File>> copies;
    std::map<std::string, Directory> directories = directories_;
    for (auto& [path, directory] : directories) {
      directory.Replace([&](const std::shared_ptr<File>& file) -> std::shared_ptr<File> {
        std::shared_ptr<File>& copy = copies[file.get()];
        if (copy == nullptr && file != nullptr) copy = std::make_shared<File>(*file);
        return copy;
      });
    }
    return MemoryDisk(std::move(directories));
  }

  // Returns the disk that a power failure at this moment may leave: of each file what was synced and any part of the
  // writes since then, with zeros where one is missing before another; for each name any of the files that it named
  // since its directory was synced. This disk stays as it is.
  MemoryDisk AfterPowerFailure(const Draw& draw) const {
    MemoryDisk left = Copy();
    std::set<File*> files;
    for (auto& [path, directory] : left.directories_) {
      for (const auto& [name, past] : directory.unsynced) {
        const uint64_t kept = draw(past.size() + 1);
        if (kept == 0) continue;  // as it was synced
        directory.SetDurable(name, past[kept - 1]);
      }
      directory.unsynced.clear();
      directory.names = directory.durable_names;
      for (const auto& [name, file] : directory.names) files.insert(file.get());
    }
    // By name, not by address: the numbers that are drawn must mean the same in each run.
    for (auto& [path, directory] : left.directories_) {
      for (const auto& [name, file] : directory.names) {
        if (files.erase(file.get()) != 0) file->LoseSome(draw);
      }
    }
    return left;
  }

  // Simulates a machine that goes down and comes up again. No file or lock may be open.
  void LosePower(UnsyncedNames unsynced) {
    const std::lock_guard lock(mutex_);
    for (auto& [path, directory] : directories_) {
      if (unsynced == UnsyncedNames::kLost) directory.names = directory.durable_names;
      directory.durable_names = directory.names;
      directory.unsynced.clear();
    }
    for (auto& [path, directory] : directories_) {
      for (auto& [name, file] : directory.names) file->LoseAll();
    }
    locked_.clear();
  }

  // Writes the contents directly, durably.
  void Put(const std::string& path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    auto file = std::make_shared<File>();
    file->bytes = std::move(bytes);
    file->Sync();
    Directory& directory = directories_[Parent(path)];
    directory.names[Name(path)] = directory.durable_names[Name(path)] = file;
  }
  std::string Get(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    return directories_.at(Parent(path)).names.at(Name(path))->bytes;
  }
  // Returns every file with its bytes, by path.
  std::map<std::string, std::string> All() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, std::string> all;
    for (const auto& [path, directory] : directories_) {
      for (const auto& [name, file] : directory.names) all[path + "/" + name] = file->bytes;
    }
    return all;
  }

 private:
  // Files are written from their start to their end.
  struct File {
    std::string bytes;
    size_t durable_size = 0;
    std::vector<size_t> unsynced;  // where each write since then began

    void Sync() {
      durable_size = bytes.size();
      unsynced.clear();
    }
    void LoseAll() {
      bytes.resize(durable_size);
      unsynced.clear();
    }
    // Keeps all writes, none, those before some byte, or any of them, one of which is torn.
    void LoseSome(const Draw& draw) {
      const size_t lost = bytes.size() - durable_size;
      if (lost == 0) return;
      switch (draw(4)) {
        case 0:
          break;
        case 1:
          bytes.resize(durable_size);
          break;
        case 2:
          bytes.resize(durable_size + draw(lost));
          break;
        default:
          LoseAnyWrites(draw);
      }
      Sync();
    }
    void LoseAnyWrites(const Draw& draw) {
      size_t end = durable_size;
      for (size_t i = 0; i < unsynced.size(); ++i) {
        const size_t from = unsynced[i];
        const size_t to = i + 1 < unsynced.size() ? unsynced[i + 1] : bytes.size();
        const uint64_t fate = draw(3);
        const size_t kept = fate == 0 ? from : fate == 1 ? to : from + draw(to - from + 1);
        std::fill(bytes.begin() + static_cast<ptrdiff_t>(kept), bytes.begin() + static_cast<ptrdiff_t>(to), '\0');
        if (kept != from) end = kept;
      }
      bytes.resize(end);
    }
  };
  struct Directory {
    std::map<std::string, std::shared_ptr<File>> names;
    std::map<std::string, std::shared_ptr<File>> durable_names;
    std::map<std::string, std::vector<std::shared_ptr<File>>> unsynced;  // each name's files since; null: none

    void Set(const std::string& name, const std::shared_ptr<File>& file) {
      if (file == nullptr && !names.contains(name)) return;
      unsynced[name].push_back(file);
      Set(names, name, file);
    }
    void SetDurable(const std::string& name, const std::shared_ptr<File>& file) { Set(durable_names, name, file); }
    template <class Copied>
    void Replace(Copied&& copied) {
      for (auto& [name, file] : names) file = copied(file);
      for (auto& [name, file] : durable_names) file = copied(file);
      for (auto& [name, files] : unsynced) {
        for (auto& file : files) file = copied(file);
      }
    }

   private:
    static void Set(std::map<std::string, std::shared_ptr<File>>& all, const std::string& name,
                    const std::shared_ptr<File>& file) {
      if (file == nullptr) {
        all.erase(name);
      } else {
        all[name] = file;
      }
    }
  };

  explicit MemoryDisk(std::map<std::string, Directory> directories) : directories_(std::move(directories)) {}

  class Writer final : public WritableFile {
   public:
    Writer(MemoryDisk& disk, std::shared_ptr<File> file) : disk_(disk), file_(std::move(file)) {}
    core::Status Write(std::string_view bytes) override {
      const std::lock_guard lock(disk_.mutex_);
      if (!bytes.empty()) file_->unsynced.push_back(file_->bytes.size());
      file_->bytes.append(bytes);
      return {};
    }
    core::Status Sync() override {
      const std::lock_guard lock(disk_.mutex_);
      file_->Sync();
      return {};
    }
    core::Status Close() override { return {}; }

   private:
    MemoryDisk& disk_;
    const std::shared_ptr<File> file_;
  };

  class Reader final : public ReadableFile {
   public:
    Reader(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}
    uint64_t size() const override { return bytes_.size(); }
    core::Status ReadAt(uint64_t offset, std::span<std::byte> out) const override {
      if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
        return core::Fail(core::ErrorCode::kIo, path_ + ": ends at byte " + std::to_string(bytes_.size()));
      }
      if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
      return {};
    }

   private:
    const std::string path_;
    const std::string bytes_;
  };

  class Locked final : public FileLock {
   public:
    Locked(MemoryDisk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
    ~Locked() override {
      const std::lock_guard lock(disk_.mutex_);
      disk_.locked_.erase(path_);
    }

   private:
    MemoryDisk& disk_;
    const std::string path_;
  };

  void RenameDirectory(const std::string& from, const std::string& to) {
    std::map<std::string, Directory> renamed;
    for (auto& [path, directory] : directories_) {
      const bool moves = path == from || path.starts_with(from + "/");
      renamed[moves ? to + path.substr(from.size()) : path] = std::move(directory);
    }
    directories_ = std::move(renamed);
  }
  static std::string Parent(const std::string& path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }
  static std::string Name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  static tl::unexpected<core::Error> NotFound(const std::string& path) {
    return core::Fail(core::ErrorCode::kIo, path + ": No such file or directory");
  }
  Directory* Find(const std::string& path) {
    const auto found = directories_.find(path);
    return found == directories_.end() ? nullptr : &found->second;
  }
  const Directory* Find(const std::string& path) const { return const_cast<MemoryDisk*>(this)->Find(path); }

  mutable std::mutex mutex_;
  // Protected by mutex_.
  std::map<std::string, Directory> directories_;
  std::set<std::string> locked_;
};

}  // namespace bitsieve::server
