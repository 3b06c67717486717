// How a connection ends: its last replies, and what it leaves.

#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "core/base/quote.h"
#include "server/net/connection.h"
#include "server/net/event_loop.h"
#include "server/net/stranger_log.h"
#include "server/net/tls_stream.h"
#include "server/session/client_list.h"

namespace bitsieve::server {
namespace {

// Buffers that take more are destroyed by a worker.
constexpr uint64_t kManyBytes = 1024 * 1024;
// Closing a socket with unread bytes resets the connection, and replies on their way would be lost: up to this many
// reads discard what a client sent after its last command.
constexpr int kDiscards = 16;

}  // namespace

void Connection::AbortReplies() {
  const Session::Abort why = conversation_.abort();
  if (why == Session::Abort::kHttp) LogHttp(client(), loop_.clock().MonotonicMs());
  if (why == Session::Abort::kUser) {
    spdlog::info("Closing client id={} addr={}: its user {} was removed", client().id, client().address,
                 core::PrintableName(client().user()));
  }
  if (why == Session::Abort::kReplies) {
    spdlog::warn(
        "Closing client id={} addr={}: a reply is larger than client-output-buffer-limit {} and "
        "maxmemory-clients {} leave room for; it left {} bytes unread before",
        client().id, client().address, OutputLimit(), loop_.clients().memory_limit(), write_buffer_.size());
  }
  loop_.ClearReply();
  Close();
}

void Connection::FinishIfWritten() {
  finishing_ = true;
  if (!write_buffer_.empty()) return;
  if (socket_.tls() != nullptr) socket_.tls()->EndSending();
  DiscardReceived();
  Close();
}

void Connection::DiscardReceived() {
  for (int i = 0; i < kDiscards && Socket::Receive(socket_.descriptor(), loop_.scratch()).bytes != 0; ++i) continue;
}

void Connection::Close() {
  if (std::exchange(closed_, true)) return;
  struct Remains {
    ReadBuffer received;
    WriteBuffer unsent;
    std::unique_ptr<Held> held;
    std::unique_ptr<Subscriptions> subscriptions;
  };
  const bool is_large = accounted_bytes_ > kManyBytes;
  Remains remains{std::exchange(read_buffer_, {}), std::exchange(write_buffer_, {}), std::move(held_),
                  conversation_.EndSubscriptions()};
  socket_.Close();
  slot_ = ConnectionSlots::Slot();
  if (is_large || remains.subscriptions != nullptr) loop_.DestroyElsewhere(std::move(remains));
  Account();
  loop_.Remove(*this);
}

}  // namespace bitsieve::server
