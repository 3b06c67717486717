#include "module/sketch_commands.h"

#include <string>
#include <string_view>
#include <vector>

#include "commands/wire_errors.h"
#include "module/content_limit.h"
#include "module/engine_keyspace.h"
#include "module/engine_sketches.h"
#include "module/options.h"
#include "module/reply_translator.h"

namespace bitsieve::module {
namespace {

// All that one command works with; used again by the next. No command on sketches asks for filters.
struct SketchDesk {
  EngineSketches sketches;
  EngineKeyspace no_filters;
  commands::FilterEnvironment environment{.settings = &Settings(), .sketches = &sketches};
  std::string bytes;
  protocol::ReplyWriter reply{bytes};
  commands::CommandContext context{environment, no_filters, reply};
  std::vector<std::string_view> arguments;
};

SketchDesk& TheSketchDesk() {
  static SketchDesk& desk = *new SketchDesk;
  return desk;
}

// The limit of a sketch's size, for clients: what a master or the log has, is had here.
bool IsOfClient(void* context) {
  constexpr int kReplayed = engine::kContextReplicated | engine::kContextLoading;
  return (engine::GetContextFlags(static_cast<engine::Context*>(context)) & kReplayed) == 0;
}

void Handle(SketchDesk& desk, engine::Context* context) {
  ContentLimit limit(OwnSettings().max_filter_bytes.load(std::memory_order_relaxed), IsOfClient, context);
  desk.context.row->handler(desk.context);
}

}  // namespace

int RunSketchCommand(engine::Context* context, engine::String** argv, int argc, const commands::CommandRow& row) {
  SketchDesk& desk = TheSketchDesk();
  desk.arguments.clear();
  for (int i = 0; i < argc; ++i) desk.arguments.push_back(engine::TextOf(argv[i]));
  if (!commands::ArityFits(row, desk.arguments.size())) {
    return engine::ReplyWithError(context, commands::wire::WrongArity(row.name).c_str());
  }
  desk.bytes.clear();
  desk.reply.set_version(protocol::ProtocolVersion::kResp3);  // the engine turns it into RESP2 itself
  desk.context.row = &row;
  desk.context.arguments = desk.arguments;
  desk.sketches.Begin(context, argv, argc, (row.flags & commands::kWrite) != 0);
  Handle(desk, context);
  desk.sketches.CloseAll();
  TranslateReply(context, desk.bytes);
  if (desk.sketches.changed()) {
    engine::ReplicateVerbatim(context);
    engine::SignalModifiedKey(context, argv[row.keys.first]);
  }
  return engine::kOk;
}

}  // namespace bitsieve::module
