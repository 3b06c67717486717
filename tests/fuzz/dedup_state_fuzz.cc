// Any bytes, taken for the payload of a dedup state with right checksums around them, are a state or an error: no
// crash, no memory beyond the budget; and a state that was read is the same when it is written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/dedup/dedup_state.h"
#include "tests/support/memory_disk.h"

namespace bitsieve::cli {
namespace {

constexpr char kPath[] = "/d/state";
constexpr uint64_t kBudgetBytes = 4 << 20;
constexpr uint32_t kChunkBytes = 4096;

void Require(bool holds) {
  if (!holds) std::abort();
}

void Check(std::string_view payload) {
  server::MemoryDisk disk;
  Require(disk.CreateDirectory("/d").has_value());
  server::ChunkBuffer buffer;
  auto file = server::CheckedFileWriter::Create(disk, kPath, kDedupStateFormat, payload.size(), kChunkBytes, buffer);
  Require(file && file->Append(payload) && file->Finish());
  core::MemoryBudget budget(kBudgetBytes);
  const auto head = ReadDedupHead(disk, kPath);
  const auto state = ReadDedupState(disk, kPath, budget);
  if (!state) return;
  Require(head && head->params == state->seen.params());
  Require(WriteDedupState(disk, kPath, state->seen, state->progress ? &*state->progress : nullptr).has_value());
  core::MemoryBudget as_much(kBudgetBytes);
  const auto again = ReadDedupState(disk, kPath, as_much);
  Require(again && again->seen.params() == head->params && again->seen.items() == state->seen.items());
  Require(again->progress.has_value() == state->progress.has_value());
}

}  // namespace
}  // namespace bitsieve::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bitsieve::cli::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
