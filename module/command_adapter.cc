#include "module/command_adapter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/command.h"
#include "commands/filter_commands.h"
#include "commands/filter_events.h"
#include "commands/transfers.h"
#include "commands/wire_errors.h"
#include "core/base/out_of_memory.h"
#include "core/base/roll_back.h"
#include "core/filter/filter_factory.h"
#include "module/aside.h"
#include "module/background_thread.h"
#include "module/content_limit.h"
#include "module/engine_keyspace.h"
#include "module/options.h"
#include "module/redisbloom_stream.h"
#include "module/replication.h"
#include "module/reply_translator.h"
#include "module/single_add.h"

namespace bitsieve::module {
namespace {

using commands::CommandRow;
using commands::Replication;

// Events of filters beyond the one that bears the command's name, kept until the command is done: a listener may run
// commands of its own.
class KeptEvents final : public commands::FilterEvents {
 public:
  void Listen() {
    const bool wanted = (engine::GetNotifyKeyspaceEvents() & engine::kNotifyModule) != 0;
    wanted_.store(wanted ? static_cast<uint32_t>(commands::EventClass::kFilter) : 0, std::memory_order_relaxed);
  }
  std::vector<std::string> Take() { return std::exchange(events_, {}); }

 private:
  void PublishWanted(std::string_view event, std::string_view) noexcept override {
    const auto add = [&] {
      events_.emplace_back(event);
      return core::Status();
    };
    (void)core::OrOutOfMemory(add);
  }

  std::vector<std::string> events_;
};

// An abandoned dump takes a lock of its filter as it ends.
void EndDump(std::unique_ptr<commands::OpenDump> abandoned) {
  static engine::Context* const context = engine::GetThreadSafeContext(nullptr);
  const EngineLock lock(context);
  abandoned.reset();
}

// All that one command works with; used again by the next.
struct Desk {
  Desk() { context.events = &events; }

  EngineKeyspace keyspace;
  KeptEvents events;
  commands::Transfers transfers{.loads = commands::PendingLoads(),
                                .dumps = commands::OpenDumps(commands::OpenDumps::kMax, commands::OpenDumps::kPatience,
                                                             commands::OpenDumps::kMoment, EndDump),
                                .ended = {}};
  commands::FilterEnvironment environment{
      .settings = &Settings(), .freezing = &keyspace, .transfers = &transfers, .followed = &FollowedFilters()};
  std::string bytes;
  protocol::ReplyWriter reply{bytes};
  commands::CommandContext context{environment, keyspace, reply};
  std::vector<std::string_view> arguments;
};

Desk& TheDesk() {
  static Desk& desk = *new Desk;
  return desk;
}

int ReplyError(engine::Context* context, const std::string& text) {
  return engine::ReplyWithError(context, text.c_str());
}

// Asking takes about as long as a lookup.
bool IsReplayed(engine::Context* context) {
  return (engine::GetContextFlags(context) & (engine::kContextReplicated | engine::kContextLoading)) != 0;
}

// The limit of a filter's size, for clients.
bool IsFromClient(void* context) { return !IsReplayed(static_cast<engine::Context*>(context)); }

// Returns whether the command treats a name that holds another type of value as missing, as in RedisBloom, whose other
// commands reply WRONGTYPE.
bool PassesOverOthers(const CommandRow& row) {
  constexpr std::array<std::string_view, 7> kNames{"bf.exists", "bf.mexists", "cf.exists", "cf.mexists",
                                                   "cf.count",  "cf.del",     "cf.compact"};
  return std::ranges::find(kNames, row.name) != kNames.end();
}

// Lifts the limit on sub-filters at which CF.* stops adding. No limit holds for what a master or the log has done
// already.
class LiftedLimits {
 public:
  LiftedLimits() { Settings().cf_max_expansions = std::numeric_limits<uint32_t>::max(); }
  LiftedLimits(const LiftedLimits&) = delete;
  LiftedLimits& operator=(const LiftedLimits&) = delete;
  ~LiftedLimits() { Settings().cf_max_expansions = before_; }

