#include "server/net/connection.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <new>
#include <utility>

#include "core/base/quote.h"
#include "server/dispatch/access.h"
#include "server/net/event_loop.h"
#include "server/net/stranger_log.h"
#include "server/net/tls_stream.h"
#include "server/session/client_list.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

// Bytes that a connection takes in addition to its buffers: with those of Asio, and of what is looked up about it.
constexpr uint64_t kFixedBytes = sizeof(Connection) + sizeof(ClientRecord) + 384;
// The socket is given this many bytes at a time. The kernel copies them before it returns, and with a client that reads
// as fast as it copies, it would take all.
constexpr size_t kWriteBytes = 1024 * 1024;
// Closing a socket with unread bytes resets the connection, and replies on their way would be lost: up to this many
// reads discard what a client sent after its last command.
constexpr int kDiscards = 16;

}  // namespace

Connection::Connection(std::unique_ptr<TlsStream> tls, ConnectionSlots::Slot slot, std::shared_ptr<ClientRecord> client,
                       EventLoop& loop)
    : loop_(loop),
      socket_(loop.context()),
      tls_(std::move(tls)),
      slot_(std::move(slot)),
      exchange_(std::move(client), loop.surroundings(), kFixedBytes + (tls_ == nullptr ? 0 : TlsStream::kBytes)) {
  BeginAccess(exchange_.session(), loop.users());
  exchange_.set_wakeable(*this);
}

Connection::~Connection() = default;

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
  if (!is_open()) return;
  try {
    work();
  } catch (const std::bad_alloc&) {
    Abort("the server is out of memory for its request or replies");
  }
}

void Connection::Start(core::Descriptor socket) {
  // The family makes no difference to a socket that is connected.
  asio::error_code error;
  try {
    socket_.assign(asio::generic::stream_protocol(AF_UNSPEC, 0), socket.get(), error);
  } catch (const std::bad_alloc&) {
    error = asio::error::no_memory;  // only an open connection is closed by Guarded()
  }
  if (error) {
    spdlog::warn("Closing client id={} addr={}: {}", client().id, client().address, error.message());
    return Close();
  }
  (void)socket.Release();
  Guarded([this] { Act(); });
}

void Connection::Drain() {
  if (!is_open()) return;
  if (tls_ != nullptr) tls_->SetReadable(false);  // perhaps it is, and the report is yet to come
  exchange_.Drain();
  if (exchange_.wait() == Wait::kTurn) Guarded([this] { Act(); });
}

void Connection::Abort(const char* reason) {
  if (!is_open()) return;
  spdlog::warn("Closing client id={} addr={}: {}", client().id, client().address, reason);
  Close();
}

bool Connection::IsHandshaking() const { return tls_ != nullptr && tls_->is_handshaking(); }

// ---- waiting

void Connection::Act() {
  switch (exchange_.wait()) {
    case Wait::kNothing:
      return;
    case Wait::kInput:
    case Wait::kReader:
      return WaitReadable();
    case Wait::kTurn:
      return loop_.Queue(shared_from_this());
    case Wait::kMoment:
      return loop_.Postpone(shared_from_this());
    case Wait::kReply:
      return exchange_.StartDeferred(Later(&Connection::Resume));
    case Wait::kLog:
      return loop_.Await(exchange_.log_position(), Later(&Connection::Release));
    case Wait::kFlush:
      return Finish();
    case Wait::kClosed:
      return CloseAborted();
  }
}

void Connection::WaitReadable() {
  if (reading_ == Reading::kWaiting) return;
  if (std::exchange(reading_, Reading::kWaiting) == Reading::kMore) return OnReadable();
  socket_.async_wait(asio::socket_base::wait_read,
                     InPlace(read_memory_, [self = shared_from_this()](const asio::error_code&) {
                       self->loop_.BeginRound();
                       self->OnReadable();
                     }));
}

void Connection::OnReadable() {
  reading_ = Reading::kIdle;
  if (tls_ != nullptr) tls_->SetReadable(false);
  const Wait wait = exchange_.wait();
  if (wait == Wait::kInput || wait == Wait::kReader) Guarded([this] { loop_.Queue(shared_from_this()); });
}

