// event_loop.h: one thread that serves the connections it was given, each for life. It owns what they share: the
// dispatcher, the scratch area that they receive into and the buffer that collects their replies.
//
// Start(), Adopt(), Post(), CloseOverdue(), Drain() and Join() may be called from any thread; everything else is
// confined to the loop's thread. Whatever Environment and the settings point to outlives the loop.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "commands/workers.h"
#include "protocol/request_parser.h"
#include "server/dispatch/dispatcher.h"
#include "server/dispatch/durability.h"
#include "server/net/connection_slots.h"
#include "server/net/net_settings.h"
#include "server/net/reactor.h"
#include "server/net/read_buffer.h"
#include "server/net/socket.h"

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
  // `commands.loop_stats` are this loop's own. Throws std::system_error if the system has no descriptors left.
  EventLoop(const Environment& commands, const protocol::RequestLimits& limits, const NetSettings& settings);
  ~EventLoop();

  void Start();
  // Serves the client from now on.
  void Adopt(Accepted accepted);
  // Runs `work` on the loop's thread.
  void Post(std::function<void()> work) { reactor_.Post(std::move(work)); }
  // Closes the connections that have been idle for longer than the settings allow, or are too slow with the handshake.
  void CloseOverdue();
  // Answers and writes what clients have sent so far, closes them, and ends the thread; after `patience` it closes
  // those that are left at once.
  void Drain(std::chrono::milliseconds patience);
  // Waits for the thread to end.
  void Join();

  // For the loop's connections.
  void Watch(const Socket& socket, Reactor::Watcher& watcher) { reactor_.Watch(socket, watcher); }
  void Remove(Connection& connection);
  // Calls connection->Continue() when it is its turn: connections take turns, and between turns new requests of others
  // are received.
  void RunLater(std::shared_ptr<Connection> connection) { ready_.push_back(std::move(connection)); }
  // Calls connection->UseReadiness() once others had their turn: there is more to receive or to send.
  void UseLater(std::shared_ptr<Connection> connection) { unused_.push_back(std::move(connection)); }
  // Calls connection->DeliverMessages() when it is its turn.
  void DeliverLater(std::shared_ptr<Connection> connection) { deliveries_.push_back(std::move(connection)); }
  // Calls connection->Retry() after a moment, unless it is gone by then.
  void Postpone(const std::shared_ptr<Connection>& connection);
  const core::Clock& clock() const { return *commands_.clock; }
  ClientList& clients() { return *commands_.clients; }
  const Users* users() const { return commands_.users; }
  Dispatcher& dispatcher() { return dispatcher_; }
  LoopStats& stats() { return *commands_.loop_stats; }
  const protocol::RequestLimits& limits() const { return limits_; }
  const NetSettings& settings() const { return settings_; }
  CommandBatch& batch() { return batch_; }
  ReadBuffer::Scratch scratch() { return ReadBuffer::Scratch(*scratch_); }
  std::string& reply() { return reply_; }
  void ClearReply();
  // Lets a worker destroy what takes long: giving addresses back waits for other changes of the address space. What
  // there is no memory for is destroyed here.
  template <class Memory>
  void DestroyElsewhere(Memory memory) noexcept {
    if (commands_.workers == nullptr) return;
    try {
      commands_.workers->Run(commands::Weight::kMany, [shared = std::make_shared<Memory>(std::move(memory))] {});
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  // See Durability; 0 if nothing is logged.
  uint64_t AwaitedPosition() const {
    return commands_.durability == nullptr ? 0 : commands_.durability->AwaitedPosition();
  }
  void Await(uint64_t position, std::function<void()> reached) {
    commands_.durability->Await(position, std::move(reached));
  }

 private:
  using Time = std::chrono::steady_clock::time_point;

  void Serve(Accepted accepted);
  void Run();
  // One round: waits, reports, and gives turns to those that have work left.
  void Round();
  std::optional<std::chrono::milliseconds> Patience() const;
  // Calls visit(connection) for those that are in the queue now, for kTurn at most: the others have their turn in the
  // next round.
  template <class Visit>
  void VisitEach(std::deque<std::shared_ptr<Connection>>& queue, Visit&& visit);
  void TakeTurns();
  void RetryPostponed();
  void BeginDrain(std::chrono::milliseconds patience);
  void EndDrain();
  bool Done() const { return draining_ && open_ == 0; }
  // Calls `visit` with each connection; it may close it.
  template <class Visit>
  void ForEachConnection(Visit&& visit);

  // Constant after construction.
  const Environment commands_;
  const protocol::RequestLimits& limits_;
  const NetSettings& settings_;

  Reactor reactor_;
  std::thread thread_;
  bool draining_ = false;
  Time drain_end_ = Time::max();

  Dispatcher dispatcher_;
  CommandBatch batch_;
  std::string reply_;
  std::unique_ptr<std::array<char, ReadBuffer::kScratchBytes>> scratch_;
  std::vector<std::shared_ptr<Connection>> connections_;
  // So many of them. Those after them were closed in this round, which may still have reports for them.
  size_t open_ = 0;
  std::deque<std::shared_ptr<Connection>> unused_;      // with readiness that was not used up
  std::deque<std::shared_ptr<Connection>> deliveries_;  // with messages in their inboxes
  std::deque<std::shared_ptr<Connection>> ready_;       // whose turn comes
  std::deque<std::weak_ptr<Connection>> postponed_;     // longest waiting first
  Time retry_time_ = Time::max();                       // of these
};

}  // namespace bitsieve::server