 private:
  const uint32_t before_ = Settings().cf_max_expansions.load(std::memory_order_relaxed);
};

// One command, from its arguments to what others get of it.
class Run {
 public:
  Run(engine::Context* context, engine::String** argv, int argc, const ModuleCommand& command, Origin origin,
      uint64_t at_ms = 0)
      : context_(context),
        argv_(argv),
        argc_(argc),
        command_(command),
        row_(*command.row),
        origin_(origin),
        at_ms_(at_ms),
        desk_(TheDesk()) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() { desk_.keyspace.CloseAll(); }

  int Execute() {
    desk_.arguments.clear();
    for (int i = 0; i < argc_; ++i) desk_.arguments.push_back(engine::TextOf(argv_[i]));
    if (!commands::ArityFits(row_, desk_.arguments.size())) {
      return ReplyError(context_, commands::ArityError(row_));
    }
    if (!OpenKeys()) return ReplyError(context_, std::string(commands::wire::kWrongType));
    const bool may_run_aside = command_.may_run_aside && origin_ == Origin::kEngine && at_ms_ == 0;
    if (may_run_aside && RunAside(context_, argv_, argc_, command_, desk_.keyspace)) return engine::kOk;
    Begin();
    if (command_.writes) {
      Write();
    } else {
      commands::RunHandler(desk_.context);
      TranslateReply(context_, desk_.bytes);
    }
    ++desk_.context.tally.commands;
    desk_.context.Hold(nullptr);
    return engine::kOk;
  }

 private:
  bool OpenKeys() {
    const size_t count = desk_.arguments.size();
    for (int i = row_.keys.first; i <= commands::LastOf(row_.keys, count); i += row_.keys.step) {
      const bool write = commands::Writes(row_, i, count);
      const bool fits = desk_.keyspace.Open(context_, argv_[i], desk_.arguments[static_cast<size_t>(i)], write);
      if (!fits && !command_.passes_over_others) return false;
    }
    return true;
  }

  // The engine turns RESP3 into RESP2 itself.
  void Begin() {
    const bool resp3 = command_.is_prepared || (engine::GetContextFlags(context_) & engine::kContextResp3) != 0;
    desk_.bytes.clear();
    desk_.reply.set_version(resp3 ? protocol::ProtocolVersion::kResp3 : protocol::ProtocolVersion::kResp2);
    desk_.context.row = &row_;
    desk_.context.arguments = desk_.arguments;
    const Slot* const slot = command_.is_prepared ? desk_.keyspace.first() : nullptr;
    desk_.context.filter = slot == nullptr ? nullptr : slot->filter.get();
  }

  // Whether it makes a difference that the command comes from a master or from the log: only then it is found out.
  bool OriginMatters(const Slot* slot) const {
    if (slot == nullptr || command_.reads_options) return true;
    const uint32_t most = Settings().cf_max_expansions.load(std::memory_order_relaxed);
    return row_.group == commands::CommandGroup::kCuckoo && slot->filter->SubFilters() >= most;
  }

  void Write() {
    const Slot* const slot = desk_.keyspace.first();
    const uint64_t changes = slot == nullptr ? 0 : slot->filter->ChangeCount();
    is_replayed_ = OriginMatters(slot) && IsReplayed(context_);
    if (slot == nullptr || slot->filter->ages()) {
      now_ms_ = at_ms_ != 0 ? at_ms_ : static_cast<uint64_t>(TheClock().WallMs());
      TheClock().Replay(now_ms_);
    }
    desk_.events.Listen();
    Handle(slot);
    if (now_ms_ != 0) TheClock().Replay(0);
    const EngineKeyspace::Effects effects = desk_.keyspace.effects();
    const Slot* const after = desk_.keyspace.first();
    if (after == nullptr) return;
    const bool changed = effects.created || effects.rewritten || after->filter->ChangeCount() != changes;
    if (changed) ReportChange(*after->filter, effects);
  }

