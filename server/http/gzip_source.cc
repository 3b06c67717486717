#include "server/http/gzip_source.h"

#include <new>
#include <utility>

namespace bitsieve::server {
namespace {

// The fastest level: the bits of a sparse filter have no repetitions that a longer search would find.
constexpr int kLevel = 1;
constexpr int kGzipWindow = 15 + 16;  // the largest window, and the header of gzip
constexpr int kMemory = 8;

}  // namespace

GzipSource::GzipSource(std::shared_ptr<ByteSource> plain) : plain_(std::move(plain)) {
  if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
}

GzipSource::~GzipSource() { deflateEnd(&stream_); }

bool GzipSource::Read(size_t most, std::string& out) {
  if (taken_ == input_.size() && !plain_->AtEnd()) {
    input_.clear();
    taken_ = 0;
    if (!plain_->Read(most, input_)) return false;
  }
  const size_t start = out.size();
  out.resize(start + most);
  stream_.next_in = reinterpret_cast<Bytef*>(input_.data() + taken_);
  stream_.avail_in = static_cast<uInt>(input_.size() - taken_);
  stream_.next_out = reinterpret_cast<Bytef*>(out.data() + start);
  stream_.avail_out = static_cast<uInt>(most);
  const int result = deflate(&stream_, plain_->AtEnd() ? Z_FINISH : Z_NO_FLUSH);
  taken_ = input_.size() - stream_.avail_in;
  out.resize(out.size() - stream_.avail_out);
  ended_ = result == Z_STREAM_END;
  return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}

}  // namespace bitsieve::server
