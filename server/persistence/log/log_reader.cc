#include "server/persistence/log/log_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "server/persistence/log/log_current.h"

namespace bitsieve::server {
namespace {

// One reading of a log, from front to back. Stops for good where something cannot be read.
class LogScanner {
 public:
  LogScanner(const Disk& disk, const std::vector<LogFile>& files, uint64_t from, const VisitRecord& visit,
             std::optional<uint64_t> newest)
      : disk_(disk), files_(files), from_(from), position_(from), visit_(visit), newest_(newest) {}

  core::Result<LogScan> Run() {
    size_t index = FirstFile();
    if (index < files_.size()) position_ = std::min(files_[index].start, from_);
    for (; index < files_.size() && !stopped_; ++index) {
      if (core::Status status = ReadFile(index); !status) return tl::unexpected(std::move(status.error()));
    }
    scan_.end = std::max(position_, from_);
    CheckNewest();
    return std::move(scan_);
  }

 private:
  struct Cut {
    uint64_t offset;          // the first byte that does not count
    uint64_t search_from;     // where readable frames may follow
    std::string_view behind;  // records of the same frame that follow; of one that is readable
    bool damage;              // for certain, regardless of what follows
    std::string reason;
  };

  size_t FirstFile() const;
  bool IsLast(size_t index) const { return index + 1 == files_.size(); }
  // Where the next segment begins: what this one has beyond was written again there.
  uint64_t LimitOf(size_t index) const {
    return IsLast(index) ? std::numeric_limits<uint64_t>::max() : files_[index + 1].start;
  }
  core::Result<LogSegmentReader> Open(size_t index) const {
    return LogSegmentReader::Open(disk_, files_[index].path, files_[index].start);
  }
  core::Status ReadFile(size_t index);
  core::Status ReadFrames(size_t index, LogSegmentReader& reader);
  core::Result<std::string_view> ReadFrame(LogSegmentReader& reader, const LogFrameHead& frame);
  core::Status VisitRecords(size_t index, LogSegmentReader& reader, const LogFrameHead& frame,
                            std::string_view records);
  core::Status VisitOne(const LogSegmentReader& reader, uint64_t offset, uint64_t limit, std::string_view& rest);
  core::Status Stop(size_t index, LogSegmentReader& reader, Cut at);
  core::Result<std::optional<uint64_t>> FindNeeded(LogSegmentReader& reader, uint64_t offset);
  core::Status CountLost(size_t index, LogSegmentReader& reader, uint64_t offset, LogCut& cut, bool& damage);
  core::Status CountLostFiles(size_t index, LogCut& cut, bool& damage);
  uint64_t CountRecords(std::string_view records);
  void CheckNewest();

