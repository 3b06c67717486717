// keyspace_recorder.h: writes the changes of a registry and of its filters to the log, in the order in which they
// happen. It numbers the filters. Whole contents are written by the thread that brings them, not by the log's.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/filter/filter.h"
#include "core/memory/image_part.h"
#include "server/keyspace/keyspace_log.h"
#include "server/persistence/log/appended_records.h"
#include "server/persistence/log/log_content.h"
#include "server/persistence/log/log_writer.h"

namespace bitsieve::server {

class KeyspaceRecorder final : public KeyspaceLog, public core::ChangeListener {
 public:
  // The writer outlives the recorder and all that it announced; the recorder outlives every filter it adopted or is
  // detached before.
  KeyspaceRecorder(LogWriter& log, const ContentWriter& contents, const core::ImagePool& image_pool,
                   uint64_t next_filter_id) {
    Begin(log, contents, image_pool, next_filter_id);
  }
  // Makes a listener for filters that are loaded before there is a log: nothing may change before Begin.
  KeyspaceRecorder() = default;
  void Begin(LogWriter& log, const ContentWriter& contents, const core::ImagePool& image_pool,
             uint64_t next_filter_id) {
    log_ = &log;
    contents_.emplace(contents);
    image_pool_.emplace(image_pool);
    next_filter_id_.store(next_filter_id, std::memory_order_relaxed);
  }

  core::ChangeListener& listener() override { return *this; }
  LogWriter& log() { return *log_; }
  // Returns a number above every one that was given.
  uint64_t next_filter_id() const { return next_filter_id_.load(std::memory_order_relaxed); }
  // Returns whether the log has every change so far, or will have: false once the outcome of a rewrite was refused,
  // unless that was for lack of memory and has been made up for.
  bool IsComplete() const { return is_complete_.load(std::memory_order_relaxed) && !HasUnkept(); }
  // Returns whether the outcome of a rewrite could not be logged for lack of memory. What is logged of such a filter
  // does not lead to what it is in memory, so changes are to be refused until KeepAgain() has logged its content.
  bool HasUnkept() const { return unkept_count_.load(std::memory_order_relaxed) != 0; }
  // Tries to log these contents again. Takes as long as the disk needs to make a large filter durable.
  void KeepAgain();
  core::Result<std::unique_ptr<commands::PreparedContent>> Prepare(const commands::FilterPtr& filter) override;
  AnnouncementPtr Named(std::string_view name, const commands::FilterPtr& filter, int64_t expires_ms) override;
  AnnouncementPtr Unnamed(std::string_view name) override;
  AnnouncementPtr Renamed(std::string_view from, std::string_view to) override;
  AnnouncementPtr ExpirySet(std::string_view name, int64_t expires_ms) override;
  AnnouncementPtr Flushed() override;
  core::Status Rewritten(const commands::FilterPtr& filter) override;
  AnnouncementPtr Freezing(const core::Filter& filter) override;

  bool Reserve(size_t hashes) noexcept override { return log_->appended().Reserve(log::MaxChangeBytes(hashes)); }
  void Release(size_t hashes) noexcept override { log_->appended().Release(log::MaxChangeBytes(hashes)); }
  void OnChange(const core::Change& change, size_t reserved) noexcept override {
    log_->appended().Append(change, log::MaxChangeBytes(reserved));
  }

 private:
  class Announced;
  class Prepared;

  core::Status DoRewritten(const commands::FilterPtr& filter);
  void PutOff(const commands::FilterPtr& filter);
  // Adds the content of a modified filter, which is about to be named and to get this id, to the entry.
  void AddContent(AppendedRecords::Entry& entry, const core::Filter& filter, uint64_t id);
  // Records that the filter's content is in the log: what was prepared for it is needed.
  void MarkAdopted(const core::Filter& filter) noexcept;
  AnnouncementPtr Announce(const log::Record& record);

  // These three are constant once it has begun.
  LogWriter* log_ = nullptr;
  std::optional<ContentWriter> contents_;
  std::optional<core::ImagePool> image_pool_;  // of contents while they are written
  std::atomic<uint64_t> next_filter_id_{1};    // relaxed: only uniqueness matters
  std::atomic<bool> is_complete_{true};        // relaxed: the change that was refused is not acknowledged
  std::atomic<size_t> unkept_count_{0};        // relaxed: likewise; of unkept_, and of those that KeepAgain works on

  core::Mutex mutex_;
  std::list<commands::FilterPtr> unkept_ BITSIEVE_GUARDED_BY(mutex_);
  std::unordered_map<const core::Filter*, Prepared*> prepared_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
