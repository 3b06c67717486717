// kept_arguments.h: the arguments of a command that outlives its batch: it runs on a worker, or MULTI has queued it.
// Those of many bytes stay in the buffer that they were received in, if that can be shared; others are copied. Many of
// them are moved, not copied one by one, which would take an event loop milliseconds. Thread-compatible.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "server/dispatch/server_context.h"

namespace bitsieve::server {

class KeptArguments final : public ArgumentBytes {
 public:
  KeptArguments() = default;
  // Those of the command that runs now, which may not look at its arguments afterwards.
  explicit KeptArguments(ServerContext& context);

  Arguments get() const { return arguments_; }
  // For another KeptArguments, as context.own_arguments.
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
