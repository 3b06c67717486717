#include "server/net/connection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <utility>

#include "core/base/quote.h"
#include "server/net/event_loop.h"
#include "server/net/stranger_log.h"
#include "server/net/tls_stream.h"
#include "server/session/client_list.h"
#include "server/session/turn.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

// After this many windows of commands the other connections of the loop get their turn, too.
constexpr int kWindowsAtOnce = 16;
// Bytes that a connection takes in addition to its buffers.
constexpr uint64_t kFixedBytes = sizeof(Connection) + sizeof(ClientRecord) + 256;
// While all connections together take too much, those that take more than this wait.
constexpr uint64_t kMuchBytes = 64 * 1024;
// A reply may take this much more than maxmemory-clients leaves: a chunk of a dump.
constexpr uint64_t kReplyReserve = 17ULL << 20;
// The socket is given this many bytes at a time. The kernel copies them before it returns, and with a client that reads
// as fast as it copies, it would take all.
constexpr size_t kWriteBytes = 1024 * 1024;

}  // namespace

Connection::Connection(Socket socket, ConnectionSlots::Slot slot, std::shared_ptr<ClientRecord> client, EventLoop& loop)
    : socket_(std::move(socket)),
      slot_(std::move(slot)),
      loop_(loop),
      conversation_(std::move(client), loop.limits(), loop.users()) {
  conversation_.set_wakeable(*this);
  Account();
}

template <class Work>
auto Connection::Later(Work work) {
  return [self = weak_from_this(), loop = loop_.weak_from_this(), work](auto... arguments) {
    const std::shared_ptr<EventLoop> alive = loop.lock();
    if (alive == nullptr) return;
    alive->Post([self, work, ... arguments = std::move(arguments)] {
      if (const std::shared_ptr<Connection> connection = self.lock()) std::invoke(work, *connection, arguments...);
    });
  };
}

std::function<void(const char* reason)> Connection::Closer() { return Later(&Connection::Abort); }

template <class Work>
void Connection::Guarded(Work&& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    loop_.ClearReply();
    Abort("the server is out of memory for its request or replies");
  }
}

void Connection::Start() {
  Guarded([this] {
    loop_.Watch(socket_, *this);
    WaitReadable();
  });
}

void Connection::Drain() {
  draining_ = true;
  if (socket_.tls() != nullptr) socket_.tls()->SetReadable(false);  // perhaps it is, and the report is yet to come
  Guarded([this] { OnReadable(); });
}

void Connection::Abort(const char* reason) {
  if (closed_) return;
  spdlog::warn("Closing client id={} addr={}: {}", client().id, client().address, reason);
  Close();
}

bool Connection::IdleSince(int64_t monotonic_ms) const {
  return !deferred_ && !postponed_ && held_ == nullptr && !conversation_.listens() &&
         conversation_.client().last_active_ms.load(std::memory_order_relaxed) < monotonic_ms;
}

// ---- reading

void Connection::OnReady(Reactor::Readiness readiness) {
  if (TlsStream* const tls = socket_.tls(); tls != nullptr) {
    if (readiness.readable) tls->SetReadable(readiness.ended);
    readiness.readable |= readiness.writable;  // what TLS receives may have to be answered first
  }
  readable_ |= readiness.readable;
  writable_ |= readiness.writable;
  ended_ |= readiness.ended;
  // Closing takes long, compared with a command: of thousands that leave at once, none is to hold up what comes after.
  if (readiness.ended && !closed_) return Guarded([this] { loop_.UseLater(shared_from_this()); });
  UseReadiness();
}

void Connection::UseReadiness() {
  if (closed_) return;
  if (writable_ && std::exchange(waiting_for_writable_, false)) Guarded([this] { OnWritable(); });
  if (readable_ && std::exchange(waiting_for_readable_, false)) {
    Guarded([this] { IsHandshaking() ? PostLater() : OnReadable(); });
  }
}

bool Connection::IsHandshaking() const { return socket_.tls() != nullptr && socket_.tls()->is_handshaking(); }

void Connection::WaitReadable() {
  if (std::exchange(waiting_for_readable_, true)) return;
  if (readable_) loop_.UseLater(shared_from_this());
}

void Connection::OnReadable() {
  if (closed_ || deferred_ || postponed_ || held_ != nullptr || scheduled_ || finishing_) return;
  if (throttled_) return ReceiveOnly();
  if (MustSave()) return Postpone();
  std::span<char> input;
  if (Receive(input)) Run(input);
}

