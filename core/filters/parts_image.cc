#include "core/filters/parts_image.h"

#include <algorithm>

namespace bitsieve::core {

PartsImage::~PartsImage() {
  const std::lock_guard lock(writers_);
  parts_.clear();
}

void PartsImage::AddPart(BitMemory& memory, uint64_t bytes, MemoryBudget& budget) {
  parts_.push_back({std::make_unique<MemoryImage>(memory, budget), bytes});
  body_bytes_ += bytes;
}

Status PartsImage::Read(uint64_t offset, std::span<std::byte> out) {
  for (const Part& part : parts_) {
    if (out.empty()) break;
    if (offset >= part.bytes) {
      offset -= part.bytes;
      continue;
    }
    const size_t count = std::min<uint64_t>(part.bytes - offset, out.size());
    if (Status status = part.image->Read(offset, out.first(count)); !status) return status;
    out = out.subspan(count);
    offset = 0;
  }
  return {};
}

}  // namespace bitsieve::core
