#include "core/filters/parts_decoder.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

namespace bitsieve::core {

tl::unexpected<Error> PartsDecoder::Corrupt(const char* what) {
  return Fail(ErrorCode::kCorrupt, std::string("filter body: ") + what);
}

bool PartsDecoder::IsClearFrom(std::span<const std::byte> bytes, uint64_t bit) {
  for (; bit < bytes.size() * 8; ++bit) {
    if ((std::to_integer<unsigned>(bytes[bit / 8]) >> (bit % 8) & 1) != 0) return false;
  }
  return true;
}

void PartsDecoder::AddPart(std::span<std::byte> bytes) {
  assert(!bytes.empty());
  parts_.push_back(bytes);
  body_bytes_ += bytes.size();
}

Status PartsDecoder::Append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (current_ == parts_.size()) return Corrupt("it is longer than the header says");
    const std::span<std::byte> room = parts_[current_].subspan(filled_);
    const size_t count = std::min(bytes.size(), room.size());
    std::memcpy(room.data(), bytes.data(), count);
    bytes = bytes.subspan(count);
    filled_ += count;
    if (count < room.size()) continue;
    if (Status status = FinishPart(current_); !status) return status;
    ++current_;
    filled_ = 0;
  }
  return {};
}

Result<std::unique_ptr<Filter>> PartsDecoder::Finish() {
  if (current_ != parts_.size()) return Corrupt("it is shorter than the header says");
  return FinishFilter();
}

}  // namespace bitsieve::core
