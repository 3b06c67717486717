// log_record.h: the records of the log, one per change, to bytes and back. docs/formats/log.md has the byte tables.
//
// The log refers to filters by number and binds names to those numbers, so a renamed filter keeps its history.
//   content   Made, Content, Image: what a filter starts from; Changed: its changes, numbered as in core::Change;
//             Freezing: it is closed, and a frozen filter is being built from it
//   names     Named, Unnamed, Renamed, Expiry, Flushed
// The image of a Content is in the record, that of an Image in a file of its own, which the record seals. A replay
// skips changes of a filter that the image, or the snapshot's file, already contains: those whose sequence is not above
// theirs.
//
// Thread-safe: plain values and free functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/filter/filter.h"
#include "core/filter/filter_params.h"
#include "server/persistence/disk/checked_file.h"

namespace bitsieve::server::log {

inline constexpr uint64_t kMaxFilterId = uint64_t{1} << 62;  // ids are 1 and above; none that is given comes near it

// An empty filter, as core::MakeFilter makes it of these parameters.
struct Made {
  uint64_t id = 0;
  core::FilterParams params;
};
// All content of a filter, in a filter file: it replaces the filter's content, unless that is already newer.
struct Image {
  uint64_t id = 0;
  uint64_t sequence = 0;
  uint64_t file_id = 0;
  FileSeal seal;
};
// A core::Change with hashes of its own: 1 to kMaxHashes, or none if the content was rewritten. The outcome of a
// rewrite is in a Content or an Image of the same sequence, which comes later: if the log ends before, there is none.
struct Changed {
  core::ChangeKind kind = core::ChangeKind::kAdded;
  uint64_t id = 0;
  uint64_t sequence = 0;
  uint64_t time_ms = 0;  // not 0 only of changes of items in a filter whose type uses time
  std::vector<core::KeyHash> hashes;
  uint64_t until_ms = 0;  // not 0 only if the items expire
};
struct Freezing {
  uint64_t id = 0;
};
// The name means this filter from now on, and no other.
struct Named {
  std::string name;
  uint64_t id = 0;
  int64_t expires_ms = 0;  // 0: never
};
struct Unnamed {
  std::string name;
};
struct Renamed {
  std::string from;
  std::string to;
};
struct Expiry {
  std::string name;
  int64_t expires_ms = 0;  // 0: never
};
struct Flushed {};
// Like Image, but with the filter's image in the record: core's header and body.
struct Content {
  uint64_t id = 0;
  uint64_t sequence = 0;
  std::string header;
  std::string body;
};

using Record = std::variant<Made, Image, Changed, Freezing, Named, Unnamed, Renamed, Expiry, Flushed, Content>;

// The number of each kind on disk; a new kind gets the next one.
enum class RecordKind : uint8_t {
  kMade = 1,
  kImage,
  kAdded,
  kRemoved,
  kFreezing,
  kNamed,
  kUnnamed,
  kRenamed,
  kExpiry,
  kFlushed,
  kRewritten,
  kContent,
  kFalsePositives,
  kRenewed,
};
inline constexpr size_t kRecordKinds = 14;
RecordKind KindOf(const Record& record);
// Returns "added", for people.
std::string_view NameOf(RecordKind kind);

// A filter file that a record of the log refers to.
struct FilterFile {
  uint64_t position = 0;  // of the record
  uint64_t file_id = 0;
};

// Appends the record, length and all.
inline constexpr size_t kMaxHashes = 4096;
void Encode(const Record& record, std::string& out);
// Same as Encode of a Changed, without making one first, since every add comes here. Allocates nothing beyond
// MaxChangeBytes; a rewrite takes no more than one hash does.
void Encode(const core::Change& change, std::string& out);
constexpr size_t MaxChangeBytes(size_t hashes) { return 4 + 1 + 4 * 8 + hashes * sizeof(core::KeyHash); }

// Takes the first record off `bytes`; `record` is reused, its vectors and strings with it. A kCorrupt error states what
// is wrong: the record is short, of an unknown kind, or has impossible fields. Then `bytes` is unchanged and `record`
// unspecified. Hostile bytes allocate no more than their own length.
core::Status Decode(std::string_view& bytes, Record& record);

}  // namespace bitsieve::server::log
