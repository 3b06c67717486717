// unix_socket.h: the file of a listening Unix socket. It belongs to the server that made it, which removes it at its
// end; one that a dead server has left is replaced. Thread-compatible.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace bitsieve::server {

class UnixSocketFile {
 public:
  static constexpr size_t kMaxPathBytes = 107;  // of sockaddr_un, without the NUL byte

  // Removes its file, unless another one is in its place by now.
  ~UnixSocketFile();
  UnixSocketFile() = default;
  UnixSocketFile(const UnixSocketFile&) = delete;
  UnixSocketFile& operator=(const UnixSocketFile&) = delete;

  // Binds the socket `descriptor`, which does not listen yet: so the file has its permissions before anyone can
  // connect. Without `permissions` they are those that the umask leaves. The error names the path.
  core::Outcome<void> Bind(int descriptor, const std::string& path, std::optional<mode_t> permissions);

 private:
  std::string path_;  // empty: not bound
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace bitsieve::server
