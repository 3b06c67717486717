// mapped_file.h: a file's bytes in memory, read-only, shared by all that map the same file. Thread-compatible; the
// bytes may be read by any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/result.h"

namespace bitsieve::clients {

class MappedFile {
 public:
  MappedFile() = default;
  // kIo names the file.
  static core::Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Begins at a page boundary; empty if nothing is mapped.
  std::span<const std::byte> bytes() const { return bytes_; }
  // Both advise the system, for its read-ahead, how the bytes will be read: from first to last, or scattered.
  void ExpectWholeReads() const;
  void ExpectScatteredReads() const;

 private:
  void Advise(int advice) const;

  std::span<const std::byte> bytes_;
};

}  // namespace bitsieve::clients
