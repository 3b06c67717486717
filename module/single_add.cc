#include "module/single_add.h"

#include <span>

#include "core/filter/filter.h"
#include "core/filter/filter_type.h"
#include "module/filter_value.h"

namespace bitsieve::module {
namespace {

// The filter of an open key; null if the short way is not for it.
core::Filter* FilterOf(engine::Key* key) {
  if (!IsFilterType(engine::ModuleTypeGetType(key))) return nullptr;
  core::Filter* const filter = static_cast<Slot*>(engine::ModuleTypeGetValue(key))->filter.get();
  return filter->HasRoomForOne() ? filter : nullptr;
}

}  // namespace

bool HasShortWay(const commands::CommandRow& row) { return row.name == "bf.add"; }

bool AddByShortWay(engine::Context* context, engine::String** argv, int argc, const commands::CommandRow& row,
                   commands::Tally& tally) {
  constexpr int kArguments = 3;
  if (argc != kArguments || (engine::GetNotifyKeyspaceEvents() & engine::kNotifyModule) != 0) return false;
  engine::Key* const key = engine::OpenKey(context, argv[1], engine::kRead | engine::kWrite);
  core::Filter* const filter = FilterOf(key);
  if (filter == nullptr) {
    engine::CloseKey(key);
    return false;
  }
  const core::KeyHash hash = filter->HashOf(engine::TextOf(argv[2]));
  // An addition loads all lines of one sub-filter at once itself.
  if (filter->SubFilters() > 1) filter->Prefetch({&hash, 1});
  core::AddOutcome outcome;
  filter->Add({&hash, 1}, {&outcome, 1});
  if (core::IsRefused(outcome)) {  // nothing was done: the long way words the error
    engine::CloseKey(key);
    return false;
  }
  const bool added = outcome == core::AddOutcome::kAdded;
  filter->CountUse(0, 0, added ? 1 : 0);
  tally.added += added ? 1 : 0;
  ++tally.commands;
  engine::ReplyWithBool(context, added ? 1 : 0);
  const bool changed = added || filter->capabilities().repeats;
  engine::CloseKey(key);  // before listeners, which may run commands
  if (!changed) return true;
  engine::ReplicateVerbatim(context);
  engine::SignalModifiedKey(context, argv[1]);
  engine::NotifyKeyspaceEvent(context, engine::kNotifyModule, row.name.data(), argv[1]);
  return true;
}

}  // namespace bitsieve::module
