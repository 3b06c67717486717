// dump_source.h: the bytes of a filter's dump, or a range of them, for a response. Thread-compatible.
#pragma once

#include <memory>
#include <string>

#include "core/filter/filter_dump.h"
#include "core/filter/filter_ptr.h"
#include "server/http/byte_range.h"
#include "server/http/byte_source.h"

namespace bitsieve::server {

class DumpSource final : public ByteSource {
 public:
  // `image` is of the filter. The range lies within the dump.
  DumpSource(core::FilterPtr filter, std::unique_ptr<core::FilterImage> image)
      : filter_(std::move(filter)), stream_(std::move(image)), range_{0, stream_.total_bytes()} {}

  uint64_t total_bytes() const { return stream_.total_bytes(); }
  // Before the first call of Read.
  void Choose(const ByteRange& range) { range_ = range; }

  bool AtEnd() const override { return at_ >= range_.end; }
  bool Read(size_t most, std::string& out) override;

 private:
  // Reads bytes before the range, which the checksum at the end needs.
  bool Skip();

  const core::FilterPtr filter_;  // outlives its image
  core::DumpStream stream_;
  ByteRange range_;
  uint64_t at_ = 0;
};

}  // namespace bitsieve::server