void Connection::WaitWritable() {
  if (std::exchange(writing_, true)) return;
  socket_.async_wait(asio::socket_base::wait_write, [self = shared_from_this()](const asio::error_code&) {
    self->loop_.BeginRound();
    self->writing_ = false;
    self->Guarded([&] { self->OnWritable(); });
  });
}

void Connection::OnWritable() {
  if (exchange_.unsent().empty()) return OnReadable();  // TLS had to send before it could receive
  client().last_active_ms.store(loop_.clock().MonotonicMs(), std::memory_order_relaxed);
  SendUnsent();
}

// ---- a turn

bool Connection::BeginTurn(std::span<char> scratch, Workspace& workspace) {
  bool runs = false;
  Guarded([&] {
    switch (exchange_.BeginTurn(workspace)) {
      case Exchange::Step::kNone:
        return;
      case Exchange::Step::kWait:
        return Act();
      case Exchange::Step::kReceive:
        runs = Receive(scratch, workspace);
        return;
      case Exchange::Step::kRun:
        runs = true;
    }
  });
  return runs;
}

bool Connection::Receive(std::span<char> scratch, Workspace& workspace) {
  const std::span<char> room = exchange_.Room(scratch);
  const Socket::Transfer received = tls_ ? tls_->Receive(room) : Socket::Receive(socket_.native_handle(), room);
  if (received.more && reading_ == Reading::kIdle) reading_ = Reading::kMore;
  if (received.bytes == 0) {
    OnNothingReceived(received);
    return false;
  }
  LoopStats::Add(loop_.stats().input_bytes, received.bytes);
  if (exchange_.Receive(scratch, received.bytes, workspace)) {
    client().last_active_ms.store(loop_.clock().MonotonicMs(), std::memory_order_relaxed);
    return true;
  }
  Act();
  return false;
}

void Connection::OnNothingReceived(Socket::Transfer transfer) {
  if (IsHandshaking() && !transfer.blocked()) {
    return AbortHandshake(transfer.error == 0 || tls_->failure().empty() ? "it disconnected during the handshake"
                                                                         : tls_->failure());
  }
  if (!transfer.blocked() && transfer.error != 0) return Close();
  if (transfer.error == 0) {
    if (exchange_.wait() == Wait::kReader) return;
    exchange_.EndInput();
  } else {
    exchange_.FindNothing();
    if (tls_ != nullptr && tls_->waits_to_send() && exchange_.wait() == Wait::kInput) return WaitWritable();
  }
  Act();
}

void Connection::Parse(Workspace& workspace) {
  Guarded([&] { exchange_.Parse(workspace); });
}

void Connection::Run(Workspace& workspace) {
  Guarded([&] { exchange_.Run(workspace); });
}

void Connection::EndTurn(Workspace& workspace) {
  Guarded([&] { Reply(workspace.reply); });
}

void Connection::Reply(std::string& reply) {
  Send(reply);
  if (!is_open()) return;
  if (exchange_.CanWriteMessages()) DeliverMessagesLater();
  Act();
}

// ---- what ends a wait

void Connection::Retry() {
  if (exchange_.wait() == Wait::kMoment) Guarded([this] { loop_.Queue(shared_from_this()); });
}

void Connection::Resume(const WriteReply& write_reply) {
  const EventLoop::WorkspaceUse workspace(loop_);
  Guarded([&] {
    exchange_.Resume(write_reply, *workspace);
    Reply(workspace->reply);
  });
}

void Connection::Release() {
  const EventLoop::WorkspaceUse workspace(loop_);
  Guarded([&] {
    exchange_.Release(*workspace);
    Reply(workspace->reply);
  });
}

// ---- messages

std::function<void()> Connection::MessageWaker() { return Later(&Connection::DeliverMessagesLater); }

void Connection::DeliverMessagesLater() {
  Guarded([this] { loop_.DeliverLater(shared_from_this()); });
}

