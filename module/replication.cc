#include "module/replication.h"

#include <cstdio>

#include "core/families/redisbloom/module_value.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "module/filter_content.h"
#include "module/options.h"

namespace bitsieve::module {
namespace {

using commands::Replication;

long long Number(uint64_t value) { return static_cast<long long>(value); }

void ReplicateCuckooReserve(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  const core::RedisCuckooParams own = core::RedisCuckooParamsOf(params);
  engine::Replicate(context, "CF.RESERVE", "slclclcl", key, Number(params.capacity), "BUCKETSIZE",
                    Number(own.bucket_size), "MAXITERATIONS", Number(own.max_iterations), "EXPANSION",
                    Number(params.expansion));
}

// A filter that does not grow keeps the expansion that NONSCALING took the place of.
void ReplicateBloomReserve(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.17g", params.error_rate);
  if (params.scaling() || core::RedisBloomMarksOf(params).growth == 0) {
    engine::Replicate(context, "BF.RESERVE", "sclcl", key, rate, Number(params.capacity), "EXPANSION",
                      Number(params.expansion));
  } else {
    engine::Replicate(context, "BF.RESERVE", "sclc", key, rate, Number(params.capacity), "NONSCALING");
  }
}

void ReplicateCreation(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  const bool for_redisbloom = OwnSettings().for_redisbloom.load(std::memory_order_relaxed);
  if (for_redisbloom && params.type == core::kRedisCuckooType) return ReplicateCuckooReserve(context, key, params);
  if (for_redisbloom && params.type == core::kRedisBloomType) return ReplicateBloomReserve(context, key, params);
  const std::string bytes = core::EncodeMadeParams(params);
  engine::Replicate(context, "BF.MADE", "sb", key, bytes.data(), bytes.size());
}

void ReplicateContent(engine::Context* context, engine::String* key, const core::Filter& filter) {
  ForEachContentCommand(filter, [=](const char* command, int64_t cursor, std::string_view bytes) {
    engine::Replicate(context, command, "slb", key, static_cast<long long>(cursor), bytes.data(), bytes.size());
  });
}

}  // namespace

void Replicate(const Executed& executed) {
  engine::Context* const context = executed.context;
  if (executed.row.replication == Replication::kContent) {
    return ReplicateContent(context, executed.key, executed.filter);
  }
  if (executed.created) ReplicateCreation(context, executed.key, executed.filter.params());
  if (executed.created && executed.row.replication == Replication::kCreated) return;
  if (executed.at_ms == 0 && executed.origin == Origin::kEngine) {
    engine::ReplicateVerbatim(context);
    return;
  }
  if (executed.at_ms == 0) {
    engine::Replicate(context, executed.row.name.data(), "v", executed.argv + 1,
                      static_cast<size_t>(executed.argc - 1));
    return;
  }
  constexpr int kNameAndKey = 2;
  engine::Replicate(context, "BF.AT", "slcv", executed.key, Number(executed.at_ms), executed.row.name.data(),
                    executed.argv + kNameAndKey, static_cast<size_t>(executed.argc - kNameAndKey));
}

}  // namespace bitsieve::module
