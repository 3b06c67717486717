#include "module/filter_content.h"

#include <string>

#include "core/families/redisbloom/redis_bloom_filter.h"
#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::module {
namespace {

// RedisBloom's cursors: 1 comes with the header, then the position after the bytes, and one.
void EmitChunks(const char* command, const std::string& header, const std::function<std::string(uint64_t offset)>& read,
                const EmitContent& emit) {
  emit(command, 1, header);
  std::string chunk;
  for (uint64_t offset = 0; chunk = read(offset), !chunk.empty();) {
    offset += chunk.size();
    emit(command, static_cast<int64_t>(offset) + 1, chunk);
  }
}

}  // namespace

void ForEachPiece(const core::Filter& filter, const std::function<void(std::string_view piece)>& write) {
  core::DumpStream stream(filter.Capture());
  std::string piece;
  while (!stream.AtEnd()) {
    piece.clear();
    if (!stream.Read(kPieceBytes, piece)) return;
    write(piece);
  }
}

void ForEachContentCommand(const core::Filter& filter, const EmitContent& emit) {
  if (const auto* bloom = dynamic_cast<const core::RedisBloomFilter*>(&filter)) {
    return EmitChunks(
        "BF.LOADCHUNK", bloom->Header(), [bloom](uint64_t offset) { return bloom->ReadPiece(offset, kPieceBytes); },
        emit);
  }
  if (const auto* cuckoo = dynamic_cast<const core::RedisCuckoo*>(&filter)) {
    return EmitChunks(
        "CF.LOADCHUNK", core::EncodeRedisCuckooHeader(cuckoo->Header()),
        [cuckoo](uint64_t offset) { return cuckoo->ReadChunk(offset); }, emit);
  }
  int64_t number = 0;
  ForEachPiece(filter, [&](std::string_view piece) { emit("BF.CONTENT", ++number, piece); });
}

}  // namespace bitsieve::module
