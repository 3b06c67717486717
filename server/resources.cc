#include "server/resources.h"

#include <algorithm>
#include <string>

#include "server/machine_memory.h"
#include "server/net/file_limit.h"

namespace bitsieve::server {
namespace {

// So many clients as there are descriptors for.
uint64_t AffordableClients(uint64_t maxclients) {
  const uint64_t limit = RaiseFileLimit(maxclients + kReservedFiles);
  return limit > kReservedFiles ? std::min(maxclients, limit - kReservedFiles) : 1;
}

}  // namespace

uint64_t MaxMemoryOf(const config::Options& options) {
  return options.maxmemory == config::kAutomatic ? MachineMemory() / 5 * 4 : options.maxmemory;
}

// CONFIG GET, as in Redis, returns bytes.
config::Options Resolved(config::Options options) {
  options.maxmemory = MaxMemoryOf(options);
  options.maxclients = static_cast<uint32_t>(AffordableClients(options.maxclients));
  return options;
}

core::Status CheckAffordable(const config::Options& options) {
  const uint64_t affordable = AffordableClients(options.maxclients);
  if (affordable >= options.maxclients) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument,
                    "the limit of open files allows for " + std::to_string(affordable) + " clients");
}

}  // namespace bitsieve::server
