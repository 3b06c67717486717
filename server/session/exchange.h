// exchange.h: one client's life between its first byte and its last: bytes to commands, commands to replies, and when
// each may happen. It has no socket: the connection around it moves the bytes and does what wait() asks for.
//
// The client is served in turns. A turn parses what is at hand and runs it, window by window, until others of the loop
// have to be served. How it ended, wait() says.
//
// Replies to commands that changed something are promises: if the log has to come further before they may be given,
// they are held, all of the turn, and the client waits (kLog). One that is closed before then gets none.
//
// Replies that the socket does not take are kept here. At half of the output limit no further commands are run until
// the client reads (kReader); what it sends is still received, since many clients send all of a pipeline before they
// read. When replies, or replies and commands together, are over the limit, the client is closed.
//
// The memory of buffers, subscriptions and watched names is reported to the ClientList, which closes the largest
// connections when all together take too much. Until that is done, a client that takes much gets no more (kMoment).
//
// Messages that were published to the client (SUBSCRIBE) come between its replies, never within one. They stay in its
// inbox as long as the socket does not take what was written before.
//
// Confined to its loop. Functions that take memory throw std::bad_alloc; the client is then to be closed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "protocol/request_parser.h"
#include "server/session/client_list.h"
#include "server/session/durability.h"
#include "server/session/executor.h"
#include "server/session/read_buffer.h"
#include "server/session/session.h"
#include "server/session/write_buffer.h"

namespace bitsieve::server {

// Working memory of one turn. It belongs to the loop, so that an idle client has none, and is reused.
struct Workspace {
  CommandBatch batch;
  PreparedCommands prepared;  // of the batch
  std::span<char> input;      // the bytes at hand that are not parsed yet
  bool is_complete = false;   // `input` may have another command
  std::string reply;

  // Keeps at most `kept_bytes` of the reply's memory.
  void ClearReply(size_t kept_bytes);
};

class Exchange {
 public:
  // The parts that the exchanges of a loop work with. They outlive the exchanges.
  struct Surroundings {
    Executor& executor;
    ClientList& clients;
    Durability* durability;                           // null: no reply waits
    const protocol::RequestLimits& limits;            // of clients that are authenticated
    const std::atomic<uint64_t>& output_limit_bytes;  // replies that a client may leave unread
  };

  // `fixed_bytes` are what the connection takes in addition to the buffers.
  Exchange(std::shared_ptr<ClientRecord> client, const Surroundings& surroundings, uint64_t fixed_bytes);
  ~Exchange();

  Wait wait() const { return wait_; }
  Session& session() { return session_; }
  ClientRecord& client() const { return *session_.client; }
  // Why wait() is kClosed, if something is to be said about it.
  Session::Abort abort() const { return session_.abort; }
  // Whether a protocol error was met.
  bool broken() const { return broken_; }

  // ---- A turn: BeginTurn(), then what it returns, then Parse() and Run(), and EndTurn() when the replies were sent.

  enum class Step : uint8_t {
    kNone,     // nothing is to be done now
    kWait,     // wait() has changed
    kReceive,  // receive into Room(), then call Receive(), or FindNothing(), or EndInput() at the end of the stream
    kRun,      // commands are at hand
  };
  Step BeginTurn(Workspace& workspace);
  // Where received bytes go: into `scratch`, which other clients may use afterwards, or where the bytes are that are
  // kept. `scratch` has at least ReadBuffer::kMinScratch bytes.
  std::span<char> Room(std::span<char> scratch) { return read_buffer_.Prepare(scratch); }
  // `bytes` were received into Room(scratch). False if they are not to be run yet.
  bool Receive(std::span<char> scratch, size_t bytes, Workspace& workspace);
  // There is nothing to receive now.
  void FindNothing() {
    if (draining_) EndInput();
  }
  // Nothing more comes. The client may still read, so it is closed once its replies are written; one that does not read
  // meets the end again when it has.
  void EndInput() {
    if (wait_ == Wait::kInput) wait_ = Wait::kFlush;
  }
  // Parses the first window, and prepares it.
  void Parse(Workspace& workspace);
  // Runs the commands at hand and appends the replies to workspace.reply, unless they are held or the client is to be
  // closed.
  void Run(Workspace& workspace);

  // Ends the turn: the socket took `sent` bytes of the replies, and the rest is kept. May close the client.
  void EndTurn(std::string& reply, size_t sent);

  // ---- What ends a wait. After Resume() and Release() the replies are sent and EndTurn() is called, as after Run().

