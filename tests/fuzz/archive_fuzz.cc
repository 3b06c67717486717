// Whatever bytes are read as the archive of a backup, reading ends with files of a data directory or an error: nothing
// beside the target, no more bytes and files than allowed; and what came out can be verified.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/persistence/backup/archive.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::server {
namespace {

constexpr ArchiveLimits kLimits{.bytes = 1 << 20, .files = 64};

void Require(bool holds) {
  if (!holds) std::abort();
}

void Check(std::string_view input) {
  MemoryDisk disk;
  Require(disk.CreateDirectory("/r").has_value());
  const BackupProgress quiet = [](std::string_view, uint64_t, uint64_t) {};
  const core::Status status =
      ExtractArchive({.name = "input", .descriptor = -1, .bytes = input}, disk, "/r", kLimits, quiet);
  uint64_t bytes = 0;
  uint64_t files = 0;
  for (const auto& [path, content] : disk.All()) {
    Require(path.starts_with("/r/"));
    bytes += content.size();
    ++files;
  }
  Require(bytes <= kLimits.bytes && files <= kLimits.files);
  if (status) (void)VerifyBackup(disk, "/r");
}

}  // namespace
}  // namespace bitsieve::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bitsieve::server::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
