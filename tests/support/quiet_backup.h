// quiet_backup.h: a backup's progress that no test looks at. Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/persistence/backup/backup.h"

namespace bitsieve::test {

inline const server::BackupProgress kQuiet = [](std::string_view, uint64_t, uint64_t) {};

}  // namespace bitsieve::test
