#include "cli/dump_file.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "cli/bulk/input.h"
#include "core/base/clock.h"
#include "core/filter/dump_check.h"
#include "core/filter/filter_dump.h"

namespace bitsieve::cli {
namespace {

core::Result<std::string> ReadBytes(const std::string& path) {
  auto input = Input::Open(path, false);
  if (!input) return core::Fail(core::ErrorCode::kIo, input.error());
  std::string bytes;
  core::DumpCheck check;
  while (true) {
    const auto block = input->Read();
    if (!block) return core::Fail(core::ErrorCode::kIo, block.error());
    if (block->empty()) break;
    bytes += *block;
    check.Add(*block);
  }
  if (const std::string problem = check.Problem(); !problem.empty()) {
    return core::Fail(core::ErrorCode::kCorrupt, path + ": " + problem);
  }
  bytes.resize(check.total_bytes());
  return bytes;
}

}  // namespace

bool IsDumpFile(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  std::array<char, 4> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return core::IsFilterDump(std::string_view(begin.data(), begin.size()));
}

core::Result<DumpFile> ReadDumpFile(const std::string& path, core::MemoryBudget& memory) {
  const core::Result<std::string> bytes = ReadBytes(path);
  if (!bytes) return tl::unexpected(bytes.error());
  auto filter = core::RestoreFilter(*bytes, memory, core::SystemClock());
  if (!filter) return core::Fail(filter.error().code, path + ": " + filter.error().message);
  return DumpFile{std::move(*filter), bytes->size()};
}

}  // namespace bitsieve::cli
