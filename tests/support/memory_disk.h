// memory_disk.h: a disk in memory that can lose power: data that was not synced by then is lost, but no directory is.
// Thread-safe.
#pragma once

#include <algorithm>
#include <cstring>
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

  MemoryDisk() { directories_[""]; }

  core::Result<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    Directory* directory = Find(Parent(path));
    if (directory == nullptr) return NotFound(path);
    const auto file = std::make_shared<File>();
    auto writer = std::make_unique<Writer>(*this, file);
    directory->names[Name(path)] = file;
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
    File& file = *directory->names.at(Name(path));
    file.durable_bytes = file.bytes;
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
    target->names[Name(to)] = source->names.at(from_name);
    source->names.erase(from_name);
    return {};
  }

  core::Status Remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (Directory* directory = Find(Parent(path)); directory != nullptr) directory->names.erase(Name(path));
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
    const auto copied = [&](const std::shared_ptr<File>& file) {
      std::shared_ptr<File>& copy = copies[file.get()];
      if (copy == nullptr) copy = std::make_shared<File>(*file);
      return copy;
    };
    std::map<std::string, Directory> directories = directories_;
    for (auto& [path, directory] : directories) {
      for (auto& [name, file] : directory.names) file = copied(file);
      for (auto& [name, file] : directory.durable_names) file = copied(file);
    }
    return MemoryDisk(std::move(directories));
  }

  // Simulates a machine that goes down and comes up again. No file or lock may be open.
  void LosePower(UnsyncedNames unsynced) {
    const std::lock_guard lock(mutex_);
    for (auto& [path, directory] : directories_) {
      if (unsynced == UnsyncedNames::kLost) directory.names = directory.durable_names;
      directory.durable_names = directory.names;
    }
    for (auto& [path, directory] : directories_) {
      for (auto& [name, file] : directory.names) file->bytes = file->durable_bytes;
    }
    locked_.clear();
  }

  // Writes the contents directly, durably.
  void Put(const std::string& path, std::string bytes) {
    const std::lock_guard lock(mutex_);
    auto file = std::make_shared<File>();
    file->bytes = file->durable_bytes = std::move(bytes);
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
  struct File {
    std::string bytes;
    std::string durable_bytes;
  };
  struct Directory {
    std::map<std::string, std::shared_ptr<File>> names;
    std::map<std::string, std::shared_ptr<File>> durable_names;
  };

  explicit MemoryDisk(std::map<std::string, Directory> directories) : directories_(std::move(directories)) {}

  class Writer final : public WritableFile {
   public:
    Writer(MemoryDisk& disk, std::shared_ptr<File> file) : disk_(disk), file_(std::move(file)) {}
    core::Status Write(std::string_view bytes) override {
      const std::lock_guard lock(disk_.mutex_);
      file_->bytes.append(bytes);
      return {};
    }
    core::Status Sync() override {
      const std::lock_guard lock(disk_.mutex_);
      file_->durable_bytes = file_->bytes;
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