void Connection::ReceiveOnly() {
  if (MustSave()) return;  // it is being closed, or continues when the client has read
  const std::span<char> room = read_buffer_.Prepare(loop_.scratch());
  const Socket::Transfer received = ReceiveSome(room);
  if (received.bytes == 0) {
    // The end, if it is that, is met again when commands are run.
    if (received.blocked()) return WaitReadable();
    if (received.error != 0) Close();
    return;
  }
  read_buffer_.Keep(read_buffer_.Commit(loop_.scratch(), received.bytes));
  Account();
  EnforceOutputLimit();
  if (!closed_) WaitReadable();
}

bool Connection::Receive(std::span<char>& input) {
  const Socket::Transfer received = ReceiveSome(read_buffer_.Prepare(loop_.scratch()));
  if (received.bytes == 0) {
    OnNothingReceived(received);
    return false;
  }
  client().last_active_ms.store(loop_.clock().MonotonicMs(), std::memory_order_relaxed);
  input = read_buffer_.Commit(loop_.scratch(), received.bytes);
  return true;
}

// Bytes that come after the socket was emptied are reported, so a call that has emptied it needs none after it. The end
// of the stream is not reported again if it was there already, so it is received as well.
Socket::Transfer Connection::ReceiveSome(std::span<char> room) {
  const Socket::Transfer received = socket_.Receive(room);
  ended_ = ended_ && !received.blocked();
  readable_ = ended_ || received.more;
  LoopStats::Add(loop_.stats().input_bytes, received.bytes);
  return received;
}

void Connection::OnNothingReceived(Socket::Transfer transfer) {
  if (IsHandshaking() && !transfer.blocked()) {
    AbortHandshake(transfer.error == 0 || socket_.tls()->failure().empty() ? "it left during the handshake"
                                                                           : socket_.tls()->failure());
  } else if (transfer.blocked() && !draining_) {
    WaitReadable();
  } else if (transfer.blocked() || transfer.error == 0) {
    // A client that closed its sending half may still read: pending replies are written before closing.
    FinishIfWritten();
  } else {
    Close();
  }
}

void Connection::EnforceHandshakeTime(int64_t now_ms) {
  const uint32_t limit_ms = loop_.settings().handshake_ms.load(std::memory_order_relaxed);
  if (!IsHandshaking() || now_ms - client().connected_ms < limit_ms) return;
  AbortHandshake("the handshake took more than " + std::to_string(limit_ms) + " ms");
}

void Connection::AbortHandshake(const std::string& reason) {
  LoopStats::Add(loop_.stats().tls_handshakes_failed, 1);
  LogFailedHandshake(client(), reason, loop_.clock().MonotonicMs());
  DiscardReceived();  // the client is to get the alert
  Close();
}

void Connection::Run(std::span<char> input) {
  std::string& reply = loop_.reply();
  Conversation::Step step{Conversation::State::kMore, 0, nullptr};
  bool wrote = false;
  std::chrono::steady_clock::time_point begin;  // of the second window: most runs have one and need no clock
  for (int i = 0; i < kWindowsAtOnce && !input.empty() && step.state == Conversation::State::kMore; ++i) {
    conversation_.set_reply_limit(ReplyRoom());
    step = conversation_.RunWindow(input, loop_.dispatcher(), loop_.batch(), reply, &read_buffer_);
    input = input.subspan(step.consumed);
    wrote |= step.wrote;
    if (reply.size() >= kTurnBytes) break;
    if (input.empty()) continue;
    const auto now = std::chrono::steady_clock::now();
    if (i == 0) begin = now;
    if (now - begin > kTurn) break;
  }
  read_buffer_.Keep(input);
  step.wrote = wrote;
  Continue(std::move(step));
}

void Connection::Continue(Conversation::Step step) {
  if (step.state == Conversation::State::kAbort) return AbortReplies();
  if (std::exchange(step.wrote, false)) {
    if (const uint64_t position = loop_.AwaitedPosition(); position != 0) return Hold(position, std::move(step));
  }
  Flush();
  if (closed_) return;
  Account();
  kept_ = step.state == Conversation::State::kYielded || step.state == Conversation::State::kPostponed;
  at_hand_ = kept_ || (step.state == Conversation::State::kMore && !read_buffer_.kept().empty());
  if (std::exchange(messages_wait_, false)) DeliverMessagesLater();
  switch (step.state) {
    case Conversation::State::kDeferred:
      return Defer(std::move(step.deferred));
    case Conversation::State::kPostponed:
      return Postpone();
    case Conversation::State::kClose:
      if (conversation_.broken()) LoopStats::Add(loop_.stats().protocol_errors, 1);
      return FinishIfWritten();
    default:
      if (at_hand_ || draining_) return PostLater();
      WaitReadable();
  }
}

