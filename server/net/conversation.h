// conversation.h: the exchange with one client: bytes to commands, commands to replies, window by window. It has no
// socket; the connection around it moves the bytes. Confined to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "protocol/request_parser.h"
#include "server/dispatch/dispatcher.h"
#include "server/session/session.h"

namespace bitsieve::server {

class Conversation {
 public:
  enum class State {
    kNeedMore,   // every complete command was run
    kMore,       // there may be further commands in the bytes at hand: run the next window
    kDeferred,   // the last reply comes later: call Resume() with it, and run nothing before
    kPostponed,  // the next command has to wait: call Retry() after a moment, and run nothing before
    kYielded,    // others get their turn, and replies leave: call Retry() then, and run nothing before
    kAbort,      // close at once, even if replies are not written
    kClose,      // close when the replies are written: the client said so, or its bytes make no sense
  };
  struct Step {
    State state;
    size_t consumed;         // bytes of the input that are done with
    DeferredReply deferred;  // set for kDeferred: to be started
    bool wrote = false;      // a command may have changed something: see Dispatcher::Outcome
  };

  // `users` null: every client may do everything.
  Conversation(std::shared_ptr<ClientRecord> client, const protocol::RequestLimits& limits,
               const Users* users = nullptr);
  ~Conversation();

  // Runs up to Dispatcher::kWindow commands from `input` and appends their replies. `batch` is working memory that the
  // conversations of a loop share; `bytes`, if given, can keep the input alive.
  Step RunWindow(std::span<char> input, Dispatcher& dispatcher, CommandBatch& batch, std::string& reply,
                 ArgumentBytes* bytes = nullptr);
  // Appends the deferred reply, then runs the commands that had been read after it.
  Step Resume(const WriteReply& write_reply, Dispatcher& dispatcher, std::string& reply);
  // Runs the commands that were kept, if the first of them need no longer wait.
  Step Retry(Dispatcher& dispatcher, std::string& reply);

  // Sets what is woken when a message arrives.
  void set_wakeable(Wakeable& wakeable) { session_.wakeable = &wakeable; }
  // Appends some of the messages that were published to this client. False if more are left. A long payload is not
  // copied: see Subscriptions.
  bool WriteMessages(std::string& reply, size_t most_bytes, std::shared_ptr<const Message>& payload);
  // More messages than the client may leave unread: it is to be closed.
  bool messages_overflowed() const {
    return session_.subscriptions != nullptr && session_.subscriptions->inbox().overflowed();
  }
  bool has_messages() const { return message_bytes() != 0; }
  bool listens() const {
    const Subscriptions* const all = session_.subscriptions.get();
    return all != nullptr && (all->count() != 0 || all->monitors());
  }
  // The connection is closed: nothing is published to it any more. What is returned takes long to destroy, and may be
  // destroyed on any thread; null if it was quick.
  std::unique_ptr<Subscriptions> EndSubscriptions();

  // How many bytes the replies of the next call may take; more end in kAbort.
  void set_reply_limit(size_t bytes) { reply_limit_ = bytes; }
  Session::Abort abort() const { return session_.abort; }
  // Returns the memory of the commands that wait. The functions below return that of other parts of the conversation.
  size_t waiting_bytes() const;
  // Returns the memory that the command whose reply comes later keeps.
  size_t deferred_bytes() const { return deferred_bytes_; }
  size_t queued_bytes() const {
    return session_.queued_bytes + (session_.executing == nullptr ? 0 : session_.executing->bytes);
  }
  size_t parser_bytes() const { return parser_.memory_bytes(); }
  size_t watch_bytes() const { return session_.watches.bytes(); }
  size_t subscription_bytes() const { return session_.subscriptions == nullptr ? 0 : session_.subscriptions->bytes(); }
  size_t message_bytes() const {
    return session_.subscriptions == nullptr ? 0 : session_.subscriptions->inbox().bytes();
  }

  ClientRecord& client() const { return *session_.client; }
  bool broken() const { return broken_; }  // a protocol error was met

 private:
  struct WaitingCommands;

  Step Run(Dispatcher& dispatcher, const CommandBatch& batch, size_t first, std::string& reply);
  Step RunWaiting(Dispatcher& dispatcher, std::string& reply);
  void Keep(const CommandBatch& batch, size_t first);
  protocol::ReplyWriter Writer(std::string& reply) const;

  Session session_;
  const protocol::RequestLimits& limits_;  // of clients that are authenticated
  protocol::RequestParser parser_;
  // Commands after a deferred reply, or postponed: copies, since the bytes they were read from are gone by then.
  std::unique_ptr<WaitingCommands> waiting_;
  bool deferred_wrote_ = false;  // the reply that comes later reports a change
  size_t deferred_bytes_ = 0;
  size_t reply_limit_ = SIZE_MAX;
  bool broken_ = false;
};

}  // namespace bitsieve::server
