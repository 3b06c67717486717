#include "core/filter/parts_image.h"

#include <algorithm>

#include "core/memory/memory_image.h"

namespace bitsieve::core {

PartsImage::~PartsImage() {
  if (!is_captured()) return;  // the caller that failed to capture it holds the lock; the parts close themselves
  for (const Part& part : parts_) part.image->GiveUp();
  const LockGuard lock(writers_);
  for (const Part& part : parts_) part.image->Close();
}

void PartsImage::AddPart(std::unique_ptr<ImagePart> part, uint64_t bytes) {
  parts_.push_back({std::move(part), bytes});
  body_bytes_ += bytes;
}

void PartsImage::AddPart(BitMemory& memory, uint64_t bytes, const ImagePool& pool) {
  AddPart(std::make_unique<MemoryImage>(memory, bytes, pool), bytes);
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
