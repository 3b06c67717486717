#include "server/net/connection.h"

#include <spdlog/spdlog.h>

#include <asio/buffer.hpp>
#include <asio/error.hpp>
#include <asio/post.hpp>
#include <functional>
#include <new>
#include <utility>

#include "core/base/wall_clock.h"
#include "server/net/event_loop.h"

namespace bitsieve::server {
namespace {

// After so many windows of commands the other connections of the loop get their turn.
constexpr int kWindowsAtOnce = 16;
// Closing a socket with unread bytes resets the connection, and replies on their way would be lost: up to so many reads
// throw away what a client sent behind its last command.
constexpr int kDiscards = 16;
// Replies are handed to the socket when there are so many bytes of them, even if the batch is not done.
constexpr size_t kFlushBytes = 256 * 1024;

bool WouldBlock(const asio::error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again || error == asio::error::interrupted;
}

}  // namespace

Connection::Connection(Socket socket, ConnectionSlots::Slot slot, std::shared_ptr<ClientRecord> client, EventLoop& loop)
    : socket_(std::move(socket)), slot_(std::move(slot)), loop_(loop), conversation_(std::move(client), loop.limits()) {
  conversation_.set_wakeable(*this);
}

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
  Guarded([this] { WaitReadable(); });
}

void Connection::Drain() {
  draining_ = true;
  OnReadable();
}

void Connection::Abort(const char* reason) {
  if (closed_) return;
  spdlog::warn("Closing client id={} addr={}: {}", client().id, client().address, reason);
  Close();
}

bool Connection::IdleSince(int64_t unix_ms) const {
  return !deferred_ && !postponed_ && held_ == nullptr && !conversation_.listens() &&
         conversation_.client().last_active_unix_ms.load(std::memory_order_relaxed) < unix_ms;
}

// ---- reading

void Connection::WaitReadable() {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->OnReadable();
  });
}

void Connection::OnReadable() {
  if (closed_ || deferred_ || postponed_ || held_ != nullptr || scheduled_ || finishing_) return;
  Guarded([this] {
    std::span<char> input;
    if (Receive(input)) Run(input);
  });
}

bool Connection::Receive(std::span<char>& input) {
  const std::span<char> room = read_buffer_.Prepare(loop_.scratch());
  asio::error_code error;
  const size_t received = socket_.read_some(asio::buffer(room.data(), room.size()), error);
  if (error) {
    OnReceiveError(error);
    return false;
  }
  LoopStats::Add(loop_.stats().input_bytes, received);
  client().last_active_unix_ms.store(core::CoarseUnixMs(), std::memory_order_relaxed);
  input = read_buffer_.Commit(loop_.scratch(), received);
  return true;
}

void Connection::OnReceiveError(const asio::error_code& error) {
  if (WouldBlock(error) && !draining_) {
    WaitReadable();
  } else if (WouldBlock(error) || error == asio::error::eof) {
    // A client that closed its sending half may still read: what it asked for is written before closing.
    FinishIfWritten();
  } else {
    Close();
  }
}

void Connection::Run(std::span<char> input) {
  std::string& reply = loop_.reply();
  Conversation::Step step{Conversation::State::kMore, 0, nullptr};
  bool wrote = false;
  for (int i = 0; i < kWindowsAtOnce && !input.empty() && step.state == Conversation::State::kMore; ++i) {
    step = conversation_.RunWindow(input, loop_.dispatcher(), loop_.batch(), reply, &read_buffer_);
    input = input.subspan(step.consumed);
    wrote |= step.wrote;
    if (reply.size() >= kFlushBytes) break;
  }
  read_buffer_.Keep(input);
  step.wrote = wrote;
  GoOn(std::move(step));
}

void Connection::GoOn(Conversation::Step step) {
  if (std::exchange(step.wrote, false)) {
    if (const uint64_t position = loop_.AwaitedPosition(); position != 0) return Hold(position, std::move(step));
  }
  Flush();
  if (closed_) return;
  if (std::exchange(messages_wait_, false)) DeliverMessagesSoon();
  switch (step.state) {
    case Conversation::State::kDeferred:
      return Defer(std::move(step.deferred));
    case Conversation::State::kPostponed:
      return Postpone();
    case Conversation::State::kClose:
      if (conversation_.broken()) LoopStats::Add(loop_.stats().protocol_errors, 1);
      return FinishIfWritten();
    case Conversation::State::kMore:
      if (!read_buffer_.kept().empty()) return Soon(&Connection::RunKept);
      break;
    case Conversation::State::kNeedMore:
      break;
  }
  if (draining_) {
    Soon(&Connection::OnReadable);
  } else {
    WaitReadable();
  }
}

void Connection::Soon(void (Connection::*step)()) {
  scheduled_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this(), step] {
    self->scheduled_ = false;
    (self.get()->*step)();
  });
}

void Connection::RunKept() {
  if (closed_) return;
  Guarded([this] { Run(read_buffer_.kept()); });
}

