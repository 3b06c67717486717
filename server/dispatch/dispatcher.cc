#include "server/dispatch/dispatcher.h"

#include <algorithm>
#include <array>

#include "commands/item_lookup.h"
#include "commands/weigh.h"
#include "core/base/roll_back.h"
#include "core/base/tick_clock.h"
#include "core/filter/image_pressure.h"
#include "server/dispatch/access.h"
#include "server/dispatch/command_runner.h"
#include "server/dispatch/command_table.h"
#include "server/dispatch/command_timer.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/transaction.h"
#include "server/pubsub/keyspace_events.h"
#include "server/session/client_list.h"
#include "server/session/durability.h"
#include "server/session/turn.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr size_t kOneItemArguments = 3;  // command, filter, item

// Publishes the counts of a batch, however the batch ends.
class PublishedCounts {
 public:
  PublishedCounts(Tally& tally, LoopStats& stats, CommandTimer& timer) : tally_(tally), stats_(stats), timer_(timer) {}
  PublishedCounts(const PublishedCounts&) = delete;
  PublishedCounts& operator=(const PublishedCounts&) = delete;
  ~PublishedCounts() {
    timer_.EndShared();
    Publish(tally_, stats_);
  }

 private:
  Tally& tally_;
  LoopStats& stats_;
  CommandTimer& timer_;
};

}  // namespace

class Dispatcher::Impl {
  // Commands of all clients together that may be prepared before they run: more than the processor can have cache
  // misses under way, and few enough for what was loaded to be in the cache still.
  static constexpr size_t kMaxPrepared = 2 * kWindow;

  // The filters that the names of prepared commands mean, looked up once per name. Names that mean nothing are not
  // remembered, so that a filter that comes to be is seen by the next command.
  class NameMemo {
   public:
    explicit NameMemo(const Keyspace& keyspace) : keyspace_(keyspace) {}

    core::Filter* Resolve(std::string_view name) {
      // Newest first: pipelines mostly stay with one name. Many names are not worth a search.
      for (size_t i = size_, end = size_ > kSearched ? size_ - kSearched : 0; i > end; --i) {
        if (names_[i - 1] == name) return filters_[i - 1].get();
      }
      FilterPtr filter = keyspace_.Find(name);
      if (filter == nullptr) return nullptr;
      names_[size_] = name;
      filters_[size_] = std::move(filter);
      return filters_[size_++].get();
    }
    size_t size() const { return size_; }
    // Forgets all but the first `kept` names.
    void Shrink(size_t kept) {
      while (size_ > kept) filters_[--size_].reset();
    }
    // Forgets all names when it ends, however it ends: they are in a read buffer that is reused.
    class Window {
     public:
      explicit Window(NameMemo& memo) : memo_(memo) {}
      Window(const Window&) = delete;
      Window& operator=(const Window&) = delete;
      ~Window() { memo_.Shrink(0); }

     private:
      NameMemo& memo_;
    };

   private:
    static constexpr size_t kSearched = 8;

    const Keyspace& keyspace_;
    size_t size_ = 0;  // at most one a command
    std::array<std::string_view, kMaxPrepared> names_;
    std::array<FilterPtr, kMaxPrepared> filters_;
  };

  // How long a connection has worked. A command that may be slow is followed by a look at the clock, and so is each
  // kQuickAtOnce-th of the others: a pipeline of quick commands may be slow.
  class Turn {
   public:
    void Begin() {
      begin_ = core::TickClock::Now();
      quick_ = 0;
    }
    bool IsOverAfter(bool slow_command) {
      if (!slow_command && ++quick_ % kQuickAtOnce != 0) return false;
      return core::TickClock::Nanoseconds(begin_, core::TickClock::Now()) > kTurnNs;
    }

   private:
    static constexpr size_t kQuickAtOnce = 8;

    uint64_t begin_ = 0;
    size_t quick_ = 0;
  };

 public:
  explicit Impl(const Environment& environment)
      : environment_(environment),
        memo_(*environment.keyspace),
        ahead_(*environment.keyspace),
        timer_(*environment.table, *environment.loop_stats, environment.monitoring) {}

  // Not if the commands may be refused, or queued: they are looked at when they run.
  void PrepareAhead(const Session& session, const CommandBatch& batch, PreparedCommands& prepared) {
    prepared.count = 0;
    if (batch.size() == 0 || batch.size() > kMaxPrepared - prepared_ahead_ || session.executing != nullptr) return;
    if (PreparesNothing(session, environment_.stats->Loading())) return;
    // If memory runs out, the client is closed, and with it go the bytes that its names are in.
    core::RollBack forgotten([this, kept = ahead_.size()] { ahead_.Shrink(kept); });
    Prepare(ahead_, batch, 0, prepared);
    forgotten.Dismiss();
    prepared_ahead_ += prepared.count;
  }
  void Forget() {
    ahead_.Shrink(0);
    prepared_ahead_ = 0;
  }

