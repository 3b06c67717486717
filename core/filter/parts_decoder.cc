#include "core/filter/parts_decoder.h"

#include <algorithm>
#include <cassert>

#include "core/filter/image_header.h"

namespace bitsieve::core {

bool PartsDecoder::IsClearFrom(std::span<const std::byte> bytes, uint64_t bit) {
  for (; bit < bytes.size() * 8; ++bit) {
    if ((std::to_integer<unsigned>(bytes[bit / 8]) >> (bit % 8) & 1) != 0) return false;
  }
  return true;
}

void PartsDecoder::AddPart(std::span<std::byte> bytes) {
  assert(!bytes.empty());
  parts_.emplace_back(body_bytes_, bytes);
  body_bytes_ += bytes.size();
}

size_t PartsDecoder::PartWith(uint64_t offset) const {
  const auto behind = std::partition_point(
      parts_.begin(), parts_.end(), [offset](const Part& part) { return part.begin + part.bytes.size() <= offset; });
  return static_cast<size_t>(behind - parts_.begin());
}

std::span<std::byte> PartsDecoder::Room(uint64_t offset) {
  const size_t i = PartWith(offset);
  return i == parts_.size() ? std::span<std::byte>() : parts_[i].bytes.subspan(offset - parts_[i].begin);
}

void PartsDecoder::Commit(uint64_t offset, uint64_t bytes) {
  const size_t i = PartWith(offset);
  Part& part = parts_[i];
  part.count.fetch_add(Count(i, part.bytes.subspan(offset - part.begin, bytes)), std::memory_order_relaxed);
  part.filled.fetch_add(bytes, std::memory_order_relaxed);
}

Status PartsDecoder::Append(std::span<const std::byte> bytes) {
  if (bytes.size() > body_bytes_ - appended_) return CorruptBody("it is longer than the header says");
  Put(appended_, bytes);
  appended_ += bytes.size();
  return {};
}

Result<std::unique_ptr<Filter>> PartsDecoder::Finish() {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (part.filled.load(std::memory_order_relaxed) != part.bytes.size()) {
      return CorruptBody("it is shorter than the header says");
    }
    if (Status status = FinishPart(i, part.count.load(std::memory_order_relaxed)); !status) {
      return tl::unexpected(std::move(status).error());
    }
  }
  return FinishFilter();
}

}  // namespace bitsieve::core
