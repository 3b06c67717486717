#include "tests/unit/server/persistence/golden_files.h"

namespace bitsieve::server {

std::string GoldenPath(const std::string& name) { return std::string(GOLDEN_DIR) + "/" + name; }

}  // namespace bitsieve::server