  void Handle(const Slot* slot) {
    ContentLimit limit(OwnSettings().max_filter_bytes.load(std::memory_order_relaxed), IsFromClient, context_);
    ContentLimit::BeginWith(slot == nullptr ? 0 : slot->filter->size_bytes());
    is_replayed_ ? HandleReplayed() : HandleOfClient();
    TranslateReply(context_, desk_.bytes, ContentLimit::Refusal());
  }

  void HandleOfClient() {
    const bool is_chunk = row_.replication == Replication::kContent;
    wrote_chunk_ = is_chunk && WriteRedisBloomChunk(desk_.context, core::ItemCounts::kSummed);
    if (!wrote_chunk_) commands::RunHandler(desk_.context);
  }

  // Commands within BF.AT are those of Bitsieve.
  void HandleReplayed() {
    const LiftedLimits lifted;
    const bool may_be_redisblooms = command_.may_be_redisblooms && at_ms_ == 0;
    const bool done = may_be_redisblooms && RunAsRedisBloom(desk_.context, desk_.arguments);
    if (!done) commands::RunHandler(desk_.context);
  }

  // Listeners come last, since they may run commands: what belongs to this one is given up before.
  void ReportChange(const core::Filter& filter, const EngineKeyspace::Effects& effects) {
    engine::String* const key = desk_.keyspace.first_string();
    const bool is_chunk = row_.replication == Replication::kContent;
    if (at_ms_ != 0 || wrote_chunk_ || (is_replayed_ && is_chunk)) {
      engine::ReplicateVerbatim(context_);
    } else {
      Replicate({.context = context_,
                 .argv = argv_,
                 .argc = argc_,
                 .row = row_,
                 .key = key,
                 .filter = filter,
                 .created = effects.created && effects.pristine,
                 .origin = origin_,
                 .at_ms = filter.ages() ? now_ms_ : 0});
    }
    engine::SignalModifiedKey(context_, key);
    const std::vector<std::string> events = desk_.events.Take();
    desk_.keyspace.CloseAll();
    engine::NotifyKeyspaceEvent(context_, engine::kNotifyModule, row_.name.data(), key);
    for (const std::string& event : events) {
      if (event != row_.name) engine::NotifyKeyspaceEvent(context_, engine::kNotifyModule, event.c_str(), key);
    }
  }

