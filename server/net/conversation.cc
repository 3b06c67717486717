#include "server/net/conversation.h"

#include <string_view>
#include <utility>

namespace bitsieve::server {

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
};

Conversation::Conversation(std::shared_ptr<ClientRecord> client, const protocol::RequestLimits& limits)
    : session_(std::move(client)), parser_(limits) {}

Conversation::~Conversation() = default;

protocol::ReplyWriter Conversation::Writer(std::string& reply) const {
  protocol::ReplyWriter writer(reply);
  writer.set_version(session_.version);
  return writer;
}

Conversation::Step Conversation::RunWindow(std::span<char> input, Dispatcher& dispatcher, CommandBatch& batch,
                                           std::string& reply) {
  batch.Clear();
  size_t consumed = 0;
  ParseStatus status = ParseStatus::kNeedMore;
  while (consumed < input.size() && batch.size() < Dispatcher::kWindow) {
    const auto result = parser_.Parse(input.subspan(consumed), batch.arguments);
    status = result.status;
    consumed += result.consumed;
    if (status == ParseStatus::kNeedMore || status == ParseStatus::kError) break;
    if (status == ParseStatus::kCommand) batch.ends.push_back(batch.arguments.size());
  }
  broken_ = status == ParseStatus::kError;
  Step step = Run(dispatcher, batch, reply);
  step.consumed = consumed;
  if (step.state == State::kMore && status == ParseStatus::kNeedMore) step.state = State::kNeedMore;
  return step;
}

Conversation::Step Conversation::Resume(const WriteReply& write_reply, Dispatcher& dispatcher, std::string& reply) {
  protocol::ReplyWriter writer = Writer(reply);
  write_reply(writer);
  static const CommandBatch kNone;
  const std::unique_ptr<WaitingCommands> waiting = std::move(waiting_);
  return Run(dispatcher, waiting ? waiting->batch : kNone, reply);
}

Conversation::Step Conversation::Run(Dispatcher& dispatcher, const CommandBatch& batch, std::string& reply) {
  protocol::ReplyWriter writer = Writer(reply);
  bool wrote = false;
  if (batch.size() != 0 && !session_.closing) {
    Dispatcher::Outcome outcome = dispatcher.Execute(session_, batch, 0, writer);
    wrote = outcome.wrote;
    if (outcome.deferred) {
      if (outcome.executed < batch.size()) waiting_ = std::make_unique<WaitingCommands>(batch, outcome.executed);
      return {State::kDeferred, 0, std::move(outcome.deferred), wrote};
    }
  }
  if (session_.closing) return {State::kClose, 0, nullptr, wrote};
  if (!broken_) return {State::kMore, 0, nullptr, wrote};
  writer.Error(parser_.error());
  return {State::kClose, 0, nullptr, wrote};
}

}  // namespace bitsieve::server
