#include "clients/cpp/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/descriptor.h"

namespace bitsieve::clients {
namespace {

tl::unexpected<core::Error> Failure(const std::string& path) {
  return core::Fail(core::ErrorCode::kIo, path + ": " + std::system_category().message(errno));
}

}  // namespace

core::Result<MappedFile> MappedFile::Open(const std::string& path) {
  const core::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Failure(path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Failure(path);
  if (!S_ISREG(status.st_mode)) return core::Fail(core::ErrorCode::kIo, path + ": is not a regular file");
  MappedFile mapped;
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return mapped;
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return Failure(path);
  mapped.bytes_ = {static_cast<const std::byte*>(memory), size};
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::ExpectWholeReads() const { Advise(MADV_SEQUENTIAL); }
void MappedFile::ExpectScatteredReads() const { Advise(MADV_RANDOM); }

void MappedFile::Advise(int advice) const {
  if (!bytes_.empty()) ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), advice);
}

}  // namespace bitsieve::clients