template <class Work>
auto Connection::Later(Work work) {
  return [self = weak_from_this(), loop = loop_.weak_from_this(), work](auto... arguments) {
    const std::shared_ptr<EventLoop> alive = loop.lock();
    if (alive == nullptr) return;
    asio::post(alive->context(), [self, work, ... arguments = std::move(arguments)] {
      if (const std::shared_ptr<Connection> connection = self.lock()) std::invoke(work, *connection, arguments...);
    });
  };
}

void Connection::Defer(DeferredReply deferred) {
  deferred_ = true;
  deferred(Later(&Connection::Resume));
}

void Connection::Resume(const WriteReply& write_reply) {
  if (closed_) return;
  deferred_ = false;
  Guarded([&] {
    Conversation::Step step = conversation_.Resume(write_reply, loop_.dispatcher(), loop_.reply());
    GoOn(std::move(step));
  });
}

void Connection::Postpone() {
  postponed_ = true;
  loop_.Postpone(shared_from_this());
}

void Connection::Retry() {
  if (closed_) return;
  postponed_ = false;
  Guarded([this] { GoOn(conversation_.Retry(loop_.dispatcher(), loop_.reply())); });
}

// ---- holding back

void Connection::Hold(uint64_t position, Conversation::Step step) {
  held_ = std::make_unique<Held>(Held{loop_.reply(), std::move(step)});
  loop_.ClearReply();
  loop_.Await(position, Later(&Connection::Release));
}

void Connection::Release() {
  if (closed_) return;
  const std::unique_ptr<Held> held = std::move(held_);
  Guarded([&] {
    loop_.reply() = held->replies;
    GoOn(std::move(held->step));
  });
}

// ---- messages

std::function<void()> Connection::MessageWaker() { return Later(&Connection::DeliverMessages); }

void Connection::DeliverMessages() {
  if (closed_ || finishing_) return;
  if (conversation_.messages_overflowed()) {
    return Abort("it left more messages unread than client-output-buffer-limit allows");
  }
  if (deferred_ || postponed_ || held_ != nullptr) {
    messages_wait_ = true;
    return;
  }
  if (!write_buffer_.empty()) return;  // OnWritable() goes on
  Guarded([this] {
    const bool all = conversation_.WriteMessages(loop_.reply(), kFlushBytes);
    Flush();
    if (!all && !closed_ && write_buffer_.empty()) DeliverMessagesSoon();
  });
}

void Connection::DeliverMessagesSoon() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->DeliverMessages(); });
}

// ---- writing

void Connection::Flush() {
  std::string& reply = loop_.reply();
  if (reply.empty()) return;
  const size_t sent = write_buffer_.empty() ? WriteSome(reply) : 0;
  if (!closed_ && sent < reply.size()) {
    write_buffer_.Append(std::string_view(reply).substr(sent));
    EnforceOutputLimit();
    if (!closed_) WaitWritable();
  }
  loop_.ClearReply();
}

size_t Connection::WriteSome(std::string_view bytes) {
  asio::error_code error;
  const size_t sent = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error && !WouldBlock(error)) {
    Close();
    return 0;
  }
  LoopStats::Add(loop_.stats().output_bytes, sent);
  return sent;
}

void Connection::EnforceOutputLimit() {
  const uint64_t limit = loop_.settings().output_limit_bytes.load(std::memory_order_relaxed);
  if (write_buffer_.size() <= limit) return;
  spdlog::warn("Closing client id={} addr={}: it left {} bytes of replies unread (client-output-buffer-limit {})",
               client().id, client().address, write_buffer_.size(), limit);
  Close();
}

void Connection::WaitWritable() {
  if (std::exchange(waiting_for_writable_, true)) return;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const asio::error_code& error) {
    self->waiting_for_writable_ = false;
    if (!error) self->Guarded([&self] { self->OnWritable(); });
  });
}

void Connection::OnWritable() {
  if (closed_) return;
  const size_t sent = WriteSome(write_buffer_.unsent());
  if (closed_) return;
  write_buffer_.Consume(sent);
  client().last_active_unix_ms.store(core::CoarseUnixMs(), std::memory_order_relaxed);
  if (!write_buffer_.empty()) {
    WaitWritable();
  } else if (finishing_) {
    FinishIfWritten();
  } else if (conversation_.has_messages()) {
    DeliverMessages();
  }
}

void Connection::FinishIfWritten() {
  finishing_ = true;
  if (!write_buffer_.empty()) return;
  DiscardReceived();
  Close();
}

void Connection::DiscardReceived() {
  asio::error_code error;
  for (int i = 0; i < kDiscards && !error; ++i)
    socket_.read_some(asio::buffer(loop_.scratch().data(), loop_.scratch().size()), error);
}

void Connection::Close() {
  if (std::exchange(closed_, true)) return;
  conversation_.EndSubscriptions();
  asio::error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
  slot_ = ConnectionSlots::Slot();
  loop_.Remove(*this);
}

}  // namespace bitsieve::server
