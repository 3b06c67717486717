#include "module/replication.h"

#include "module/filter_content.h"
#include "module/options.h"
#include "module/redisbloom_stream.h"

namespace bitsieve::module {
namespace {

using commands::Replication;

void ReplicateCreation(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  const bool for_redisbloom = OwnSettings().for_redisbloom.load(std::memory_order_relaxed);
  if (for_redisbloom && ReplicateReserve(context, key, params)) return;
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
  engine::Replicate(context, "BF.AT", "slcv", executed.key, static_cast<long long>(executed.at_ms),
                    executed.row.name.data(), executed.argv + kNameAndKey,
                    static_cast<size_t>(executed.argc - kNameAndKey));
}

}  // namespace bitsieve::module