  Outcome Execute(Session& session, const CommandBatch& batch, size_t first, protocol::ReplyWriter& reply,
                  const PreparedCommands* prepared) {
    reply.set_version(session.version);
    session.client->last_active_ms.store(environment_.clock->MonotonicMs(), std::memory_order_relaxed);
    ServerContext context(environment_, session, reply);
    context.bytes = batch.bytes;
    context.timer = &timer_;
    const PublishedCounts published(context.tally, *environment_.loop_stats, timer_);
    timer_.Begin(*session.client);
    turn_.Begin();
    size_t next = first;
    if (session.executing != nullptr) [[unlikely]] {
      RefreshState(context);
      if (session.abort != Session::Abort::kNone) return {};
      const size_t reply_begin = reply.size();
      ContinueExecution(context);
      if (session.replies != Session::Replies::kOn) Silence(context, session.replies, reply_begin);
      if (reply.exceeded()) session.abort = Session::Abort::kReplies;
    }
    while (next < batch.size() && !Stops(context)) {
      RefreshState(context);
      if (session.abort != Session::Abort::kNone) break;
      const NameMemo::Window window(memo_);
      if (PreparesNothing(session, context.loading)) {
        PrepareNothing(batch, next);
        next = Run(context, batch, next, prepared_);
      } else if (prepared != nullptr && prepared->count != 0) {
        next = Run(context, batch, next, *prepared);
      } else {
        Prepare(memo_, batch, next, prepared_);
        next = Run(context, batch, next, prepared_);
      }
      prepared = nullptr;  // it was that of the first commands
    }
    session.has_written |= context.outcome.wrote || context.outcome.deferred_wrote;
    context.outcome.executed = next - first;
    return std::move(context.outcome);
  }

 private:
  using Slot = PreparedCommands::Slot;

  void RefreshState(ServerContext& context) const {
    context.loading = environment_.stats->Loading();
    context.in_trouble = environment_.durability != nullptr && environment_.durability->InTrouble();
    if (environment_.monitoring != nullptr) {
      context.timed_alone = environment_.monitoring->TimesEach();
      context.monitored = environment_.monitoring->feed.Any();
    }
    context.may_wait = environment_.clients->pause.MayBeActive() || core::ImagePressure::MayBeActive() ||
                       (environment_.events != nullptr && environment_.events->IsBehind());
    RenewAccess(context.session, environment_.users);
    context.restricted = context.session.access.restricted();
  }

  static bool PreparesNothing(const Session& session, bool loading) {
    return session.in_multi || session.MaySendLittle() || loading || !session.access.authenticated;
  }

  // Finds out what up to kWindow commands will need, up to the first whose effect others may depend on.
  void Prepare(NameMemo& memo, const CommandBatch& batch, size_t first, PreparedCommands& prepared) {
    const size_t end = std::min(batch.size(), first + kWindow);
    bool more = true;
    size_t i = first;
    for (; i < end && more; ++i)
      more = PrepareOne(memo, batch[i], prepared.slots[i - first], prepared.hashes[i - first]);
    prepared.count = i - first;
  }

  // False if nothing after this command may be prepared before it has run.
  bool PrepareOne(NameMemo& memo, Arguments arguments, Slot& slot, core::KeyHash& hash) {
    slot = {table_.Find(arguments[0]), nullptr};
    if (slot.row == nullptr) return true;
    const Preparation preparation = slot.row->preparation;
    if (preparation == Preparation::kAlone) return false;
    if (preparation == Preparation::kNothing || !ArityFits(*slot.row, arguments.size())) return true;
    // With further words it is a command of its own; its handler looks at them. A long item takes long to hash.
    if (preparation == Preparation::kOneItem &&
        (arguments.size() != kOneItemArguments || arguments[2].size() > kManyArgumentBytes)) {
      return true;
    }
    slot.filter = memo.Resolve(arguments[1]);
    if (slot.filter == nullptr) return false;  // the command may create it
    if (preparation == Preparation::kOneItem) commands::HashItems(*slot.filter, arguments.subspan(2), {&hash, 1});
    return true;
  }

  // Between MULTI and EXEC commands are queued, not run, and while the filters are loaded, or while a RESP2 connection
  // is subscribed to something or a client is not authenticated, most are refused: only their rows are needed, one at a
  // time, since any may end that.
  void PrepareNothing(const CommandBatch& batch, size_t first) {
    prepared_.slots[0] = {table_.Find(batch[first][0]), nullptr};
    prepared_.count = 1;
  }

