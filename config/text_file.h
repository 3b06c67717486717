// text_file.h: small files that people write and the server reads as a whole: configuration, users, passwords.
// Thread-compatible: one writer of a file at a time. Errors are kIo or kInvalidArgument and name the path.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace bitsieve::config {

// All of the file. kInvalidArgument if it has more bytes.
core::Result<std::string> ReadTextFile(const std::string& path, size_t most_bytes);

// Replaces the file's content, by way of a second file beside it, so that a crash leaves the old content or the new.
// Owner and mode stay, and so does a link that the path may be. The file must exist. After an error it is as it was.
core::Status ReplaceTextFile(const std::string& path, std::string_view text);

}  // namespace bitsieve::config
