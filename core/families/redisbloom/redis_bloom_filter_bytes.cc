// The bytes of a RedisBloomFilter: records of its sub-filters, images, and the pieces of its chunks.
#include <cassert>
#include <utility>

#include "core/base/bytes.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redis_bloom_filter.h"
#include "core/filter/copied_image.h"

namespace bitsieve::core {

std::vector<SubFilterRecord> RedisBloomFilter::Records() const {
  if (const RedisBloomChain* const chain = this->chain()) return chain->Records();
  std::vector<SubFilterRecord> records;
  for (const Part& part : Parts()) {
    const SubFilterShape* const older = records.empty() ? nullptr : &records.back().shape;
    const std::optional<SubFilterShape> shape = ShapeAfter(shared_params(), older, records.size());
    assert(shape && shape->bits == part.bits.count && shape->hash_functions == part.bits.hashes);
    records.push_back({*shape, part.items});
  }
  return records;
}

std::string RedisBloomFilter::Header() const {
  const LockGuard lock(writers());
  return EncodeRedisBloomHeader(params(), Records());
}

std::unique_ptr<FilterImage> RedisBloomFilter::DoCapture(const ImagePool& pool) const {
  if (const RedisBloomChain* const chain = this->chain()) return chain->Capture(pool);
  std::string body;
  for (const Part& part : Parts()) body.append(reinterpret_cast<const char*>(part.bits.words), part.bits.bytes());
  return std::make_unique<CopiedImage>(RedisBloomChain::ImageHeader(params(), Records()), std::move(body));
}

bool RedisBloomFilter::WritePiece(uint64_t offset, std::string_view bytes) {
  const LockGuard lock(writers());
  bool written = false;
  if (RedisBloomChain* const chain = this->chain()) {
    written = chain->WritePiece(offset, bytes);
  } else {
    for (const Part& part : Parts()) {
      const uint64_t size = part.bits.bytes();
      if (offset < size) {
        written = bytes.size() <= size - offset;
        if (written)
          BitMemory::Lent(std::as_writable_bytes(std::span(part.bits.words, size / 8))).CopyIn(offset, AsBytes(bytes));
        break;
      }
      offset -= size;
    }
  }
  if (!written) return false;
  united_.fetch_add(1, std::memory_order_release);
  MarkUnited();
  return true;
}

}  // namespace bitsieve::core