void Connection::PostLater() {
  scheduled_ = true;
  loop_.RunLater(shared_from_this());
}

void Connection::Continue() {
  scheduled_ = false;
  if (!closed_) Guarded([this] { TakeTurn(); });
}

void Connection::TakeTurn() {
  if (!at_hand_) return OnReadable();
  if (MustSave()) return Postpone();
  if (Throttled()) {
    throttled_ = true;
    return WaitReadable();
  }
  if (!kept_) return Run(read_buffer_.kept());
  conversation_.set_reply_limit(ReplyRoom());
  Continue(conversation_.Retry(loop_.dispatcher(), loop_.reply()));
}

bool Connection::Throttled() const { return write_buffer_.size() > OutputLimit() / 2; }

bool Connection::MustSave() const {
  const ClientRecord& record = conversation_.client();
  return loop_.clients().OverMemoryLimit() && record.memory.total.load(std::memory_order_relaxed) > kMuchBytes &&
         !record.no_evict.load(std::memory_order_relaxed);
}

void Connection::Defer(DeferredReply deferred) {
  Finish finish = Later(&Connection::Resume);
  deferred_ = true;
  accounted_bytes_ -= conversation_.deferred_bytes();  // from here on the command's: it may outlive the connection
  deferred(std::move(finish));
}

void Connection::Resume(const WriteReply& write_reply) {
  if (closed_) return;
  deferred_ = false;
  Guarded([&] {
    conversation_.set_reply_limit(ReplyRoom());
    Conversation::Step step = conversation_.Resume(write_reply, loop_.dispatcher(), loop_.reply());
    Continue(std::move(step));
  });
}

void Connection::Postpone() {
  postponed_ = true;
  loop_.Postpone(shared_from_this());
}

void Connection::Retry() {
  postponed_ = false;
  Continue();
}

// ---- holding back

void Connection::Hold(uint64_t position, Conversation::Step step) {
  std::string& reply = loop_.reply();
  held_ = std::make_unique<Held>(
      Held{reply.size() < kTurnBytes ? reply : std::exchange(reply, std::string()), std::move(step)});
  loop_.ClearReply();
  Account();
  loop_.Await(position, Later(&Connection::Release));
}

void Connection::Release() {
  if (closed_) return;
  const std::unique_ptr<Held> held = std::move(held_);
  Guarded([&] {
    if (held->replies.size() < kTurnBytes) {
      loop_.reply() = held->replies;
    } else {
      loop_.reply() = std::move(held->replies);
    }
    Continue(std::move(held->step));
  });
}

// ---- messages

std::function<void()> Connection::MessageWaker() { return Later(&Connection::DeliverMessagesLater); }

void Connection::DeliverMessages() {
  if (closed_ || finishing_) return;
  if (conversation_.messages_overflowed()) {
    return Abort("it left more messages unread than client-output-buffer-limit allows");
  }
  Guarded([this] { Account(); });  // even if they cannot be written yet
  if (closed_) return;
  if (deferred_ || postponed_ || held_ != nullptr) {
    messages_wait_ = true;
    return;
  }
  if (!write_buffer_.empty()) return;  // OnWritable() continues
  Guarded([this] {
    conversation_.set_reply_limit(SIZE_MAX);  // messages have a bound of their own
    std::shared_ptr<const Message> payload;
    const bool all = conversation_.WriteMessages(loop_.reply(), kTurnBytes, payload);
    Flush();
    if (payload != nullptr && !closed_) SendPayload(std::move(payload));
    if (!closed_) Account();
    if (!all && !closed_ && write_buffer_.empty()) DeliverMessagesLater();
  });
}

void Connection::DeliverMessagesLater() {
  if (closed_) return;
  Guarded([this] { loop_.DeliverLater(shared_from_this()); });
}

void Connection::SendPayload(std::shared_ptr<const Message> payload) {
  const std::string_view bytes = payload->payload;
  write_buffer_.AppendShared(std::move(payload), bytes);
  std::string end(protocol::ReplyWriter::kLineEnd);
  write_buffer_.Append(end, 0);
  WaitWritable();
}

// ---- writing

