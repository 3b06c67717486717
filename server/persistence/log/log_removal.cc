#include "server/persistence/log/log_removal.h"

#include <spdlog/spdlog.h>

#include <list>
#include <string>
#include <utility>

#include "core/base/out_of_memory.h"
#include "core/base/roll_back.h"
#include "server/persistence/log/log_reader.h"

namespace bitsieve::server {

LogRemoval::LogRemoval(DataDirectory& directory, AppendedRecords& appended, uint64_t first_kept,
                       std::function<void()> on_end)
    : directory_(directory), appended_(appended), on_end_(std::move(on_end)), first_kept_(first_kept) {}

bool LogRemoval::CanBegin(uint64_t position) const {
  return position > first_kept() && (!job_.has_begun() || job_.is_done());
}

void LogRemoval::Begin(uint64_t position) {
  const auto remove = [this, position] { return Remove(position); };
  const bool runs = job_.Begin(remove, [this](const core::Status& outcome) {
    if (outcome) on_end_();
  });
  if (!runs) (void)core::OrOutOfMemory(remove);
}

void LogRemoval::Wait() {
  if (job_.has_begun()) (void)job_.TakeOutcome();
}

core::Status LogRemoval::Remove(uint64_t position) {
  for (const std::string& warning : RemoveLogBefore(directory_.disk(), directory_.log_path(), position)) {
    spdlog::warn("an obsolete segment of the log is left over: {}", warning);
  }
  RemoveFilterFiles(position);
  first_kept_.store(position, std::memory_order_relaxed);
  return {};
}

void LogRemoval::RemoveFilterFiles(uint64_t position) {
  std::list<log::FilterFile> obsolete = appended_.TakeFilterFilesBefore(position);
  const core::RollBack not_removed([&] { appended_.PutBackFilterFiles(obsolete); });
  std::erase_if(obsolete, [this](const log::FilterFile& file) {
    return directory_.disk().Remove(directory_.FilterPath(file.file_id)).has_value();
  });
}

}  // namespace bitsieve::server
