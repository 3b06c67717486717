#include "server/net/event_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <new>
#include <thread>
#include <utility>

#include "commands/workers.h"
#include "core/base/change_meter.h"
#include "core/base/roll_back.h"
#include "core/base/thread_slice.h"
#include "server/namespace.h"
#include "server/net/address.h"
#include "server/net/connection.h"

namespace bitsieve::server {
namespace {

using asio::ip::tcp;

// Idle connections are looked for so often: `timeout` is kept to within that.
constexpr std::chrono::seconds kSweepInterval{1};
constexpr std::chrono::milliseconds kOutOfMemoryPause{1};
// How long connections take turns before requests of others are looked for.
constexpr std::chrono::milliseconds kTurns{1};
// Postponed commands are retried at this interval, and this many at once, however many there are.
constexpr std::chrono::milliseconds kRetryInterval{2};
constexpr size_t kRetriesAtOnce = 256;
// What the reply buffer may hold on to between batches.
constexpr size_t kReplyCapacity = 1024 * 1024;

// Ids are unique within the process, over all loops, and never reused. Relaxed: only uniqueness matters.
std::atomic<uint64_t> next_client_id{1};

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // a refusal costs comfort, not correctness
}

}  // namespace

EventLoop::EventLoop(const Dispatcher::Environment& commands, const protocol::RequestLimits& limits,
                     const NetSettings& settings)
    : commands_(commands),
      limits_(limits),
      settings_(settings),
      work_(asio::make_work_guard(context_)),
      sweep_timer_(context_),
      drain_timer_(context_),
      retry_timer_(context_),
      dispatcher_(commands),
      scratch_(std::make_unique<std::array<char, ReadBuffer::kScratchBytes>>()) {}

EventLoop::~EventLoop() { Join(); }

void EventLoop::Start() {
  ScheduleSweep();
  thread_ = std::thread([this] { Run(); });
}

// A handler that runs out of memory has handled its own connection; the others continue.
void EventLoop::Run() {
  core::RequestShortSlices();
  core::ChangeMeter::Count(0);  // takes what it needs now
  while (true) {
    try {
      if (!sweep_scheduled_ && !draining_) ScheduleSweep();
      context_.run();
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kOutOfMemoryPause);
    }
  }
}

void EventLoop::Join() {
  if (thread_.joinable()) thread_.join();
}

void EventLoop::Adopt(Socket socket, ConnectionSlots::Slot slot) {
  asio::post(context_, [this, socket = std::move(socket), slot = std::move(slot)]() mutable {
    Serve(std::move(socket), std::move(slot));
  });
}

void EventLoop::Serve(Socket socket, ConnectionSlots::Slot slot) {
  if (draining_) return;
  asio::error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  const tcp::endpoint local = error ? tcp::endpoint() : socket.local_endpoint(error);
  if (error) return;  // gone already
  Configure(socket);
  auto record = std::make_shared<ClientRecord>(next_client_id.fetch_add(1, std::memory_order_relaxed),
                                               AddressText(remote), AddressText(local), clock().MonotonicMs());
  LoopStats::Add(stats().connections_accepted, 1);
  spdlog::debug("Client id={} addr={} connected", record->id, record->address);
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(slot), record, *this);
  record->close = connection->Closer();
  commands_.clients->Add(record);
  core::RollBack gone([&, id = record->id] { commands_.clients->Remove(id); });
  connection->slot_in_loop = connections_.size();
  connections_.push_back(connection);
  gone.Dismiss();
  connection->Start();
}

