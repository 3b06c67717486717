#include "module/filter_content.h"

#include <string>

#include "core/filter/filter_dump.h"
#include "core/filter/filter_type.h"

namespace bitsieve::module {
namespace {

constexpr size_t kCuckooPieceBytes = size_t{16} << 20;  // as CF.SCANDUMP returns them

// RedisBloom's cursors: 1 comes with the header, then the position after the bytes, and one.
void EmitChunks(const core::Filter& filter, const core::RedisBloomForm& form, const EmitContent& emit) {
  const bool is_cuckoo = filter.type().is_cuckoo_value();
  const char* const command = is_cuckoo ? "CF.LOADCHUNK" : "BF.LOADCHUNK";
  const size_t most = is_cuckoo ? kCuckooPieceBytes : core::kDumpPieceBytes;
  emit(command, 1, form.header(filter));
  std::string chunk;
  for (uint64_t offset = 0; chunk = form.read(filter, offset, most), !chunk.empty();) {
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
    if (!stream.Read(core::kDumpPieceBytes, piece)) return;
    write(piece);
  }
}

void ForEachContentCommand(const core::Filter& filter, const EmitContent& emit) {
  if (const core::RedisBloomForm* const form = filter.type().redisbloom_form) return EmitChunks(filter, *form, emit);
  int64_t number = 0;
  ForEachPiece(filter, [&](std::string_view piece) { emit("BF.CONTENT", ++number, piece); });
}

}  // namespace bitsieve::module
