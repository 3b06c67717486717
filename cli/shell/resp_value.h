// resp_value.h: one reply of a server, in RESP2 or RESP3, and the reader that makes it of bytes. hiredis is not used:
// version 0.14, which Debian has, knows no RESP3. Confined to one thread.
//
// Replies may be as large as memory, and take it once. Memory follows the bytes that have come, so that a server which
// announces more than it sends costs nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace bitsieve::cli {

struct RespValue {
  enum class Kind {
    kStatus,
    kError,
    kInteger,
    kString,
    kVerbatim,
    kNil,
    kDouble,
    kBoolean,
    kBigNumber,
    kArray,
    kMap,
    kSet,
    kPush,
  };

  Kind kind = Kind::kNil;
  std::string text = {};                 // of what has no elements, as the server sent it; booleans are "t" and "f"
  std::vector<RespValue> elements = {};  // of a map: each key before its value

  bool is_error() const { return kind == Kind::kError; }
};

class RespReader {
 public:
  // Fills the room with at least one byte, or returns why no more bytes come.
  using Source = std::function<core::Outcome<size_t>(std::span<char> room)>;

  RespReader() : buffer_(kBufferBytes) {}

  // Returns the next reply, whose bytes are taken from the source as needed. After an error nothing more can be read.
  core::Outcome<RespValue> Read(const Source& source);

 private:
  static constexpr size_t kBufferBytes = 64 << 10;

  core::Outcome<RespValue> ReadValue(const Source& source, int depth);
  core::Outcome<RespValue> ReadElements(const Source& source, RespValue::Kind kind, std::string_view count, int depth);
  core::Outcome<std::string> ReadLine(const Source& source);
  core::Outcome<std::string> ReadBulk(const Source& source, size_t size);
  core::Outcome<void> Fill(const Source& source);

  std::string_view unread() const { return {buffer_.data() + begin_, end_ - begin_}; }

  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

}  // namespace bitsieve::cli
