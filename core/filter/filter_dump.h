// filter_dump.h: one filter as one string of bytes that describes itself and knows its own damage: for files, for other
// servers, for tests far from any server. Every type; docs/formats/dump.md has the bytes. A dump is an image between a
// head, which gives its lengths, and a checksum of everything; so it can be made and read in chunks of any size.
//
// Thread-safe: free functions. A DumpStream is thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/base/checksum.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::core {

inline constexpr uint16_t kDumpFormatVersion = 1;

// Bytes of a dump that one command brings: more than the head and header of any.
inline constexpr size_t kDumpPieceBytes = size_t{8} << 20;

// Returns whether these are the first bytes of a dump, of any version.
bool IsFilterDump(std::string_view bytes);

// The bytes of a dump, in order, each once. The filter must outlive it.
class DumpStream {
 public:
  explicit DumpStream(std::unique_ptr<FilterImage> image);

  uint64_t total_bytes() const;
  bool AtEnd() const { return position_ == total_bytes(); }
  // Appends the next bytes, at most `most` of them. kOutOfMemory if the image was lost: it is then useless.
  Status Read(size_t most, std::string& out);

 private:
  uint64_t BodyEnd() const { return head_.size() + image_->body_bytes(); }

  std::unique_ptr<FilterImage> image_;
  std::string head_;
  std::string tail_;  // the checksum, once all before it was read
  uint64_t position_ = 0;
  RunningChecksum checksum_;
};

struct OpenedDump {
  std::unique_ptr<FilterDecoder> decoder;  // its body is what follows the head, the checksum included
  size_t head_bytes;
};
// Begins to read a dump whose first bytes are these, the whole head at least. kCorrupt, kUnsupported or kOutOfMemory.
Result<OpenedDump> OpenFilterDump(std::string_view bytes, MemoryBudget& budget, const Clock& clock);

// Make and restore a whole dump at once.
Result<std::string> DumpFilter(const Filter& filter);
Result<std::unique_ptr<Filter>> RestoreFilter(std::string_view dump, MemoryBudget& budget, const Clock& clock);

// Opens a dump for lookups in place: nothing of it is copied, and only its head is read and, for the type ribbon, the
// records of its shards. So damage to the bits is not noticed, but no bytes can lead a lookup out of the dump;
// DumpCheck (dump_check.h) verifies the checksum. The dump is aligned to words of 64 bits, and stays as it is as long
// as the filter. The comment on FilterTypeRow::map holds. kCorrupt, kUnsupported or kOutOfMemory.
Result<std::unique_ptr<const Filter>> MapFilterDump(std::span<const std::byte> dump, MemoryBudget& budget);

}  // namespace bitsieve::core
