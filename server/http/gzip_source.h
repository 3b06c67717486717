// gzip_source.h: a body compressed by gzip while it is sent. Thread-compatible.
#pragma once

#include <zlib.h>

#include <memory>
#include <string>

#include "server/http/byte_source.h"

namespace bitsieve::server {

class GzipSource final : public ByteSource {
 public:
  // Throws std::bad_alloc.
  explicit GzipSource(std::shared_ptr<ByteSource> plain);
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override;

  bool AtEnd() const override { return ended_; }
  bool Read(size_t most, std::string& out) override;

 private:
  const std::shared_ptr<ByteSource> plain_;
  z_stream stream_{};
  std::string input_;
  size_t taken_ = 0;  // bytes of input_ that were compressed
  bool ended_ = false;
};

}  // namespace bitsieve::server