void Connection::Flush() {
  std::string& reply = loop_.reply();
  if (reply.empty()) return;
  const size_t sent = write_buffer_.empty() ? WriteSome(reply) : 0;
  if (!closed_ && sent < reply.size()) {
    write_buffer_.Append(reply, sent);
    EnforceOutputLimit();
    if (!closed_) WaitWritable();
  }
  loop_.ClearReply();
}

size_t Connection::WriteSome(std::string_view bytes) {
  bytes = bytes.substr(0, kWriteBytes);
  const Socket::Transfer sent = socket_.Send(bytes);
  writable_ = sent.bytes == bytes.size();
  if (sent.error != 0 && !sent.blocked()) Close();
  LoopStats::Add(loop_.stats().output_bytes, sent.bytes);
  return sent.bytes;
}

uint64_t Connection::OutputLimit() const { return loop_.settings().output_limit_bytes.load(std::memory_order_relaxed); }

size_t Connection::ReplyRoom() const {
  const uint64_t limit = OutputLimit();
  const uint64_t left = limit > write_buffer_.size() ? limit - write_buffer_.size() : 0;
  const uint64_t left_to_all = loop_.clients().MemoryLeft();
  if (left_to_all >= left || conversation_.client().no_evict.load(std::memory_order_relaxed)) return left;
  return std::min(left, left_to_all + kReplyReserve);
}

void Connection::EnforceOutputLimit() {
  const uint64_t limit = OutputLimit();
  const size_t commands = throttled_ ? read_buffer_.kept().size() : 0;
  if (write_buffer_.size() + commands <= limit) return;
  spdlog::warn(
      "Closing client id={} addr={}: it left {} bytes of replies unread, {} bytes of commands after them "
      "(client-output-buffer-limit {})",
      client().id, client().address, write_buffer_.size(), commands, limit);
  Close();
}

void Connection::Account() {
  ClientRecord::Memory& memory = client().memory;
  const auto note = [](std::atomic<uint64_t>& field, uint64_t bytes) {
    field.store(bytes, std::memory_order_relaxed);
    return bytes;
  };
  uint64_t bytes = 0;
  uint64_t deferred = 0;
  if (!closed_) {
    const size_t received = read_buffer_.kept().size();
    bytes = kFixedBytes + (socket_.tls() == nullptr ? 0 : TlsStream::kBytes) + read_buffer_.capacity();
    note(memory.received, received);
    note(memory.received_free, read_buffer_.capacity() - received);
    deferred = conversation_.deferred_bytes();
    const uint64_t waiting = conversation_.waiting_bytes() + conversation_.parser_bytes();
    note(memory.waiting, waiting + deferred);
    bytes += waiting + (deferred_ ? 0 : deferred);
    bytes += note(memory.queued, conversation_.queued_bytes());
    bytes += note(memory.held, held_ ? held_->replies.capacity() : 0);
    bytes += note(memory.unsent, write_buffer_.memory_bytes() + conversation_.message_bytes());
    bytes += conversation_.subscription_bytes() + conversation_.watch_bytes();
    note(memory.unsent_blocks, write_buffer_.blocks());
  }
  note(memory.total, deferred_ ? bytes + deferred : bytes);
  if (bytes == accounted_bytes_) return;
  const uint64_t before = std::exchange(accounted_bytes_, bytes);
  loop_.clients().UpdateMemory(before, bytes);
  if (bytes > before && loop_.clients().OverMemoryLimit()) loop_.clients().Evict();
}

void Connection::WaitWritable() {
  if (std::exchange(waiting_for_writable_, true)) return;
  if (writable_) loop_.UseLater(shared_from_this());
}

void Connection::OnWritable() {
  if (closed_) return;
  const size_t sent = WriteSome(write_buffer_.unsent());
  if (closed_) return;
  write_buffer_.Consume(sent);
  if (WriteBuffer::Block finished = write_buffer_.TakeFinished(); finished.memory_bytes() != 0) {
    loop_.DestroyElsewhere(std::move(finished));
  }
  Account();
  client().last_active_ms.store(loop_.clock().MonotonicMs(), std::memory_order_relaxed);
  if (throttled_ && write_buffer_.size() <= OutputLimit() / 4) {
    throttled_ = false;
    PostLater();
  }
  if (!write_buffer_.empty()) {
    WaitWritable();
  } else if (finishing_) {
    FinishIfWritten();
  } else if (conversation_.has_messages()) {
    DeliverMessages();
  }
}

}  // namespace bitsieve::server
