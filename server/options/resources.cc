#include "server/options/resources.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>

#include "server/process/file_limit.h"
#include "server/process/machine_memory.h"

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

config::Options ResolvedAtStart(const config::Options& given) {
  const config::Options options = Resolved(given);
  if (given.maxmemory == config::kAutomatic) {
    spdlog::info("maxmemory is {} bytes, 80% of the {} bytes that this machine or its cgroup has", options.maxmemory,
                 MachineMemory());
  }
  if (given.maxclients != options.maxclients) {
    spdlog::warn("maxclients {} needs {} open files, but the system allows only {} clients: maxclients is now {}",
                 given.maxclients, given.maxclients + kReservedFiles, options.maxclients, options.maxclients);
  }
  return options;
}

core::Status CheckAffordable(const config::Options& options) {
  const uint64_t affordable = AffordableClients(options.maxclients);
  if (affordable >= options.maxclients) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument,
                    "the limit of open files allows for " + std::to_string(affordable) + " clients");
}

core::Status CheckQuotas(const config::Options& options, const Quotas& quotas) {
  if (quotas.HasPatternsOf(*config::ParseQuotas(options.quota))) return {};
  return core::Fail(core::ErrorCode::kInvalidArgument,
                    "the patterns of quota are set at the start: at run time only their limits can be changed");
}

void WarnOfExceededLimits(const core::MemoryBudget& memory, const Quotas& quotas) {
  const uint64_t limit = memory.limit_bytes();
  if (limit != 0 && memory.used_bytes() > limit) {
    spdlog::warn("The filters take {} bytes, more than maxmemory, {}: commands that need more memory are refused",
                 memory.used_bytes(), limit);
  }
  for (const QuotaUse& quota : quotas.Use()) {
    if (!quota.IsExceeded()) continue;
    spdlog::warn(
        "The {} filters with names like {} take {} bytes, more than their quota allows, which is {} filters and {} "
        "bytes (0: no limit): further ones are refused",
        quota.filters, quota.pattern, quota.bytes, quota.most_filters, quota.most_bytes);
  }
}

}  // namespace bitsieve::server