  const Disk& disk_;
  const std::vector<LogFile>& files_;
  const uint64_t from_;
  uint64_t position_;  // after all that counts so far
  const VisitRecord& visit_;
  const std::optional<uint64_t> newest_;  // where the newest segment begins, if that is known
  log::Record record_;                    // reused
  bool stopped_ = false;
  LogScan scan_;
};

// The last one that begins at or below `from`; what lies before it is not needed.
size_t LogScanner::FirstFile() const {
  const auto beyond = std::upper_bound(files_.begin(), files_.end(), from_,
                                       [](uint64_t from, const LogFile& file) { return from < file.start; });
  return beyond == files_.begin() ? 0 : static_cast<size_t>(beyond - files_.begin()) - 1;
}

core::Status LogScanner::ReadFile(size_t index) {
  core::Result<LogSegmentReader> reader = Open(index);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  scan_.bytes += reader->size();
  const core::Status head = reader->ReadHead();
  if (!head && head.error().code != core::ErrorCode::kCorrupt) return head;
  if (files_[index].start > position_) {
    const core::Status gap =
        reader->Corrupt(0, "the segment begins at position " + std::to_string(files_[index].start) +
                               ", but the log from position " + std::to_string(position_) + " to there is missing");
    return Stop(index, *reader, {0, kLogHeadBytes, {}, true, gap.error().message});
  }
  if (!head) {
    // A log without CURRENT may be of a server that wrote the head in place: a crash left a last file without frames.
    const bool damage = newest_ || !IsLast(index) || reader->size() > kLogHeadBytes;
    return Stop(index, *reader, {0, kLogHeadBytes, {}, damage, head.error().message});
  }
  return ReadFrames(index, *reader);
}

core::Status LogScanner::ReadFrames(size_t index, LogSegmentReader& reader) {
  const uint64_t limit = LimitOf(index);
  for (uint64_t offset = kLogHeadBytes; offset < reader.size() && position_ < limit && !stopped_;) {
    const core::Result<LogFrameHead> frame = reader.ReadFrameHead(offset);
    core::Result<std::string_view> records =
        frame ? ReadFrame(reader, *frame) : core::Result<std::string_view>(tl::unexpected(frame.error()));
    if (!records && records.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(records.error());
    if (!records && position_ < from_) {
      const auto needed = FindNeeded(reader, offset);
      if (!needed) return tl::unexpected(needed.error());
      if (*needed) {
        offset = **needed;
        continue;
      }
    }
    if (!records) return Stop(index, reader, {offset, offset, {}, false, records.error().message});
    if (core::Status status = VisitRecords(index, reader, *frame, *records); !status) return status;
    offset = frame->end_offset();
  }
  return {};
}

// Returns the offset of the frame in which `from` lies, and continues at its position; nothing if it cannot be read. No
// frame below it is needed: a snapshot may be complete before the log is written.
core::Result<std::optional<uint64_t>> LogScanner::FindNeeded(LogSegmentReader& reader, uint64_t offset) {
  for (;;) {
    const auto frame = reader.FindFrame(offset);
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame || (*frame)->position > from_) return std::nullopt;
    offset = (*frame)->offset + 1;
    if ((*frame)->position < position_ || (*frame)->position + (*frame)->bytes <= from_) continue;
    const core::Result<std::string_view> records = reader.ReadRecords(**frame);
    if (!records && records.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(records.error());
    if (!records) continue;
    position_ = (*frame)->position;
    return (*frame)->offset;
  }
}

core::Result<std::string_view> LogScanner::ReadFrame(LogSegmentReader& reader, const LogFrameHead& frame) {
  if (frame.position == position_) return reader.ReadRecords(frame);
  return reader.Corrupt(frame.offset, "a frame of position " + std::to_string(frame.position) + " where " +
                                          std::to_string(position_) + " should follow");
}

core::Status LogScanner::VisitRecords(size_t index, LogSegmentReader& reader, const LogFrameHead& frame,
                                      std::string_view records) {
  const uint64_t limit = LimitOf(index);
  std::string_view rest = records;
  while (!rest.empty() && position_ < limit) {
    const uint64_t offset = frame.end_offset() - rest.size();
    core::Status status = VisitOne(reader, offset, limit, rest);
    if (!status && status.error().code != core::ErrorCode::kCorrupt) return status;
    // The frame is as it was written: no crash leaves such a record.
    if (!status) return Stop(index, reader, {offset, frame.end_offset(), rest, true, status.error().message});
  }
  return {};
}

// Takes the record off `rest`; also a refused one, if its end can be determined.
core::Status LogScanner::VisitOne(const LogSegmentReader& reader, uint64_t offset, uint64_t limit,
                                  std::string_view& rest) {
  const size_t before = rest.size();
  if (const core::Status status = log::Decode(rest, record_); !status) {
    rest = {};
    return reader.Corrupt(offset, status.error().message);
  }
  const uint64_t end = position_ + (before - rest.size());
  if (end > limit) {
    return reader.Corrupt(
        offset, "a record that ends at position " + std::to_string(end) + ", beyond the beginning of the next segment");
  }
  if (position_ >= from_) {
    const core::Status status = visit_(position_, record_);
    if (!status) return reader.Fail(status.error().code, offset, status.error().message);
    ++scan_.records;
  }
  position_ = end;
  return {};
}

// Nothing from here on counts. It is damage if a later segment or a later frame shows that the log was durable beyond
// this position, and beyond what is in the snapshot anyway.
core::Status LogScanner::Stop(size_t index, LogSegmentReader& reader, Cut at) {
  stopped_ = true;
  bool damage = at.damage || !IsLast(index) || (newest_ && *newest_ > files_[index].start);
  LogCut cut{files_[index].path, at.offset, position_, reader.size() - at.offset, CountRecords(at.behind), at.reason};
  if (core::Status status = CountLost(index, reader, at.search_from, cut, damage); !status) return status;
  if (core::Status status = CountLostFiles(index + 1, cut, damage); !status) return status;
  (damage ? scan_.damage : scan_.torn) = std::move(cut);
  return {};
}

// Counts the records in frames at or after `offset`, wherever one begins.
core::Status LogScanner::CountLost(size_t index, LogSegmentReader& reader, uint64_t offset, LogCut& cut, bool& damage) {
  for (;;) {
    const auto frame = reader.FindFrame(offset);
    if (!frame) return tl::unexpected(frame.error());
    if (!*frame) return {};
    damage |= (*frame)->durable > std::max(cut.position, from_);
    const core::Result<std::string_view> records = reader.ReadRecords(**frame);
    if (!records && records.error().code != core::ErrorCode::kCorrupt) return tl::unexpected(records.error());
    const bool counts = (*frame)->position >= cut.position && (*frame)->position < LimitOf(index);
    if (records && counts) cut.lost_records += CountRecords(*records);
    offset = records ? (*frame)->end_offset() : (*frame)->offset + 1;
  }
}

core::Status LogScanner::CountLostFiles(size_t index, LogCut& cut, bool& damage) {
  for (; index < files_.size(); ++index) {
    core::Result<LogSegmentReader> reader = Open(index);
    if (!reader) return tl::unexpected(std::move(reader.error()));
    const core::Status head = reader->ReadHead();
    if (!head && head.error().code != core::ErrorCode::kCorrupt) return head;
    cut.lost_bytes += reader->size();
    if (core::Status status = CountLost(index, *reader, kLogHeadBytes, cut, damage); !status) return status;
  }
  return {};
}

uint64_t LogScanner::CountRecords(std::string_view records) {
  uint64_t count = 0;
  while (!records.empty() && log::Decode(records, record_)) ++count;
  return count;
}

void LogScanner::CheckNewest() {
  if (!newest_) return;
  const bool is_there =
      std::any_of(files_.begin(), files_.end(), [this](const LogFile& file) { return file.start == *newest_; });
  if (!is_there) {
    scan_.missing = "the newest segment, " + LogFileName(*newest_) + ", is missing, but " +
                    std::string(kLogCurrentName) + " names it";
  }
}

}  // namespace

core::Result<std::vector<std::string>> ListIfThere(const Disk& disk, const std::string& directory) {
  const size_t slash = directory.rfind('/');
  const core::Result<std::vector<std::string>> beside = disk.List(directory.substr(0, slash));
  if (!beside) return beside;
  if (!std::binary_search(beside->begin(), beside->end(), directory.substr(slash + 1))) {
    return std::vector<std::string>();
  }
  return disk.List(directory);
}

core::Result<std::vector<LogFile>> ListLog(const Disk& disk, const std::string& directory) {
  const core::Result<std::vector<std::string>> names = ListIfThere(disk, directory);
  if (!names) return tl::unexpected(names.error());
  std::vector<LogFile> files;
  for (const std::string& name : *names) {
    if (const std::optional<uint64_t> start = LogFileStart(name)) files.push_back({directory + "/" + name, *start});
  }
  return files;
}

core::Result<LogScan> ReadLog(const Disk& disk, const std::vector<LogFile>& files, uint64_t from,
                              const VisitRecord& visit, std::optional<uint64_t> newest) {
  return LogScanner(disk, files, from, visit, newest).Run();
}

std::vector<std::string> RemoveLogBefore(Disk& disk, const std::string& directory, uint64_t position) {
  const core::Result<std::vector<LogFile>> files = ListLog(disk, directory);
  if (!files) return {files.error().message};
  size_t removed = 0;
  core::Status status;
  // Without a gap: the oldest one that cannot be removed keeps those after it.
  while (removed + 1 < files->size() && (*files)[removed + 1].start <= position) {
    status = disk.Remove((*files)[removed].path);
    if (!status) break;
    ++removed;
  }
  std::vector<std::string> warnings;
  if (!status) warnings.push_back(status.error().message);
  if (removed != 0) status = disk.SyncDirectory(directory);
  if (removed != 0 && !status) warnings.push_back(status.error().message);
  return warnings;
}

}  // namespace bitsieve::server