void EventLoop::Configure(Socket& socket) const {
  asio::error_code ignored;
  socket.non_blocking(true, ignored);
  const int handle = socket.native_handle();
  SetOption(handle, IPPROTO_TCP, TCP_NODELAY, 1);
  const auto keepalive_s = static_cast<int>(settings_.tcp_keepalive_s.load(std::memory_order_relaxed));
  if (keepalive_s == 0) return;
  // The peer is given up after three probes that together take as long as the silence before the first.
  SetOption(handle, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(handle, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_s);
  SetOption(handle, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, keepalive_s / 3));
  SetOption(handle, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void EventLoop::Remove(Connection& connection) {
  commands_.clients->Remove(connection.client().id);
  spdlog::debug("Client id={} addr={} closed", connection.client().id, connection.client().address);
  // The last one takes its place. What was removed lives on until the operations under way are done with it.
  const size_t place = connection.slot_in_loop;
  std::swap(connections_[place], connections_.back());
  connections_[place]->slot_in_loop = place;
  connections_.pop_back();
  if (draining_) EndIfDrained();
}

void EventLoop::RunLater(std::shared_ptr<Connection> connection) {
  ready_.push_back(std::move(connection));
  if (ready_.size() == 1) asio::post(context_, [this] { TakeTurns(); });
}

void EventLoop::TakeTurns() {
  const auto begin = std::chrono::steady_clock::now();
  do {
    const std::shared_ptr<Connection> connection = std::move(ready_.front());
    // Its place is taken until it is done, so that another turn is not posted twice.
    connection->Continue();
    ready_.pop_front();
  } while (!ready_.empty() && std::chrono::steady_clock::now() - begin < kTurns);
  if (!ready_.empty()) asio::post(context_, [this] { TakeTurns(); });
}

void EventLoop::Postpone(const std::shared_ptr<Connection>& connection) {
  postponed_.push_back(connection);
  RetryLater();
}

void EventLoop::RetryLater() {
  if (postponed_.empty() || std::exchange(retry_scheduled_, true)) return;
  retry_timer_.expires_after(kRetryInterval);
  retry_timer_.async_wait([this](const asio::error_code& error) {
    retry_scheduled_ = false;
    if (!error) RetryPostponed();
  });
}

// Those that still have to wait go to the end of the queue again, after those that were not tried.
void EventLoop::RetryPostponed() {
  for (size_t left = std::min(postponed_.size(), kRetriesAtOnce); left > 0; --left) {
    const std::shared_ptr<Connection> connection = postponed_.front().lock();
    postponed_.pop_front();
    if (connection != nullptr) connection->Retry();
  }
  RetryLater();
}

void EventLoop::ClearReply() {
  reply_.clear();
  if (reply_.capacity() > kReplyCapacity) std::string().swap(reply_);
}

void EventLoop::FreeElsewhere(std::string memory) {
  if (memory.capacity() < kReplyCapacity || commands_.workers == nullptr) return;
  auto shared = std::make_shared<std::string>(std::move(memory));
  commands_.workers->Run(Weight::kMany, [shared = std::move(shared)] {});
}

template <class Visit>
void EventLoop::ForEachConnection(Visit&& visit) {
  // From the end: what takes the place of a removed connection was visited already.
  for (size_t i = connections_.size(); i-- > 0;) {
    const std::shared_ptr<Connection> connection = connections_[i];
    visit(*connection);
  }
}

void EventLoop::ScheduleSweep() {
  sweep_timer_.expires_after(kSweepInterval);
  sweep_timer_.async_wait([this](const asio::error_code& error) {
    sweep_scheduled_ = false;
    // Cancelling does not reach a handler that is queued already: it must not begin anew what would keep run() going.
    if (error || draining_) return;
    CloseIdle();
    ScheduleSweep();
  });
  sweep_scheduled_ = true;
}

void EventLoop::CloseIdle() {
  const int64_t timeout_s = settings_.timeout_s.load(std::memory_order_relaxed);
  if (timeout_s == 0) return;
  const int64_t oldest = clock().MonotonicMs() - timeout_s * 1000;
  ForEachConnection([oldest](Connection& connection) {
    if (connection.IdleSince(oldest)) connection.Abort("it was idle for longer than the timeout");
  });
}

void EventLoop::Drain(std::chrono::milliseconds patience) {
  asio::post(context_, [this, patience] { BeginDrain(patience); });
}

void EventLoop::BeginDrain(std::chrono::milliseconds patience) {
  draining_ = true;
  commands_.clients->pause.Cancel();  // what clients have sent is to be answered
  commands_.clients->draining.store(true, std::memory_order_relaxed);
  ForEachConnection([](Connection& connection) { connection.Drain(); });
  drain_timer_.expires_after(patience);
  drain_timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    ForEachConnection(
        [](Connection& connection) { connection.Abort("the server stops, and its replies were not out in time"); });
  });
  EndIfDrained();
}

void EventLoop::EndIfDrained() {
  if (!connections_.empty()) return;
  // Without work the context's run() returns, and with it the thread.
  work_.reset();
  sweep_timer_.cancel();
  drain_timer_.cancel();
  retry_timer_.cancel();
}

}  // namespace bitsieve::server
