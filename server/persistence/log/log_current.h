// log_current.h: the file log/CURRENT, which names the newest segment of the log. A segment is there and durable before
// CURRENT names it, and nothing in it counts as durable before: so anything missing at the end of the log is noticed.
// docs/formats/log.md has the byte table. Thread-safe: free functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "server/persistence/disk/disk.h"

namespace bitsieve::server {

inline constexpr std::string_view kLogCurrentName = "CURRENT";

// Replaces the file, durably. `directory` is the log's; `start` is the position at which the segment begins.
core::Status WriteLogCurrent(Disk& disk, const std::string& directory, uint64_t start);

// The start of the newest segment. kCorrupt if the file is missing or damaged, kUnsupported if its version is newer,
// kIo if the disk failed; the message names the file.
core::Result<uint64_t> ReadLogCurrent(const Disk& disk, const std::string& directory);

}  // namespace bitsieve::server
