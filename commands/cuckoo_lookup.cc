#include "commands/cuckoo_lookup.h"

#include <new>
#include <utility>

#include "commands/cuckoo_errors.h"
#include "commands/wire_errors.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::commands {

core::RedisCuckoo* AsCuckoo(core::Filter* filter) {
  const bool fits = filter != nullptr && filter->type().type == core::kRedisCuckooType;
  return fits ? static_cast<core::RedisCuckoo*>(filter) : nullptr;
}

core::RedisCuckoo* FindCuckoo(CommandContext& context, std::string_view missing, std::string_view of_other_kind) {
  core::Filter* const filter = context.FindFilter();
  core::RedisCuckoo* const cuckoo = AsCuckoo(filter);
  if (cuckoo == nullptr) context.Error(filter == nullptr ? missing : of_other_kind);
  return cuckoo;
}

FilterPtr MakeCuckoo(CommandContext& context, const core::FilterParams& params) {
  auto made = core::MakeFilter(params, context.keyspace().MemoryOf(context.arguments[1]), context.keyspace().clock());
  if (made) return std::move(*made);
  context.MemoryError(wire::kNoMemoryForCuckoo);  // the options' ranges leave nothing else to refuse
  return nullptr;
}

FilterPtr PublishCuckoo(CommandContext& context, FilterPtr cuckoo) {
  const auto prepared = context.keyspace().Prepare(cuckoo);
  if (!prepared) {
    context.Error(wire::NotLogged(prepared.error()));
    return nullptr;
  }
  FilterPtr there = context.keyspace().InsertIfAbsent(context.arguments[1], std::move(cuckoo));
  if (there == nullptr) context.MemoryError(wire::kNoMemoryForCuckoo);
  return there;
}

void CompactIfDue(CommandContext& context, core::Filter& filter) {
  core::RedisCuckoo* const cuckoo = AsCuckoo(&filter);
  Workers* const workers = context.environment.workers;
  if (cuckoo == nullptr || !cuckoo->TakeDueCompaction()) return;
  if (workers == nullptr) return cuckoo->CompactAfterRemovals();
  const FilterPtr held = context.keyspace().Find(context.arguments[1]);
  if (held.get() != &filter) return cuckoo->ForgetDueCompaction();  // it was renamed: the next removal asks again
  try {
    workers->Run(Weight::kLarge, [held, cuckoo] { cuckoo->CompactAfterRemovals(); });
  } catch (const std::bad_alloc&) {
    cuckoo->ForgetDueCompaction();
  }
}

std::unique_ptr<core::FilterDecoder> OpenCuckooHeader(CommandContext& context, std::string_view header) {
  const core::RedisBloomForm& form = *core::FindFilterType(core::kRedisCuckooType)->redisbloom_form;
  core::MemoryBudget& memory = context.keyspace().MemoryOf(context.arguments[1]);
  auto decoder = form.open(header, core::ItemCounts::kDrifted, memory);
  if (decoder) return std::move(*decoder);
  if (decoder.error().code == core::ErrorCode::kOutOfMemory) {
    context.MemoryError();
  } else if (decoder.error().code == core::ErrorCode::kUnsupported) {
    context.Error(wire::kInvalidHeaderOf20);
  } else {
    context.Error(core::IsRedisCuckooHeaderSize(header.size()) ? wire::kHeaderRefused : wire::kInvalidHeader);
  }
  return nullptr;
}

std::string_view TakenBy(const FilterPtr& there) {
  return AsCuckoo(there.get()) != nullptr ? wire::kItemExists : wire::kWrongType;
}

}  // namespace bitsieve::commands
