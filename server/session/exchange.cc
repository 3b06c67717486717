#include "server/session/exchange.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/session/turn.h"

namespace bitsieve::server {

using namespace commands;

namespace {

using ParseStatus = protocol::RequestParser::Status;

// After this many windows of commands the other connections of the loop get their turn, too.
constexpr int kWindowsAtOnce = 16;
// While all connections together take too much, those that take more than this wait.
constexpr uint64_t kMuchBytes = 64 * 1024;
// A reply may take this much more than maxmemory-clients leaves: a chunk of a dump.
constexpr uint64_t kReplyReserve = 17ULL << 20;
// Memory of more bytes is not freed on the loop.
constexpr uint64_t kManyBytes = 1024 * 1024;

// For AUTH, HELLO, QUIT and RESET.
constexpr protocol::RequestLimits kBeforeAuthentication{
    .max_line_bytes = 16 * 1024, .max_arguments = 10, .max_argument_bytes = 16 * 1024, .max_request_bytes = 64 * 1024};

uint64_t Store(std::atomic<uint64_t>& field, uint64_t bytes) {
  field.store(bytes, std::memory_order_relaxed);
  return bytes;
}

}  // namespace

void Workspace::ClearReply(size_t kept_bytes) {
  reply.clear();
  if (reply.capacity() > kept_bytes) std::string().swap(reply);
}

struct Exchange::WaitingCommands {
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

Exchange::Exchange(std::shared_ptr<ClientRecord> client, const Surroundings& surroundings, uint64_t fixed_bytes)
    : surroundings_(surroundings),
      session_(std::move(client)),
      parser_(surroundings.limits),
      fixed_bytes_(fixed_bytes) {
  Account();
}

// Takes back what was reported: memory may run out before there is a connection that would close the exchange.
Exchange::~Exchange() {
  if (accounted_bytes_ != 0) surroundings_.clients.UpdateMemory(accounted_bytes_, 0);
}

// ---- a turn

Exchange::Step Exchange::BeginTurn(Workspace& workspace) {
  const bool has_turn = wait_ == Wait::kTurn || wait_ == Wait::kMoment;
  if (!has_turn && wait_ != Wait::kInput && wait_ != Wait::kReader) return Step::kNone;
  if (MustSave()) {
    // A client that does not read is being closed, or continues when it has read.
    if (wait_ == Wait::kReader) return Step::kNone;
    wait_ = Wait::kMoment;
    return Step::kWait;
  }
  if (!has_turn) return Step::kReceive;
  if (at_hand_ == AtHand::kNothing) {
    wait_ = Wait::kInput;
    return Step::kReceive;
  }
  if (IsThrottled()) {
    wait_ = Wait::kReader;
    return Step::kWait;
  }
  wait_ = Wait::kNothing;
  workspace.input = read_buffer_.kept();
  return Step::kRun;
}

bool Exchange::Receive(std::span<char> scratch, size_t bytes, Workspace& workspace) {
  const std::span<char> input = read_buffer_.Commit(scratch, bytes);
  if (wait_ == Wait::kReader) {
    read_buffer_.Keep(input);
    Account();
    EnforceOutputLimit();
    return false;
  }
  workspace.input = input;
  wait_ = Wait::kNothing;
  at_hand_ = AtHand::kBytes;
  return true;
}

void Exchange::Parse(Workspace& workspace) {
  workspace.prepared.count = 0;
  if (at_hand_ != AtHand::kBytes) return;
  ParseWindow(workspace);
  surroundings_.executor.Prepare(session_, workspace.batch, workspace.prepared);
}

void Exchange::ParseWindow(Workspace& workspace) {
  CommandBatch& batch = workspace.batch;
  batch.Clear();
  batch.bytes = &read_buffer_;
  // A client that may not do anything yet is bounded more closely, and each of its commands may change that.
  const bool known = session_.access.authenticated;
  parser_.set_limits(known ? surroundings_.limits : kBeforeAuthentication);
  const std::span<char> input = workspace.input;
  size_t consumed = 0;
  ParseStatus status = ParseStatus::kNeedMore;
  while (consumed < input.size() && batch.size() < (known ? Executor::kWindow : 1)) {
    const auto result = parser_.Parse(input.subspan(consumed), batch.arguments);
    status = result.status;
    consumed += result.consumed;
    if (status == ParseStatus::kNeedMore || status == ParseStatus::kError) break;
    if (status == ParseStatus::kCommand) batch.ends.push_back(batch.arguments.size());
    if (batch.arguments.size() >= KeptArguments::kMany) break;  // they may be taken over as they are: CommandBatch::Own
  }
  broken_ = status == ParseStatus::kError;
  workspace.is_complete = status != ParseStatus::kNeedMore;
  workspace.input = input.subspan(consumed);
}

void Exchange::Run(Workspace& workspace) {
  const Ran ran = at_hand_ == AtHand::kCommands ? RunWaiting(workspace.reply) : RunBytes(workspace);
  EndRun(ran, workspace.reply);
}

Exchange::Ran Exchange::RunBytes(Workspace& workspace) {
  bool wrote = false;
  Wait wait = Wait::kNothing;
  std::chrono::steady_clock::time_point begin;  // of the second window: most turns have one and need no clock
  for (int i = 0; i < kWindowsAtOnce; ++i) {
    if (i > 0) ParseWindow(workspace);
    const Ran ran = RunBatch(workspace.batch, 0, workspace.reply, i == 0 ? &workspace.prepared : nullptr);
    wrote |= ran.wrote;
    wait = ran.wait;
    if (wait == Wait::kNothing && !workspace.is_complete) wait = Wait::kInput;
    if (wait != Wait::kNothing || workspace.input.empty() || workspace.reply.size() >= kTurnBytes) break;
    const auto now = std::chrono::steady_clock::now();
    if (i == 0) begin = now;
    if (now - begin > kTurn) break;
  }
  read_buffer_.Keep(workspace.input);
  return {wait, wrote};
}

Exchange::Ran Exchange::RunWaiting(std::string& reply) {
  static const CommandBatch kNone;
  const Ran ran =
      waiting_ ? RunBatch(waiting_->batch, waiting_->next, reply, nullptr) : RunBatch(kNone, 0, reply, nullptr);
  const bool all_ran = ran.wait == Wait::kNothing || ran.wait == Wait::kFlush || ran.wait == Wait::kClosed;
  if (all_ran) waiting_.reset();
  return ran;
}

Exchange::Ran Exchange::RunBatch(const CommandBatch& batch, size_t first, std::string& reply,
                                 const PreparedCommands* prepared) {
  protocol::ReplyWriter writer = Writer(reply, ReplyRoom());
  bool wrote = false;
  if (session_.abort != Session::Abort::kNone) return {Wait::kClosed, wrote};
  if ((first < batch.size() || session_.executing != nullptr) && !session_.closing) {
    Executor::Outcome outcome = surroundings_.executor.Execute(session_, batch, first, writer, prepared);
    wrote = outcome.wrote;
    if (session_.abort != Session::Abort::kNone) return {Wait::kClosed, wrote};
    if (outcome.wait != Wait::kNothing && !(outcome.wait == Wait::kTurn && session_.closing)) {
      deferred_ = std::move(outcome.deferred);
      deferred_wrote_ = outcome.deferred_wrote;
      deferred_bytes_ = outcome.deferred_bytes;
      Keep(batch, first + outcome.executed);
      return {outcome.wait, wrote};
    }
  }
  if (session_.closing) return {Wait::kFlush, wrote};
  if (!broken_) return {Wait::kNothing, wrote};
  writer.Error(parser_.error());
  return {Wait::kFlush, wrote};
}

// Commands of `batch` from `first` on are to be run later.
void Exchange::Keep(const CommandBatch& batch, size_t first) {
  if (first == batch.size()) {
    waiting_.reset();
  } else if (waiting_ && &batch == &waiting_->batch) {
    waiting_->next = first;
  } else {
    waiting_ = std::make_unique<WaitingCommands>(batch, first);
  }
}

void Exchange::EndRun(Ran ran, std::string& reply) {
  if (ran.wait == Wait::kClosed) {
    reply.clear();
    wait_ = Wait::kClosed;
    return;
  }
  wait_ = Next(ran.wait);
  const uint64_t position =
      ran.wrote && surroundings_.durability != nullptr ? surroundings_.durability->AwaitedPosition() : 0;
  if (position == 0) return;
  // A short reply is copied, so that the buffer keeps its memory.
  held_ = std::make_unique<Held>(
      Held{position, reply.size() < kTurnBytes ? reply : std::exchange(reply, std::string()), wait_});
  reply.clear();
  wait_ = Wait::kLog;
}

Wait Exchange::Next(Wait wait) {
  at_hand_ = AtHand::kNothing;
  if (wait == Wait::kTurn || wait == Wait::kMoment) at_hand_ = AtHand::kCommands;
  if (wait == Wait::kNothing && !read_buffer_.kept().empty()) at_hand_ = AtHand::kBytes;
  if (wait != Wait::kNothing && wait != Wait::kInput) return wait;
  return at_hand_ == AtHand::kBytes || draining_ ? Wait::kTurn : Wait::kInput;
}

void Exchange::EndTurn(std::string& reply, size_t sent) {
  if (sent < reply.size()) {
    write_buffer_.Append(reply, sent);
    EnforceOutputLimit();
  }
  Account();
}

protocol::ReplyWriter Exchange::Writer(std::string& reply, size_t limit) const {
  protocol::ReplyWriter writer(reply);
  writer.set_version(session_.version);
  writer.set_limit(limit);
  return writer;
}

// ---- what ends a wait

void Exchange::StartDeferred(Finish finish) {
  accounted_bytes_ -= deferred_bytes_;  // from here on the command's: it may outlive the connection
  std::exchange(deferred_, nullptr)(std::move(finish));
}

void Exchange::Resume(const WriteReply& write_reply, Workspace& workspace) {
  using Replies = Session::Replies;
  std::string& reply = workspace.reply;
  protocol::ReplyWriter writer = Writer(reply, ReplyRoom());
  write_reply(writer);
  if (session_.replies != Replies::kOn) writer.Truncate(0);
  if (session_.replies == Replies::kSkip && session_.executing == nullptr) session_.replies = Replies::kOn;
  if (writer.exceeded()) session_.abort = Session::Abort::kReplies;
  const bool wrote = std::exchange(deferred_wrote_, false);
  deferred_bytes_ = 0;
  // A long reply leaves before anything else is run.
  const bool is_long = reply.size() >= kTurnBytes && session_.abort == Session::Abort::kNone;
  Ran ran = is_long ? Ran{Wait::kTurn, false} : RunWaiting(reply);
  ran.wrote |= wrote;
  EndRun(ran, reply);
}

void Exchange::Release(Workspace& workspace) {
  const std::unique_ptr<Held> held = std::move(held_);
  if (held->replies.size() < kTurnBytes) {
    workspace.reply = held->replies;
  } else {
    workspace.reply = std::move(held->replies);
  }
  wait_ = held->then;
}

void Exchange::Drain() {
  draining_ = true;
  Wait& wait = held_ != nullptr ? held_->then : wait_;
  if (wait == Wait::kInput) wait = Wait::kTurn;
}

// ---- bytes out

WriteBuffer::Block Exchange::RecordSent(size_t bytes) {
  WriteBuffer::Block finished = write_buffer_.Consume(bytes);
  Account();
  if (wait_ == Wait::kReader && write_buffer_.size() <= output_limit() / 4) wait_ = Wait::kTurn;
  return finished;
}

bool Exchange::CanWriteMessages() const {
  const bool is_between = wait_ == Wait::kInput || wait_ == Wait::kTurn || wait_ == Wait::kReader;
  return is_between && write_buffer_.empty() && MessageBytes() != 0;
}

void Exchange::WriteMessages(std::string& reply, std::shared_ptr<const Message>& payload) {
  protocol::ReplyWriter writer = Writer(reply, SIZE_MAX);  // messages have a bound of their own
  session_.subscriptions->WriteMessages(writer, kTurnBytes, payload);
}

void Exchange::KeepPayload(std::shared_ptr<const Message> payload) {
  const std::string_view bytes = payload->payload;
  write_buffer_.AppendShared(std::move(payload), bytes);
  std::string end(protocol::ReplyWriter::kLineEnd);
  write_buffer_.Append(end, 0);
  Account();
}

bool Exchange::IdleSince(int64_t monotonic_ms) const {
  if (wait_ == Wait::kReply || wait_ == Wait::kMoment || wait_ == Wait::kLog) return false;
  const Subscriptions* const all = session_.subscriptions.get();
  const bool listens = all != nullptr && (all->count() != 0 || all->monitors());
  return !listens && client().last_active_ms.load(std::memory_order_relaxed) < monotonic_ms;
}

// ---- memory

bool Exchange::MustSave() const {
  return surroundings_.clients.OverMemoryLimit() &&
         client().memory.total.load(std::memory_order_relaxed) > kMuchBytes &&
         !client().no_evict.load(std::memory_order_relaxed);
}

size_t Exchange::ReplyRoom() const {
  const uint64_t limit = output_limit();
  const uint64_t left = limit > write_buffer_.size() ? limit - write_buffer_.size() : 0;
  const uint64_t left_to_all = surroundings_.clients.MemoryLeft();
  if (left_to_all >= left || client().no_evict.load(std::memory_order_relaxed)) return left;
  return std::min(left, left_to_all + kReplyReserve);
}

void Exchange::EnforceOutputLimit() {
  const size_t commands = wait_ == Wait::kReader ? received_bytes() : 0;
  if (write_buffer_.size() + commands <= output_limit()) return;
  session_.abort = Session::Abort::kUnread;
  wait_ = Wait::kClosed;
}

void Exchange::Account() {
  ClientRecord::Memory& memory = client().memory;
  const size_t received = read_buffer_.kept().size();
  uint64_t bytes = fixed_bytes_ + read_buffer_.capacity();
  Store(memory.received, received);
  Store(memory.received_free, read_buffer_.capacity() - received);
  const uint64_t waiting = (waiting_ ? waiting_->memory_bytes() : 0) + parser_.memory_bytes();
  Store(memory.waiting, waiting + deferred_bytes_);
  bytes += waiting;
  const size_t executing = session_.executing == nullptr ? 0 : session_.executing->bytes;
  bytes += Store(memory.queued, session_.queued_bytes + executing);
  bytes += Store(memory.held, held_ ? held_->replies.capacity() : 0);
  bytes += Store(memory.unsent, write_buffer_.memory_bytes() + MessageBytes());
  bytes += session_.subscriptions == nullptr ? 0 : session_.subscriptions->bytes();
  bytes += session_.watches.bytes();
  Store(memory.unsent_blocks, write_buffer_.blocks());
  Store(memory.total, bytes + deferred_bytes_);
  const bool is_started = wait_ == Wait::kReply && deferred_ == nullptr;
  if (!is_started) bytes += deferred_bytes_;  // afterwards the command accounts for them
  if (bytes == accounted_bytes_) return;
  const uint64_t before = std::exchange(accounted_bytes_, bytes);
  surroundings_.clients.UpdateMemory(before, bytes);
  if (bytes > before && surroundings_.clients.OverMemoryLimit()) surroundings_.clients.Evict();
}

Exchange::Remains Exchange::Close() {
  wait_ = Wait::kClosed;
  std::unique_ptr<Subscriptions> subscriptions = std::move(session_.subscriptions);
  const bool listened_much = subscriptions != nullptr && subscriptions->IsLarge();
  if (subscriptions != nullptr) subscriptions->Close();
  std::unique_ptr<Held> held = std::move(held_);
  const bool is_large = accounted_bytes_ > kManyBytes || listened_much;
  surroundings_.clients.UpdateMemory(std::exchange(accounted_bytes_, 0), 0);
  client().memory.total.store(0, std::memory_order_relaxed);
  return {is_large, std::exchange(read_buffer_, {}), std::exchange(write_buffer_, {}),
          held == nullptr ? std::string() : std::move(held->replies), std::move(subscriptions)};
}

}  // namespace bitsieve::server
