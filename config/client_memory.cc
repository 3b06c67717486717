#include "config/client_memory.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "config/option_row.h"

namespace bitsieve::config {
namespace {

constexpr uint64_t kLeastBytes = 128 * 1024;  // as in Redis: with less, no client could send a command

// "10%"
std::optional<uint64_t> ParsePercentage(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const bool digits = !text.empty() && text.size() <= 3 && text.find_first_not_of("0123456789") == text.npos;
  const auto percent = digits ? ParseByteSize(text) : std::nullopt;
  return percent && *percent <= 100 ? percent : std::nullopt;
}

}  // namespace

bool IsClientMemory(const std::string& text) {
  if (ParsePercentage(text)) return true;
  const auto bytes = ParseByteSize(text);
  return bytes && (*bytes == 0 || *bytes >= kLeastBytes);
}

uint64_t ClientMemoryLimit(const Options& options, uint64_t machine_bytes) {
  const bool is_limited = options.maxmemory != 0 && options.maxmemory != kAutomatic;
  const uint64_t whole = is_limited ? options.maxmemory : machine_bytes;
  if (const auto percent = ParsePercentage(options.maxmemory_clients)) {
    return *percent == 0 ? UINT64_MAX : std::max(kLeastClientShare, whole / 100 * *percent);
  }
  const uint64_t bytes = ParseByteSize(options.maxmemory_clients).value_or(0);
  return bytes == 0 ? UINT64_MAX : bytes;
}

}  // namespace bitsieve::config