  engine::Context* const context_;
  engine::String** const argv_;
  const int argc_;
  const ModuleCommand& command_;
  const CommandRow& row_;
  const Origin origin_;
  const uint64_t at_ms_;
  Desk& desk_;
  bool is_replayed_ = false;  // if that matters
  bool wrote_chunk_ = false;  // of RedisBloom's form
  uint64_t now_ms_ = 0;       // as filters that age have it, if the command may concern one
};

}  // namespace

ModuleCommand MakeModuleCommand(const CommandRow& row) {
  using enum commands::Preparation;
  const bool prepared = row.preparation == kOneItem || row.preparation == kItems;
  return {.row = &row,
          .writes = (row.flags & commands::kWrite) != 0,
          .is_prepared = prepared,
          .may_be_redisblooms = MayBeRedisBlooms(row),
          .reads_options = MayBeRedisBlooms(row) && !prepared,
          .may_run_aside = MayRunAside(row),
          .passes_over_others = PassesOverOthers(row),
          .has_short_way = HasShortWay(row)};
}

int RunCommand(engine::Context* context, engine::String** argv, int argc, const ModuleCommand& command, Origin origin) {
  const bool short_way = command.has_short_way && origin == Origin::kEngine;
  if (short_way && AddByShortWay(context, argv, argc, *command.row, TheDesk().context.tally)) return engine::kOk;
  return Run(context, argv, argc, command, origin).Execute();
}

int RunMade(engine::Context* context, engine::String** argv, int argc) {
  if (argc != 3) return ReplyError(context, commands::wire::WrongArity("bf.made"));
  const std::optional<core::FilterParams> params = core::DecodeMadeParams(engine::TextOf(argv[2]));
  if (!params) return ReplyError(context, commands::wire::FilterRefused("these are not parameters of a filter"));
  EngineKeyspace& keyspace = TheDesk().keyspace;
  const std::string_view name = engine::TextOf(argv[1]);
  const core::RollBack closed([&keyspace] { keyspace.CloseAll(); });
  if (!keyspace.Open(context, argv[1], name, true)) return ReplyError(context, std::string(commands::wire::kWrongType));
  ContentLimit limit(OwnSettings().max_filter_bytes.load(std::memory_order_relaxed), IsFromClient, context);
  auto made = core::MakeFilter(*params, Budget(), TheClock());
  if (const std::string refusal = ContentLimit::Refusal(); !refusal.empty()) return ReplyError(context, refusal);
  if (!made) return ReplyError(context, commands::wire::FilterRefused(made.error().message));
  keyspace.Put(name, FilterPtr(std::move(*made)), 0);
  engine::ReplicateVerbatim(context);
  engine::SignalModifiedKey(context, argv[1]);
  return engine::ReplyWithSimpleString(context, "OK");
}

int RunAt(engine::Context* context, engine::String** argv, int argc) {
  constexpr int kInner = 3;  // where the command begins
  if (argc <= kInner) return ReplyError(context, commands::wire::WrongArity("bf.at"));
  const std::optional<uint64_t> at_ms = commands::ParseUnsigned(engine::TextOf(argv[2]));
  const CommandRow* const row = commands::FindFilterCommand(engine::TextOf(argv[kInner]));
  const bool fits = row != nullptr && (row->flags & commands::kWrite) != 0 && row->keys.first == 1;
  if (!at_ms || *at_ms == 0 || *at_ms > INT64_MAX || !fits) {
    return ReplyError(context, std::string(commands::wire::kSyntax));
  }
  std::vector<engine::String*> inner{argv[kInner], argv[1]};
  inner.insert(inner.end(), argv + kInner + 1, argv + argc);
  const ModuleCommand command = MakeModuleCommand(*row);
  return Run(context, inner.data(), static_cast<int>(inner.size()), command, Origin::kEngine, *at_ms).Execute();
}

// Does the same as BF.LOADCHUNK of a client, which takes dumps as well. Each chunk is logged, since the log has no
// other record of a filter that is still arriving.
int RunContent(engine::Context* context, engine::String** argv, int argc) {
  static const CommandRow* const row = commands::FindFilterCommand("bf.loadchunk");
  if (argc != row->arity) return ReplyError(context, commands::wire::WrongArity("bf.content"));
  Desk& desk = TheDesk();
  const core::RollBack closed([&desk] { desk.keyspace.CloseAll(); });
  desk.arguments = {engine::TextOf(argv[0]), engine::TextOf(argv[1]), engine::TextOf(argv[2]), engine::TextOf(argv[3])};
  if (!desk.keyspace.Open(context, argv[1], desk.arguments[1], true)) {
    return ReplyError(context, std::string(commands::wire::kWrongType));
  }
  ContentLimit limit(OwnSettings().max_filter_bytes.load(std::memory_order_relaxed), IsFromClient, context);
  desk.bytes.clear();
  desk.context.row = row;
  desk.context.arguments = desk.arguments;
  desk.context.filter = nullptr;
  commands::RunHandler(desk.context);
  TranslateReply(context, desk.bytes, ContentLimit::Refusal());
  desk.context.Hold(nullptr);
  engine::ReplicateVerbatim(context);
  if (desk.keyspace.effects().created) engine::SignalModifiedKey(context, argv[1]);
  return engine::kOk;
}

const commands::Tally& Totals() { return TheDesk().context.tally; }

}  // namespace bitsieve::module