void Connection::DeliverMessages() {
  if (!is_open() || exchange_.wait() == Wait::kFlush) return;
  if (exchange_.messages_overflowed()) {
    return Abort("it left more messages unread than client-output-buffer-limit allows");
  }
  Guarded([this] { exchange_.Account(); });  // even if they cannot be written yet
  if (!is_open() || !exchange_.CanWriteMessages()) return;
  const EventLoop::WorkspaceUse workspace(loop_);
  Guarded([&] {
    std::shared_ptr<const Message> payload;
    exchange_.WriteMessages(workspace->reply, payload);
    Send(workspace->reply);
    if (!is_open()) return;
    if (exchange_.wait() == Wait::kClosed) return CloseAborted();
    if (payload == nullptr) {
      if (exchange_.CanWriteMessages()) DeliverMessagesLater();
      return;
    }
    const bool was_empty = exchange_.unsent().empty();
    exchange_.KeepPayload(std::move(payload));
    if (was_empty) SendUnsent();
  });
}

// ---- sending

void Connection::Send(std::string& reply) {
  const size_t sent = !reply.empty() && exchange_.unsent().empty() ? SendSome(reply) : 0;
  if (!is_open()) return;
  exchange_.EndTurn(reply, sent);
  if (!exchange_.unsent().empty()) WaitWritable();
}

// Sends what was kept, once.
void Connection::SendUnsent() {
  const Wait before = exchange_.wait();
  const size_t sent = SendSome(exchange_.unsent());
  if (!is_open()) return;
  WriteBuffer::Block finished = exchange_.RecordSent(sent);
  if (finished.memory_bytes() != 0) loop_.DestroyElsewhere(std::move(finished));
  if (!exchange_.unsent().empty()) WaitWritable();
  if (exchange_.wait() != before || exchange_.wait() == Wait::kFlush) Act();
  if (is_open() && exchange_.CanWriteMessages()) DeliverMessagesLater();
}

size_t Connection::SendSome(std::string_view bytes) {
  bytes = bytes.substr(0, kWriteBytes);
  if (bytes.empty()) return 0;
  const Socket::Transfer sent = tls_ ? tls_->Send(bytes) : Socket::Send(socket_.native_handle(), bytes);
  if (sent.error != 0 && !sent.blocked()) Close();
  LoopStats::Add(loop_.stats().output_bytes, sent.bytes);
  return sent.bytes;
}

// ---- the end

void Connection::Finish() {
  if (!exchange_.unsent().empty()) return;
  if (exchange_.broken()) LoopStats::Add(loop_.stats().protocol_errors, 1);
  if (tls_ != nullptr) tls_->EndSending();
  DiscardReceived();
  Close();
}

void Connection::CloseAborted() {
  const ClientRecord& record = client();
  switch (exchange_.abort()) {
    case Session::Abort::kNone:
      break;
    case Session::Abort::kHttp:
      LogHttp(record, loop_.clock().MonotonicMs());
      break;
    case Session::Abort::kUser:
      spdlog::info("Closing client id={} addr={}: its user {} was removed", record.id, record.address,
                   core::PrintableName(record.user()));
      break;
    case Session::Abort::kReplies:
      spdlog::warn(
          "Closing client id={} addr={}: a reply is larger than client-output-buffer-limit {} and "
          "maxmemory-clients {} leave room for; it left {} bytes unread before",
          record.id, record.address, exchange_.output_limit(), loop_.clients().memory_limit(),
          exchange_.unsent_bytes());
      break;
    case Session::Abort::kUnread:
      spdlog::warn(
          "Closing client id={} addr={}: it left {} bytes of replies unread, {} bytes of commands after them "
          "(client-output-buffer-limit {})",
          record.id, record.address, exchange_.unsent_bytes(), exchange_.received_bytes(), exchange_.output_limit());
      break;
  }
  Close();
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

void Connection::DiscardReceived() {
  std::array<char, 64 * 1024> room;  // what others of the round have received is in the loop's
  for (int i = 0; i < kDiscards && Socket::Receive(socket_.native_handle(), room).bytes != 0; ++i) continue;
}

void Connection::Close() {
  Exchange::Remains remains = exchange_.Close();
  if (remains.is_large) loop_.DestroyElsewhere(std::move(remains));
  asio::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
  tls_.reset();
  slot_ = ConnectionSlots::Slot();
  loop_.Remove(*this);
}

}  // namespace bitsieve::server
