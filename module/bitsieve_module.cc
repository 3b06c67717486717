// The module's entry, which the engine calls once.

#include "commands/module_identity.h"
#include "module/command_adapter.h"
#include "module/command_registration.h"
#include "module/engine_api.h"
#include "module/engine_heap.h"
#include "module/filter_value.h"
#include "module/options.h"
#include "module/sketch_value.h"

namespace bitsieve::module {
namespace {

void WriteInfo(engine::Info* info, int /*for_crash_report*/) {
  const commands::Tally& totals = Totals();
  const auto add = [info](const char* name, uint64_t value) { engine::InfoAddFieldULongLong(info, name, value); };
  engine::InfoAddSection(info, "filters");
  add("filters", FilterCount());
  add("filter_memory", Budget().used_bytes());
  add("filter_commands", totals.commands);
  add("lookup_hits", totals.hits);
  add("lookup_misses", totals.misses);
  add("items_added", totals.added);
  add("error_replies", totals.errors);
  add("sketches", SketchCount());
}

bool Start(engine::Context* context, engine::String** arguments, int count) {
  if (!engine::Load(context)) return false;
  const char* const name = commands::kModuleName.data();
  engine::SetModuleAttribs(context, name, static_cast<int>(commands::kModuleVersion), 1);
  if (engine::IsModuleNameBusy(name) != 0) {
    engine::Log(context, "warning", "bitsieve: a module named %s is already loaded: load only one of them", name);
    return false;
  }
  engine::SetModuleOptions(context, engine::kHandleIoErrors | engine::kNoImplicitSignalModified);
  UseEngineHeap();
  engine::Log(context, "notice", "bitsieve %s", BITSIEVE_VERSION);
  return RegisterOptions(context, arguments, count) && RegisterCommands(context) && CreateFilterTypes(context) &&
         CreateSketchTypes(context) && engine::RegisterInfoFunc(context, WriteInfo) == engine::kOk;
}

}  // namespace
}  // namespace bitsieve::module

extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(bitsieve::engine::Context* context,
                                                                         bitsieve::engine::String** arguments,
                                                                         int count) {
  return bitsieve::module::Start(context, arguments, count) ? bitsieve::engine::kOk : bitsieve::engine::kError;
}
