#include "cli/files/dump_file.h"

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

// The first bytes; empty if it is no file.
std::string BeginOf(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return "";
  std::string begin(4, '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin;
}

}  // namespace

bool IsDumpFile(const std::string& path) { return core::IsFilterDump(BeginOf(path)); }

bool IsRdbFile(const std::string& path) {
  const std::string begin = BeginOf(path);
  return begin == "REDI" || begin == "VALK";
}

std::string RdbAdvice(const std::string& path) {
  return "this is an RDB file, whose filters `bitsieve migrate " + path + "` moves";
}

core::Result<DumpFile> ReadDumpFile(const std::string& path, core::MemoryBudget& memory) {
  const core::Result<std::string> bytes = ReadBytes(path);
  if (!bytes) return tl::unexpected(bytes.error());
  auto filter = core::RestoreFilter(*bytes, memory, core::SystemClock());
  if (!filter) return core::Fail(filter.error().code, path + ": " + filter.error().message);
  return DumpFile{std::move(*filter), bytes->size()};
}

}  // namespace bitsieve::cli
