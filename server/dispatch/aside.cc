#include "server/dispatch/aside.h"

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/out_of_memory.h"
#include "core/base/tick_clock.h"
#include "server/dispatch/monitoring.h"
#include "server/dispatch/wire_errors.h"
#include "server/session/client_list.h"
#include "server/session/kept_arguments.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// Made on the loop, run on a worker, and then used on the loop again.
class AsideCommand {
 public:
  explicit AsideCommand(ServerContext& context)
      : environment_(context.server),
        row_(context.row),
        loop_stats_(context.server.loop_stats),
        session_(context.session.client),
        loading_(context.loading),
        in_trouble_(context.in_trouble),
        reply_limit_(context.reply.room()),
        arguments_(context.KeepArguments()) {
    session_.version = context.session.version;
    session_.stands_for_subscriber = context.session.MaySendLittle();
    environment_.loop_stats = &stats_;
  }
  AsideCommand(const AsideCommand&) = delete;
  AsideCommand& operator=(const AsideCommand&) = delete;
  ~AsideCommand() { ReleaseArguments(); }

  // Returns the memory of the arguments.
  size_t bytes() const { return arguments_.memory_bytes(); }
  // From now on the bytes of the arguments, which are in the account of all connections, leave it when they are
  // released.
  void AdoptAccount() noexcept { accounted_bytes_ = bytes(); }

  // On a worker.
  void Run() noexcept {
    try {
      protocol::ReplyWriter reply(reply_);
      reply.set_version(session_.version);
      reply.set_limit(reply_limit_);
      ServerContext context(environment_, session_, reply);
      context.loading = loading_;
      context.in_trouble = in_trouble_;
      context.aside = true;
      context.arguments = arguments_.get();
      context.row = row_;
      commands::RunHandler(context);
      tally_ = context.tally;
      too_long_ = reply.exceeded();
      RecordTime();
    } catch (const std::bad_alloc&) {
      out_of_memory_ = true;
    }
    ReleaseArguments();
  }

  // On the connection's loop.
  void WriteReply(protocol::ReplyWriter& reply) {
    if (out_of_memory_) {
      tally_ = {.errors = 1};
      stats_.error_codes.Count(wire::kOutOfMemory);
      reply_.clear();
      reply.Error(wire::kOutOfMemory);
    }
    Publish(tally_, *loop_stats_);
    stats_.error_codes.ForEach(
        [this](std::string_view code, uint64_t count) { loop_stats_->error_codes.Add(code, count); });
    if (too_long_) reply.Fits(SIZE_MAX);
    reply.Append(std::move(reply_));
  }

 private:
  void RecordTime() {
    Monitoring* const monitoring = environment_.monitoring;
    const uint64_t ns = core::TickClock::Nanoseconds(begin_, core::TickClock::Now());
    if (monitoring == nullptr || ns < monitoring->NotableNs()) return;
    monitoring->RecordSlow(*row_, arguments_.get(), 0, *session_.client, ns);
  }
  void ReleaseArguments() noexcept {
    arguments_ = {};
    environment_.clients->UpdateMemory(std::exchange(accounted_bytes_, 0), 0);
  }

  Environment environment_;
  const CommandRow* const row_;
  LoopStats* const loop_stats_;
  LoopStats stats_;  // a stand-in: only the loop may use its own
  Session session_;
  const bool loading_;
  const bool in_trouble_;
  const size_t reply_limit_;
  const uint64_t begin_ = core::TickClock::Now();
  KeptArguments arguments_;
  uint64_t accounted_bytes_ = 0;  // to be taken out of the account
  std::string reply_;
  Tally tally_ = {};
  bool out_of_memory_ = false;
  bool too_long_ = false;
};

// A connection waits for the reply, so this is retried until there is memory for it.
void HandOver(const Finish& finish, const std::shared_ptr<AsideCommand>& command) noexcept {
  core::UntilThereIsMemory([&] { finish([command](protocol::ReplyWriter& reply) { command->WriteReply(reply); }); });
}

}  // namespace

void RunAside(ServerContext& context, Weight weight) {
  auto command = std::make_shared<AsideCommand>(context);
  Publish(context.tally, *context.server.loop_stats);  // so that the command sees what ran before it
  const bool writes = (context.row->flags & kWrite) != 0;
  const size_t bytes = command->bytes();
  auto start = [command = std::move(command), workers = context.environment.workers, weight](Finish finish) {
    command->AdoptAccount();
    workers->Run(weight, [command, finish = std::move(finish)] {
      command->Run();
      HandOver(finish, command);
    });
  };
  context.Defer(std::move(start), writes, bytes);
}

}  // namespace bitsieve::server
