// connection.h: one client's socket. A thin driver: it receives what is there, has its conversation run it window by
// window, and writes all replies at once. It waits for readiness rather than in a read, so that an idle connection owns
// no buffer; all connections of a loop work in the same few, which stay in the cache.
//
// Writing is tried at once; what the socket does not take waits in a buffer. At half of the output limit no further
// commands are run until the client reads; what it sends is still received, since many clients send all of a pipeline
// before they read. When replies, or replies and commands together, are over the limit, the client is closed.
//
// What buffers, subscriptions and watched names take is reported to the ClientList, which closes the largest
// connections when all together take too much. Until that is done, a connection that takes much gets no more.
//
// Replies to commands that changed something are promises: if the log has to come further before they may be given,
// they are held, all of the batch, and the connection rests until it has. A connection that is closed before then sends
// none.
//
// A command that has to wait for a moment (CLIENT PAUSE) is kept, with what follows it, and retried by the loop; other
// connections continue.
//
// Messages that were published to the client (SUBSCRIBE) come between its replies, never within one. They stay in its
// inbox as long as the socket does not take what was written before.
//
// With TLS (tls_stream.h) the first receiving makes the handshake. Its steps take processor time, so connections take
// turns with them.
//
// Confined to its loop. Kept alive by its loop and by work that is under way for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/net/connection_slots.h"
#include "server/net/conversation.h"
#include "server/net/reactor.h"
#include "server/net/read_buffer.h"
#include "server/net/socket.h"
#include "server/net/write_buffer.h"

namespace bitsieve::server {

class EventLoop;

class Connection final : public std::enable_shared_from_this<Connection>, public Wakeable, public Reactor::Watcher {
 public:
  Connection(Socket socket, ConnectionSlots::Slot slot, std::shared_ptr<ClientRecord> client, EventLoop& loop);

  // A function that closes this connection, from any thread and at any time.
  std::function<void(const char* reason)> Closer();

  void Start();
  // Closes once everything received so far is answered and written.
  void Drain();
  // Closes at once, even if work is under way. `reason` goes to the log.
  void Abort(const char* reason);
  // Called by the loop: continues with what is at hand, after Postpone() or RunLater().
  void Retry();
  void Continue();
  // Called by the loop when the socket has changed, and after UseLater(): receives and sends if that is waited for.
  void OnReady(Reactor::Readiness readiness) override;
  void UseReadiness();
  // Called by the loop after DeliverLater(): writes messages that were published to this client, as many as the socket
  // takes, unless an operation of the connection is under way: then they are written after that.
  void DeliverMessages();
  // Closes if the TLS handshake has taken too long.
  void EnforceHandshakeTime(int64_t now_ms);
  // Whether the client has been idle since before `monotonic_ms` (it is not while it waits for a reply).
  bool IdleSince(int64_t monotonic_ms) const;

  ClientRecord& client() { return conversation_.client(); }
  size_t slot_in_loop = 0;  // kept by the loop
  std::function<void()> MessageWaker() override;

 private:
  struct Held {
    std::string replies;
    Conversation::Step step;  // to continue with
  };

  // The functions below run within Guarded().
  void WaitReadable();
  void OnReadable();
  void TakeTurn();
  // False if nothing is there to be run: the socket is empty, at its end or broken.
  bool Receive(std::span<char>& input);
  // Receives into `room`, and notes whether more may be there.
  Socket::Transfer ReceiveSome(std::span<char> room);
  void OnNothingReceived(Socket::Transfer transfer);
  bool IsHandshaking() const;
  void AbortHandshake(const std::string& reason);
  // Runs windows from `input`, keeps what is left of it, and continues according to the last step.
  void Run(std::span<char> input);
  void Continue(Conversation::Step step);
  // Continue()s when it is this connection's turn.
  void PostLater();
  // While the client does not read: receives and runs nothing.
  void ReceiveOnly();
  bool Throttled() const;
  // Whether this connection must not take more memory, since all take too much and it takes much of it.
  bool MustSave() const;
  // Runs `work` on the loop's thread, from any thread, unless the connection or even its loop is gone.
  template <class Work>
  auto Later(Work work);
  void Defer(DeferredReply deferred);
  void Postpone();
  void Resume(const WriteReply& write_reply);
  // Keeps what the loop has collected for this client, and `step`, until the log has reached the position.
  void Hold(uint64_t position, Conversation::Step step);
  void Release();

  void DeliverMessagesLater();
  // Sends the payload, which is shared with other connections, after what was written.
  void SendPayload(std::shared_ptr<const Message> payload);

  void Flush();
  void WaitWritable();
  void OnWritable();
  size_t WriteSome(std::string_view bytes);
  uint64_t OutputLimit() const;
  // Returns how many bytes the replies to further commands may take.
  size_t ReplyRoom() const;
  void EnforceOutputLimit();
  void AbortReplies();
  // Reports what the buffers take now.
  void Account();
  void FinishIfWritten();
  void DiscardReceived();
  void Close();
  // Runs `work`; if memory runs out, this connection is closed, not the server.
  template <class Work>
  void Guarded(Work&& work);

  Socket socket_;
  ConnectionSlots::Slot slot_;
  EventLoop& loop_;
  Conversation conversation_;
  ReadBuffer read_buffer_;
  WriteBuffer write_buffer_;
  uint64_t accounted_bytes_ = 0;  // in the ClientList's sum
  bool readable_ = false;         // there may be bytes, or the end, in the socket
  bool writable_ = true;          // the socket may take bytes
  bool ended_ = false;            // the end is in the socket: no more is reported
  bool waiting_for_readable_ = false;
  bool waiting_for_writable_ = false;
  std::unique_ptr<Held> held_;  // nothing is written, run or read before it is released
  bool deferred_ = false;       // a reply comes later: nothing is run before
  bool at_hand_ = false;        // there are commands to run without receiving any
  bool kept_ = false;           // the conversation has kept some of them
  bool postponed_ = false;      // a command has to wait for a moment: the loop calls Retry()
  bool scheduled_ = false;      // PostLater() is under way
  bool throttled_ = false;      // nothing is run before the client has read
  bool draining_ = false;       // close as soon as the socket has no more to read
  bool finishing_ = false;      // close once everything is written
  bool closed_ = false;
  bool messages_wait_ = false;  // for what is under way
};

}  // namespace bitsieve::server