  // kReply: starts the command's work; `finish` is called as by a DeferredReply.
  void StartDeferred(Finish finish);
  // kReply: the reply is there. Commands that were read after it follow.
  void Resume(const WriteReply& write_reply, Workspace& workspace);
  // kLog: the position that the log must reach, and that it has.
  uint64_t log_position() const { return held_->position; }
  void Release(Workspace& workspace);
  // From now on the client is closed once everything that it has sent is answered and written.
  void Drain();

  // ---- Bytes out

  // Returns the bytes that are to be sent next; empty if everything was sent.
  std::string_view unsent() const { return write_buffer_.unsent(); }
  size_t unsent_bytes() const { return write_buffer_.size(); }
  // The socket took so many bytes of unsent(). Returns memory to be freed off the loop.
  WriteBuffer::Block RecordSent(size_t bytes);
  // The bytes that were received and are not done with.
  size_t received_bytes() { return read_buffer_.kept().size(); }
  uint64_t output_limit() const { return surroundings_.output_limit_bytes.load(std::memory_order_relaxed); }

  // Sets what is woken when a message arrives.
  void set_wakeable(Wakeable& wakeable) { session_.wakeable = &wakeable; }
  // Whether messages are there, and may be written between replies now.
  bool CanWriteMessages() const;
  // Appends messages to `reply`, as many as a turn may send. `payload`, if it is set, follows: KeepPayload().
  void WriteMessages(std::string& reply, std::shared_ptr<const Message>& payload);
  // Keeps a long payload, which other clients share, to be sent after what was written.
  void KeepPayload(std::shared_ptr<const Message> payload);
  // Whether the client left more messages unread than it may: it is to be closed.
  bool messages_overflowed() const {
    return session_.subscriptions != nullptr && session_.subscriptions->inbox().overflowed();
  }
  // Whether the client has been idle since before `monotonic_ms`. It is not while it waits for a reply, or listens.
  bool IdleSince(int64_t monotonic_ms) const;

  // Reports what the client takes now.
  void Account();
  uint64_t accounted_bytes() const { return accounted_bytes_; }

  // Memory that may be freed on any thread.
  struct Remains {
    bool is_large;  // freeing it takes long
    ReadBuffer received;
    WriteBuffer unsent;
    std::string held;
    std::unique_ptr<Subscriptions> subscriptions;
  };
  // Ends the exchange. Nothing is published to the client any more.
  Remains Close();

 private:
  struct WaitingCommands;
  // Replies that wait for the log, and what the client waits for afterwards.
  struct Held {
    uint64_t position;
    std::string replies;
    Wait then;
  };
  // The source of the commands of the next turn.
  enum class AtHand : uint8_t { kNothing, kBytes, kCommands };
  // How running ended. kNothing: there may be more in the bytes at hand.
  struct Ran {
    Wait wait;
    bool wrote;
  };

  void ParseWindow(Workspace& workspace);
  Ran RunBytes(Workspace& workspace);
  Ran RunWaiting(std::string& reply);
  Ran RunBatch(const CommandBatch& batch, size_t first, std::string& reply, const PreparedCommands* prepared);
  void Keep(const CommandBatch& batch, size_t first);
  void EndRun(Ran ran, std::string& reply);
  Wait Next(Wait wait);
  protocol::ReplyWriter Writer(std::string& reply, size_t limit) const;

  bool IsThrottled() const { return write_buffer_.size() > output_limit() / 2; }
  // Whether this client must not take more memory, since all take too much and it takes much of it.
  bool MustSave() const;
  // Returns how many bytes the replies to further commands may take.
  size_t ReplyRoom() const;
  void EnforceOutputLimit();
  size_t MessageBytes() const {
    return session_.subscriptions == nullptr ? 0 : session_.subscriptions->inbox().bytes();
  }

  const Surroundings& surroundings_;
  Session session_;
  protocol::RequestParser parser_;
  ReadBuffer read_buffer_;
  WriteBuffer write_buffer_;
  // Commands after a deferred reply, or postponed: copies, since the bytes they were read from are gone by then.
  std::unique_ptr<WaitingCommands> waiting_;
  std::unique_ptr<Held> held_;  // of kLog
  DeferredReply deferred_;      // of kReply, until it is started
  size_t deferred_bytes_ = 0;   // that the command keeps whose reply comes later
  const uint64_t fixed_bytes_;
  uint64_t accounted_bytes_ = 0;  // in the ClientList's sum
  Wait wait_ = Wait::kInput;
  AtHand at_hand_ = AtHand::kNothing;
  bool deferred_wrote_ = false;  // the reply that comes later reports a change
  bool draining_ = false;
  bool broken_ = false;
};

}  // namespace bitsieve::server
