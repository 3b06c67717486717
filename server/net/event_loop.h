// event_loop.h: one thread that serves the connections it was given, each for life, with Asio. It owns what they share:
// the dispatcher, and the memory that they receive into and work in.
//
// It works in rounds. What has become ready (BeginRound()) only queues its connection; behind all that was ready, the
// round serves the queue. Connections are served in groups: received and parsed for all of the group, what their
// commands will touch is looked up and loaded together, then they run in order, and then the replies are sent. So
// clients that send one command at a time do not wait for memory one after the other.
//
// A round gives each kind of its work a turn (kTurn); the rest follows in the next, after what is ready by then.
//
// Start(), Adopt(), Post(), CloseOverdue(), Drain() and Join() may be called from any thread; everything else is
// confined to the loop's thread. Whatever Environment and the settings point to outlives the loop.
#pragma once

#include <array>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "commands/workers.h"
#include "core/base/mutex.h"
#include "protocol/request_parser.h"
#include "server/dispatch/dispatcher.h"
#include "server/net/connection_slots.h"
#include "server/net/handler_memory.h"
#include "server/net/net_settings.h"
#include "server/net/socket.h"
#include "server/session/durability.h"
#include "server/session/exchange.h"

namespace bitsieve::server {

class Connection;

// A client that was let in, with its address and the one that it has reached.
struct Accepted {
  Socket socket;
  ConnectionSlots::Slot slot;
  std::string address;
  std::string local_address;
  bool is_local;  // as of ClientRecord
};

class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  // The most bytes that are received at once, except for very long arguments.
  static constexpr size_t kScratchBytes = 48 * 1024;

  // `commands.loop_stats` are this loop's own. Throws std::system_error if the system has no descriptors left.
  EventLoop(const Environment& commands, const protocol::RequestLimits& limits, const NetSettings& settings);
  ~EventLoop();

  void Start();
  // Serves the client from now on.
  void Adopt(Accepted accepted);
  // Runs `work` on the loop's thread, in the order of the calls. Throws std::bad_alloc.
  void Post(std::function<void()> work);
  // Closes the connections that have been idle for longer than the settings allow, or are too slow with the handshake.
  void CloseOverdue();
  // Answers and writes what clients have sent so far, closes them, and ends the thread; after `patience` it closes
  // those that are left at once.
  void Drain(std::chrono::milliseconds patience);
  // Waits for the thread to end.
  void Join();

  // For the loop's connections.
  asio::io_context& context() { return context_; }
  // Called first by each handler of what became ready: there is work for a round.
  void BeginRound();
  void Remove(Connection& connection);
  // Serves the connection in this round or the next, once.
  void Queue(std::shared_ptr<Connection> connection);
  // Calls connection->DeliverMessages() when it is its turn.
  void DeliverLater(std::shared_ptr<Connection> connection) { deliveries_.push_back(std::move(connection)); }
  // Calls connection->Retry() after a moment, unless it is gone by then.
  void Postpone(const std::shared_ptr<Connection>& connection);
  const core::Clock& clock() const { return *commands_.clock; }
  ClientList& clients() { return *commands_.clients; }
  const Users* users() const { return commands_.users; }
  LoopStats& stats() { return *commands_.loop_stats; }
  const NetSettings& settings() const { return settings_; }
  const Exchange::Surroundings& surroundings() const { return surroundings_; }
  // A workspace outside of the queue's turns. One at a time.
  class WorkspaceUse {
   public:
    explicit WorkspaceUse(EventLoop& loop) : workspace_(loop.workspaces_[0]) {}
    ~WorkspaceUse() { workspace_.ClearReply(kReplyBytes); }
    Workspace& operator*() const { return workspace_; }
    Workspace* operator->() const { return &workspace_; }

   private:
    Workspace& workspace_;
  };
  // Lets a worker destroy what takes long: giving addresses back waits for other changes of the address space. What
  // there is no memory for is destroyed here.
  template <class Memory>
  void DestroyElsewhere(Memory memory) noexcept {
    if (commands_.filters.workers == nullptr) return;
    try {
      commands_.filters.workers->Run(commands::Weight::kMany,
                                     [shared = std::make_shared<Memory>(std::move(memory))] {});
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  // See Durability.
  void Await(uint64_t position, std::function<void()> reached) {
    commands_.durability->Await(position, std::move(reached));
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  // Connections that are served together: as many, and so many bytes, that what they have loaded stays in the cache
  // until it is used.
  static constexpr size_t kGroup = 64;
  static constexpr size_t kGroupBytes = kScratchBytes - ReadBuffer::kMinScratch;
  // The most bytes that a reply buffer keeps: the first of a group, and the others.
  static constexpr size_t kReplyBytes = 1024 * 1024;
  static constexpr size_t kOtherReplyBytes = 32 * 1024;

  void Run();
  void Round();
  void EndRound();
  bool HasWork() const { return has_posted_ || !running_.empty() || next_ != queue_.size() || !deliveries_.empty(); }
  void RunPosted();
  void ServeQueue();
  size_t ReceiveGroup(size_t last, Time end);
  void ServeGroup(size_t size);
  void Deliver();

  void Serve(Accepted accepted);
  // Calls handler() after `time`, unless the timer is cancelled.
  template <class Handler>
  void WaitFor(asio::steady_timer& timer, std::chrono::milliseconds time, HandlerMemory& memory, Handler handler);
  void WaitToRetry();
  void RetryPostponed();
  void BeginDrain(std::chrono::milliseconds patience);
  void EndDrain();
  void StopIfDrained();
  // Calls `visit` with each connection; it may close it.
  template <class Visit>
  void ForEachConnection(Visit&& visit);

  // Constant after construction.
  const Environment commands_;
  const NetSettings& settings_;

  // Memory of operations that may be pending until the context ends.
  HandlerMemory round_memory_;
  HandlerMemory retry_memory_;
  HandlerMemory drain_memory_;
  // Only this loop's thread uses it, except that others post.
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_;
  std::thread thread_;
  bool in_round_ = false;

  core::Mutex mutex_;
  std::deque<std::function<void()>> posted_ BITSIEVE_GUARDED_BY(mutex_);
  bool is_woken_ BITSIEVE_GUARDED_BY(mutex_) = false;  // its next look at posted_ is certain
  bool has_posted_ = false;                            // it is due
  std::deque<std::function<void()>> running_;          // taken from there

  Dispatcher dispatcher_;
  const Exchange::Surroundings surroundings_;
  std::array<Workspace, kGroup> workspaces_;
  std::array<Connection*, kGroup> group_;
  std::unique_ptr<std::array<char, kScratchBytes>> scratch_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::shared_ptr<Connection>> queue_;  // to be served, from next_ on
  size_t next_ = 0;
  std::deque<std::shared_ptr<Connection>> deliveries_;  // with messages in their inboxes
  std::deque<std::weak_ptr<Connection>> postponed_;     // longest waiting first
  asio::steady_timer retry_timer_;                      // of these
  asio::steady_timer drain_timer_;
  bool draining_ = false;
};

}  // namespace bitsieve::server
