#include "server/net/conversation.h"

#include <string_view>
#include <utility>

#include "server/dispatch/access.h"
#include "server/session/turn.h"

namespace bitsieve::server {

using namespace commands;

namespace {

// A window ends with a command of this many arguments, which may then be taken over as they are (CommandBatch::Own).
constexpr size_t kManyArguments = 1024;

// For AUTH, HELLO, QUIT and RESET.
constexpr protocol::RequestLimits kBeforeAuthentication{
    .max_line_bytes = 16 * 1024, .max_arguments = 10, .max_argument_bytes = 16 * 1024, .max_request_bytes = 64 * 1024};

}  // namespace

using ParseStatus = protocol::RequestParser::Status;

struct Conversation::WaitingCommands {
  WaitingCommands(const CommandBatch& from, size_t first) {
    const size_t begin = first == 0 ? 0 : from.ends[first - 1];
    size_t size = 0;
    for (size_t i = begin; i < from.arguments.size(); ++i) size += from.arguments[i].size();
    bytes.reserve(size);
    for (size_t i = begin; i < from.arguments.size(); ++i) {
      const size_t offset = bytes.size();
      bytes.append(from.arguments[i]);
      batch.arguments.push_back(std::string_view(bytes).substr(offset));
    }
    for (size_t i = first; i < from.size(); ++i) batch.ends.push_back(from.ends[i] - begin);
  }

  std::string bytes;  // never reallocated: `batch` points into it
  CommandBatch batch;
  size_t next = 0;  // those before are done

  size_t memory_bytes() const {
    return sizeof *this + bytes.capacity() + batch.arguments.capacity() * sizeof(std::string_view) +
           batch.ends.capacity() * sizeof(size_t);
  }
};

Conversation::Conversation(std::shared_ptr<ClientRecord> client, const protocol::RequestLimits& limits,
                           const Users* users)
    : session_(std::move(client)), limits_(limits), parser_(limits) {
  BeginAccess(session_, users);
}

Conversation::~Conversation() = default;

size_t Conversation::waiting_bytes() const { return waiting_ ? waiting_->memory_bytes() : 0; }

protocol::ReplyWriter Conversation::Writer(std::string& reply) const {
  protocol::ReplyWriter writer(reply);
  writer.set_version(session_.version);
  writer.set_limit(reply_limit_);
  return writer;
}

Conversation::Step Conversation::RunWindow(std::span<char> input, Dispatcher& dispatcher, CommandBatch& batch,
                                           std::string& reply, ArgumentBytes* bytes) {
  batch.Clear();
  batch.bytes = bytes;
  size_t consumed = 0;
  ParseStatus status = ParseStatus::kNeedMore;
  // A client that may not do anything yet is bounded more closely, and each of its commands may change that.
  const bool known = session_.access.authenticated;
  parser_.set_limits(known ? limits_ : kBeforeAuthentication);
  while (consumed < input.size() && batch.size() < (known ? Dispatcher::kWindow : 1)) {
    const auto result = parser_.Parse(input.subspan(consumed), batch.arguments);
    status = result.status;
    consumed += result.consumed;
    if (status == ParseStatus::kNeedMore || status == ParseStatus::kError) break;
    if (status == ParseStatus::kCommand) batch.ends.push_back(batch.arguments.size());
    if (batch.arguments.size() >= kManyArguments) break;
  }
  broken_ = status == ParseStatus::kError;
  Step step = Run(dispatcher, batch, 0, reply);
  step.consumed = consumed;
  if (step.state == State::kMore && status == ParseStatus::kNeedMore) step.state = State::kNeedMore;
  return step;
}

Conversation::Step Conversation::Resume(const WriteReply& write_reply, Dispatcher& dispatcher, std::string& reply) {
  using Replies = Session::Replies;
  protocol::ReplyWriter writer = Writer(reply);
  write_reply(writer);
  if (session_.replies != Replies::kOn) writer.Truncate(0);
  if (session_.replies == Replies::kSkip && session_.executing == nullptr) session_.replies = Replies::kOn;
  if (writer.exceeded()) session_.abort = Session::Abort::kReplies;
  const bool wrote = std::exchange(deferred_wrote_, false);
  deferred_bytes_ = 0;
  // A long reply leaves before anything else is run.
  const bool is_long = reply.size() >= kTurnBytes && session_.abort == Session::Abort::kNone;
  Step step = is_long ? Step{State::kYielded, 0, nullptr} : RunWaiting(dispatcher, reply);
  step.wrote |= wrote;
  return step;
}

std::unique_ptr<Subscriptions> Conversation::EndSubscriptions() {
  std::unique_ptr<Subscriptions> ended = std::move(session_.subscriptions);
  if (ended == nullptr || !ended->IsLarge()) return nullptr;
  ended->Close();
  return ended;
}

bool Conversation::WriteMessages(std::string& reply, size_t most_bytes, std::shared_ptr<const Message>& payload) {
  if (session_.subscriptions == nullptr) return true;
  protocol::ReplyWriter writer = Writer(reply);
  return session_.subscriptions->WriteMessages(writer, most_bytes, payload);
}

Conversation::Step Conversation::Retry(Dispatcher& dispatcher, std::string& reply) {
  return RunWaiting(dispatcher, reply);
}

Conversation::Step Conversation::RunWaiting(Dispatcher& dispatcher, std::string& reply) {
  static const CommandBatch kNone;
  Step step = waiting_ ? Run(dispatcher, waiting_->batch, waiting_->next, reply) : Run(dispatcher, kNone, 0, reply);
  const bool all_ran = step.state == State::kMore || step.state == State::kClose || step.state == State::kAbort;
  if (all_ran) waiting_.reset();
  return step;
}

// Commands of `batch` from `first` on are to be run later.
void Conversation::Keep(const CommandBatch& batch, size_t first) {
  if (first == batch.size()) {
    waiting_.reset();
  } else if (waiting_ && &batch == &waiting_->batch) {
    waiting_->next = first;
  } else {
    waiting_ = std::make_unique<WaitingCommands>(batch, first);
  }
}

Conversation::Step Conversation::Run(Dispatcher& dispatcher, const CommandBatch& batch, size_t first,
                                     std::string& reply) {
  protocol::ReplyWriter writer = Writer(reply);
  bool wrote = false;
  if (session_.abort != Session::Abort::kNone) return {State::kAbort, 0, nullptr, wrote};
  if ((first < batch.size() || session_.executing != nullptr) && !session_.closing) {
    Dispatcher::Outcome outcome = dispatcher.Execute(session_, batch, first, writer);
    wrote = outcome.wrote;
    if (session_.abort != Session::Abort::kNone) return {State::kAbort, 0, nullptr, wrote};
    if (outcome.deferred || outcome.postponed || (outcome.yielded && !session_.closing)) {
      deferred_wrote_ = outcome.deferred_wrote;
      deferred_bytes_ = outcome.deferred_bytes;
      Keep(batch, first + outcome.executed);
      const State pause = outcome.postponed ? State::kPostponed : State::kYielded;
      return {outcome.deferred ? State::kDeferred : pause, 0, std::move(outcome.deferred), wrote};
    }
  }
  if (session_.closing) return {State::kClose, 0, nullptr, wrote};
  if (!broken_) return {State::kMore, 0, nullptr, wrote};
  writer.Error(parser_.error());
  return {State::kClose, 0, nullptr, wrote};
}

}  // namespace bitsieve::server
