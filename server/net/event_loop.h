// event_loop.h: one thread that serves the connections it was given, each for life. It owns what they share: the
// dispatcher, the scratch area that they receive into and the buffer that collects their replies.
//
// Start(), Adopt(), Drain() and Join() may be called from any thread; everything else is confined to the loop's thread.
// Whatever Dispatcher::Environment and the settings point to outlives the loop.
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
#include <string>
#include <thread>
#include <vector>

#include "protocol/request_parser.h"
#include "server/dispatch/dispatcher.h"
#include "server/net/connection_slots.h"
#include "server/net/net_settings.h"
#include "server/net/read_buffer.h"
#include "server/net/socket.h"

namespace bitsieve::server {

class Connection;

class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  // `commands.loop_stats` are this loop's own.
  EventLoop(const Dispatcher::Environment& commands, const protocol::RequestLimits& limits,
            const NetSettings& settings);
  ~EventLoop();

  void Start();
  // Serves the socket, which must belong to context(), from now on.
  void Adopt(Socket socket, ConnectionSlots::Slot slot);
  // Answers and writes what clients have sent so far, closes them, and ends the thread; after `patience` it closes
  // those that are left at once.
  void Drain(std::chrono::milliseconds patience);
  // Waits for the thread to end.
  void Join();
  asio::io_context& context() { return context_; }

  // For the loop's connections.
  void Remove(Connection& connection);
  // Calls connection->Continue() when it is its turn: connections take turns, and between turns new requests of others
  // are received.
  void RunLater(std::shared_ptr<Connection> connection);
  // Calls connection->Retry() after a moment, unless it is gone by then.
  void Postpone(const std::shared_ptr<Connection>& connection);
  const core::Clock& clock() const { return *commands_.clock; }
  ClientList& clients() { return *commands_.clients; }
  Dispatcher& dispatcher() { return dispatcher_; }
  LoopStats& stats() { return *commands_.loop_stats; }
  const protocol::RequestLimits& limits() const { return limits_; }
  const NetSettings& settings() const { return settings_; }
  CommandBatch& batch() { return batch_; }
  ReadBuffer::Scratch scratch() { return ReadBuffer::Scratch(*scratch_); }
  std::string& reply() { return reply_; }
  void ClearReply();
  // Lets a worker free it if it is large: giving its addresses back waits for other changes of the address space.
  void FreeElsewhere(std::string memory);
  // See Durability; 0 if nothing is logged.
  uint64_t AwaitedPosition() const {
    return commands_.durability == nullptr ? 0 : commands_.durability->AwaitedPosition();
  }
  void Await(uint64_t position, std::function<void()> reached) {
    commands_.durability->Await(position, std::move(reached));
  }

 private:
  void Serve(Socket socket, ConnectionSlots::Slot slot);
  void Configure(Socket& socket) const;
  void TakeTurns();
  void RetryLater();
  void RetryPostponed();
  void Run();
  void ScheduleSweep();
  void CloseIdle();
  void BeginDrain(std::chrono::milliseconds patience);
  void EndIfDrained();
  // Calls `visit` with each connection; it may close it.
  template <class Visit>
  void ForEachConnection(Visit&& visit);

  // Constant after construction.
  const Dispatcher::Environment commands_;
  const protocol::RequestLimits& limits_;
  const NetSettings& settings_;

  asio::io_context context_{1};  // one thread runs it
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer sweep_timer_;
  bool sweep_scheduled_ = false;
  asio::steady_timer drain_timer_;
  asio::steady_timer retry_timer_;
  std::thread thread_;
  bool draining_ = false;

  Dispatcher dispatcher_;
  CommandBatch batch_;
  std::string reply_;
  std::unique_ptr<std::array<char, ReadBuffer::kScratchBytes>> scratch_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::deque<std::shared_ptr<Connection>> ready_;    // whose turn comes; TakeTurns() is under way unless it is empty
  std::deque<std::weak_ptr<Connection>> postponed_;  // longest waiting first
  bool retry_scheduled_ = false;
};

}  // namespace bitsieve::server
