// kept_arguments.h: the arguments of a command that outlives its batch: it runs on a worker, or MULTI has queued it.
// Those of many bytes stay in the buffer that they were received in, if that can be shared; others are copied. Many of
// them are moved, not copied one by one, which would take an event loop milliseconds. Thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "commands/command.h"

namespace bitsieve::server {

// Owners that can keep the bytes of arguments alive. Confined to its loop.
class ArgumentBytes {
 public:
  virtual ~ArgumentBytes() = default;
  // The bytes stay where they are as long as the result lives, which may end on any thread. Null: they cannot be kept.
  // Throws std::bad_alloc.
  virtual std::shared_ptr<const void> Share() = 0;
  // How many bytes the last result of Share() keeps.
  virtual size_t shared_bytes() const = 0;
};

class KeptArguments final : public ArgumentBytes {
 public:
  static constexpr size_t kMany = 1024;  // from here on arguments are moved, not copied

  KeptArguments() = default;
  // Takes over the arguments of the command that runs now, and leaves `arguments` empty. `bytes` can keep their bytes
  // alive, and `own` is where they are if it may be taken over; null: neither can be had.
  KeptArguments(commands::Arguments& arguments, ArgumentBytes* bytes, std::vector<std::string_view>* own);

  commands::Arguments get() const { return arguments_; }
  // For another KeptArguments, as its `own`.
  std::vector<std::string_view>& own() { return arguments_; }
  std::shared_ptr<const void> Share() override { return owner_; }
  size_t shared_bytes() const override { return bytes_; }
  // With what of a shared buffer is not theirs.
  size_t memory_bytes() const { return sizeof *this + arguments_.capacity() * sizeof(std::string_view) + bytes_; }

 private:
  void CopyBytes(size_t size);

  std::vector<std::string_view> arguments_;
  std::shared_ptr<const void> owner_;  // of the arguments' bytes
  size_t bytes_ = 0;                   // that the owner keeps
};

}  // namespace bitsieve::server