  // Runs the prepared commands in order. Returns where it stopped: before their end if a reply comes later, the
  // connection closes or a command has to wait.
  size_t Run(ServerContext& context, const CommandBatch& batch, size_t first, const PreparedCommands& prepared) {
    const size_t end = first + prepared.count;
    for (size_t i = first; i < end;) {
      const Slot& slot = prepared.slots[i - first];
      if (slot.filter != nullptr && slot.row->items_handler != nullptr && !NeedsAdmission(context, *slot.row)) {
        context.arguments = batch[i];
        context.row = slot.row;
        size_t length = RunLength(prepared, i - first);
        if (context.restricted) length = CountAllowed(context, batch, i, length);
        if (length != 0) {
          AnswerRun(context, slot, std::span(prepared.hashes).subspan(i - first, length));
          i += length;
          continue;
        }
      }
      context.arguments = batch[i];
      context.own_arguments = batch.Own(i);
      context.row = slot.row;
      context.filter = slot.filter;
      if ((context.may_wait || Waits(slot.row)) && MustWait(context)) {
        context.outcome.wait = Wait::kMoment;
        return i;
      }
      ++i;
      RunOne(context);
      if (Stops(context)) return i;
    }
    return end;
  }

  static bool Waits(const CommandRow* row) { return row != nullptr && row->must_wait != nullptr; }

  void RunOne(ServerContext& context) {
    const size_t reply_begin = context.reply.size();
    const Session::Replies replies = context.session.replies;
    const bool may_be_slow = MayBeSlow(context);
    RunCommand(context);
    if (replies != Session::Replies::kOn || context.session.replies != Session::Replies::kOn) [[unlikely]] {
      Silence(context, replies, reply_begin);
    }
    if (context.reply.exceeded()) context.session.abort = Session::Abort::kReplies;
    if (context.reply.size() >= kTurnBytes || turn_.IsOverAfter(may_be_slow)) context.Yield();
  }

  // CLIENT REPLY. `replies` is what held before the command that has just run.
  static void Silence(ServerContext& context, Session::Replies replies, size_t reply_begin) {
    using enum Session::Replies;
    Session::Replies& now = context.session.replies;
    if (replies != kOn && replies == now) context.reply.Truncate(reply_begin);
    if (now == kSkipNext) {
      now = kSkip;
    } else if (now == kSkip && !context.deferred() && context.session.executing == nullptr) {
      now = kOn;
    }
  }

  static bool MayBeSlow(const ServerContext& context) {
    return context.arguments.size() > kWindow || context.row == nullptr || !(context.row->flags & kFast);
  }

  static bool Stops(const ServerContext& context) {
    return context.session.closing || context.outcome.wait != Wait::kNothing ||
           context.session.abort != Session::Abort::kNone;
  }

  static bool NeedsAdmission(const ServerContext& context, const CommandRow& row) {
    return context.may_wait || context.timed_alone || context.monitored ||
           context.session.replies != Session::Replies::kOn || (context.in_trouble && (row.flags & kWrite));
  }

  // How many slots from `begin` on ask the same of the same filter.
  static size_t RunLength(const PreparedCommands& prepared, size_t begin) {
    size_t i = begin + 1;
    while (i < prepared.count && prepared.slots[i] == prepared.slots[begin]) ++i;
    return i - begin;
  }

  // These commands need no admission: they were prepared, and so they are known, have their arguments, are not between
  // MULTI and EXEC, and all is loaded; what may not be changed now goes another way.
  void AnswerRun(ServerContext& context, const Slot& slot, std::span<const core::KeyHash> hashes) {
    context.tally.commands += hashes.size();
    const uint64_t errors = context.tally.errors;
    context.session.client->last_command.store(slot.row->name.data(), std::memory_order_relaxed);
    context.outcome.wrote |= (slot.row->flags & kWrite) != 0;
    commands::RunItemsHandler(context, *slot.filter, hashes);
    timer_.CountShared(*slot.row, context.arguments, hashes.size(), context.tally.errors - errors);
  }

  const Environment environment_;
  const CommandTable& table_ = *environment_.table;
  NameMemo memo_;   // of the window that runs now
  NameMemo ahead_;  // of what was prepared before it runs
  size_t prepared_ahead_ = 0;
  CommandTimer timer_;
  Turn turn_;
  PreparedCommands prepared_;  // the window that runs now, unless it was prepared before
};

Dispatcher::Dispatcher(const Environment& environment) : impl_(std::make_unique<Impl>(environment)) {}
Dispatcher::~Dispatcher() = default;

void Dispatcher::Prepare(const Session& session, const CommandBatch& batch, PreparedCommands& prepared) {
  impl_->PrepareAhead(session, batch, prepared);
}

void Dispatcher::Forget() { impl_->Forget(); }

Executor::Outcome Dispatcher::Execute(Session& session, const CommandBatch& batch, size_t first,
                                      protocol::ReplyWriter& reply, const PreparedCommands* prepared) {
  return impl_->Execute(session, batch, first, reply, prepared);
}

}  // namespace bitsieve::server
