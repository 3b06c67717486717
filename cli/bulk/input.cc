#include "cli/bulk/input.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace bitsieve::cli {
namespace {

constexpr size_t kBlockBytes = 256 << 10;

std::string ErrorOf(archive* input) {
  const char* const text = archive_error_string(input);
  return text == nullptr ? "cannot be read" : text;
}

// A file that is no archive is one member that has everything.
bool Prepare(archive* input, bool decompress) {
  if (archive_read_support_format_raw(input) != ARCHIVE_OK || archive_read_support_format_empty(input) != ARCHIVE_OK) {
    return false;
  }
  // Warnings are of libraries built without the compression; then it fails at the first compressed file.
  return !decompress || (archive_read_support_filter_gzip(input) >= ARCHIVE_WARN &&
                         archive_read_support_filter_zstd(input) >= ARCHIVE_WARN);
}

// Closed by libarchive's close of the descriptor's owner, below.
int OpenFile(const std::string& path) {
  return path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

struct Descriptor {
  int number;
  Input::IsStopped is_stopped;
};

// A signal that arrives just before a read would leave it waiting; one that arrives before a wait is seen after it.
void AwaitBytes(const Descriptor& file) {
  constexpr int kBetweenLooksMs = 100;
  pollfd waiting{file.number, POLLIN, 0};
  while (!file.is_stopped() && poll(&waiting, 1, kBetweenLooksMs) <= 0) continue;
}

la_ssize_t ReadBlock(archive* input, void* data, const void** block) {
  static thread_local char room[kBlockBytes];
  const auto* const file = static_cast<Descriptor*>(data);
  while (true) {
    AwaitBytes(*file);
    if (file->is_stopped()) {
      archive_set_error(input, EINTR, "interrupted");
      return -1;
    }
    const ssize_t bytes = read(file->number, room, sizeof room);
    if (bytes >= 0) {
      *block = room;
      return bytes;
    }
    if (errno == EINTR) continue;
    archive_set_error(input, errno, "%s", std::system_category().message(errno).c_str());
    return -1;
  }
}

int CloseFile(archive*, void* data) {
  auto* const file = static_cast<Descriptor*>(data);
  close(file->number);
  delete file;
  return ARCHIVE_OK;
}

}  // namespace

void Input::Closer::operator()(archive* input) const { archive_read_free(input); }

core::Outcome<Input> Input::Open(const std::string& path, bool decompress, IsStopped is_stopped) {
  const std::string name = path == "-" ? "standard input" : path;
  const int descriptor = OpenFile(path);
  if (descriptor < 0) return tl::unexpected(name + ": " + std::system_category().message(errno));
  struct stat status {};
  if (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
    close(descriptor);
    return tl::unexpected(name + ": is a directory");
  }
  const uint64_t bytes = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  std::unique_ptr<archive, Closer> input(archive_read_new());
  auto file = std::make_unique<Descriptor>(Descriptor{descriptor, std::move(is_stopped)});
  if (input == nullptr || !Prepare(input.get(), decompress)) {
    close(descriptor);
    return tl::unexpected(name + ": out of memory");
  }
  // From here on the descriptor is closed with the archive.
  if (archive_read_open(input.get(), file.release(), nullptr, ReadBlock, CloseFile) != ARCHIVE_OK) {
    return tl::unexpected(name + ": " + ErrorOf(input.get()));
  }
  Input made(name, descriptor, bytes, std::move(input));
  archive_entry* entry = nullptr;
  const int status_of_header = archive_read_next_header(made.archive_.get(), &entry);
  if (status_of_header == ARCHIVE_EOF) {
    made.at_end_ = true;
  } else if (status_of_header != ARCHIVE_OK) {
    return tl::unexpected(name + ": " + ErrorOf(made.archive_.get()));
  }
  return made;
}

core::Outcome<std::string_view> Input::Read() {
  while (!at_end_) {
    const void* block = nullptr;
    size_t bytes = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(archive_.get(), &block, &bytes, &offset);
    if (status == ARCHIVE_EOF) {
      at_end_ = true;
    } else if (status != ARCHIVE_OK) {
      return tl::unexpected(name_ + ": " + ErrorOf(archive_.get()));
    }
    if (bytes != 0) return std::string_view(static_cast<const char*>(block), bytes);
  }
  return std::string_view();
}

bool Input::IsReady() const {
  pollfd waiting{descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) != 0;
}

uint64_t Input::file_position() const {
  const la_int64_t bytes = archive_filter_bytes(archive_.get(), -1);
  return bytes < 0 ? 0 : static_cast<uint64_t>(bytes);
}

}  // namespace bitsieve::cli
