#include "server/net/event_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <new>
#include <thread>
#include <utility>

#include "core/base/change_meter.h"
#include "core/base/out_of_memory.h"
#include "core/base/roll_back.h"
#include "core/base/thread_name.h"
#include "core/base/thread_slice.h"
#include "server/dispatch/monitoring.h"
#include "server/net/connection.h"
#include "server/net/tls_stream.h"
#include "server/session/client_list.h"
#include "server/session/turn.h"
#include "server/stats/stats.h"

namespace bitsieve::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Postponed commands are retried at this interval, and this many at once, however many there are.
constexpr milliseconds kRetryInterval{2};
constexpr size_t kRetriesAtOnce = 256;
constexpr size_t kCacheLine = 64;

// Ids are unique within the process, over all loops, and never reused. Relaxed: only uniqueness matters.
std::atomic<uint64_t> next_client_id{1};

int64_t Nanoseconds(steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

EventLoop::EventLoop(const Environment& commands, const protocol::RequestLimits& limits, const NetSettings& settings)
    : commands_(commands),
      settings_(settings),
      context_(ASIO_CONCURRENCY_HINT_UNSAFE_IO),
      keep_running_(context_.get_executor()),
      dispatcher_(commands),
      surroundings_{dispatcher_, *commands.clients, commands.durability, limits, settings.output_limit_bytes},
      scratch_(std::make_unique<std::array<char, kScratchBytes>>()),
      retry_timer_(context_),
      drain_timer_(context_) {}

EventLoop::~EventLoop() { Join(); }

void EventLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

// Work that runs out of memory has dealt with its own connection; the others continue.
void EventLoop::Run() {
  core::NameThread("loop");
  core::RequestShortSlices();
  core::ChangeMeter::Count(0);  // takes what it needs now
  while (true) {
    try {
      context_.run();
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(core::kOutOfMemoryPause);
    }
  }
}

void EventLoop::Post(std::function<void()> work) {
  const core::LockGuard lock(mutex_);
  if (!is_woken_) {
    asio::post(context_, [this] {
      has_posted_ = true;
      BeginRound();
    });
  }
  is_woken_ = true;
  posted_.push_back(std::move(work));
}

// ---- rounds

// Handlers of what is ready already run before what is posted here.
void EventLoop::BeginRound() {
  if (std::exchange(in_round_, true)) return;
  stats().rounds.Begin(Nanoseconds(steady_clock::now()));
  asio::post(context_, InPlace(round_memory_, [this] { Round(); }));
}

// An exception ends the round, and the next one continues after what threw it.
void EventLoop::Round() {
  try {
    ServeQueue();
    RunPosted();
    Deliver();
  } catch (const std::bad_alloc&) {
    EndRound();
    throw;
  }
  EndRound();
}

void EventLoop::EndRound() {
  const int64_t took_ns = stats().rounds.End(Nanoseconds(steady_clock::now()));
  if (commands_.monitoring != nullptr) commands_.monitoring->RecordRound(took_ns);
  in_round_ = false;
  if (HasWork()) BeginRound();
  StopIfDrained();
}

void EventLoop::RunPosted() {
  if (running_.empty() && std::exchange(has_posted_, false)) {
    const core::LockGuard lock(mutex_);
    running_.swap(posted_);
    is_woken_ = false;
  }
  if (running_.empty()) return;
  const Time end = steady_clock::now() + kTurn;
  do {
    const std::function<void()> work = std::move(running_.front());
    running_.pop_front();
    work();
  } while (!running_.empty() && steady_clock::now() < end);
}

void EventLoop::Queue(std::shared_ptr<Connection> connection) {
  if (connection->is_queued) return;
  queue_.push_back(std::move(connection));
  queue_.back()->is_queued = true;
  BeginRound();
}

void EventLoop::ServeQueue() {
  if (queue_.empty()) return;
  const size_t last = queue_.size();  // those that are queued meanwhile have their turn in the next round
  const Time end = steady_clock::now() + kTurn;
  do {
    ServeGroup(ReceiveGroup(last, end));
  } while (next_ < last && steady_clock::now() < end);
  // The rest moves to the front once it is no longer than the part that was served, so each connection moves once.
  if (next_ < queue_.size() - next_) return;
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<ptrdiff_t>(next_));
  next_ = 0;
}

// Takes connections from the queue, up to `last`, until a group is complete. Returns its size.
size_t EventLoop::ReceiveGroup(size_t last, Time end) {
  const std::span<char> scratch(*scratch_);
  size_t used = 0;
  size_t size = 0;
  while (next_ < last && size < kGroup && used < kGroupBytes) {
    Connection& connection = *queue_[next_++];
    connection.is_queued = false;
    Workspace& workspace = workspaces_[size];
    if (connection.BeginTurn(scratch.subspan(used), workspace)) {
      group_[size++] = &connection;
      const auto received = static_cast<size_t>(workspace.input.data() - scratch.data());
      if (received < scratch.size())
        used = (received + workspace.input.size() + kCacheLine - 1) / kCacheLine * kCacheLine;
    } else if (steady_clock::now() >= end) {
      break;  // handshakes and closing take long, compared with a command
    }
  }
  return size;
}

void EventLoop::ServeGroup(size_t size) {
  for (size_t i = 0; i < size; ++i) group_[i]->Parse(workspaces_[i]);
  for (size_t i = 0; i < size; ++i) group_[i]->Run(workspaces_[i]);
  dispatcher_.Forget();
  for (size_t i = 0; i < size; ++i) {
    group_[i]->EndTurn(workspaces_[i]);
    workspaces_[i].ClearReply(i == 0 ? kReplyBytes : kOtherReplyBytes);
  }
}

void EventLoop::Deliver() {
  if (deliveries_.empty()) return;
  const Time end = steady_clock::now() + kTurn;
  size_t left = deliveries_.size();
  do {
    const std::shared_ptr<Connection> connection = std::move(deliveries_.front());
    deliveries_.pop_front();
    connection->DeliverMessages();
  } while (--left > 0 && steady_clock::now() < end);
}

void EventLoop::Join() {
  if (thread_.joinable()) thread_.join();
}

void EventLoop::Adopt(Accepted accepted) {
  auto shared = std::make_shared<Accepted>(std::move(accepted));  // a std::function is copyable
  Post([this, shared] { Serve(std::move(*shared)); });
}

void EventLoop::Serve(Accepted accepted) {
  if (draining_) return;
  auto record = std::make_shared<ClientRecord>(next_client_id.fetch_add(1, std::memory_order_relaxed),
                                               std::move(accepted.address), std::move(accepted.local_address),
                                               clock().MonotonicMs(), accepted.is_local);
  LoopStats::Add(stats().connections_accepted, 1);
  if (accepted.socket.tls() != nullptr) LoopStats::Add(stats().tls_connections_accepted, 1);
  spdlog::debug("Client id={} addr={} connected", record->id, record->address);
  auto connection = std::make_shared<Connection>(accepted.socket.ReleaseTls(), std::move(accepted.slot), record, *this);
  record->close = connection->Closer();
  commands_.clients->Add(record);
  core::RollBack gone([&, id = record->id] { commands_.clients->Remove(id); });
  connection->slot_in_loop = connections_.size();
  connections_.push_back(connection);
  gone.Dismiss();
  connection->Start(accepted.socket.ReleaseDescriptor());
}

void EventLoop::Remove(Connection& connection) {
  commands_.clients->Remove(connection.client().id);
  spdlog::debug("Client id={} addr={} closed", connection.client().id, connection.client().address);
  // The last one takes its place. What has called keeps the connection.
  const size_t place = connection.slot_in_loop;
  connections_[place].swap(connections_.back());
  connections_[place]->slot_in_loop = place;
  connections_.pop_back();
}

// ---- postponed commands

void EventLoop::Postpone(const std::shared_ptr<Connection>& connection) {
  postponed_.push_back(connection);
  if (postponed_.size() == 1) WaitToRetry();
}

// A timer that is not waited on ends no wait, so this goes on until there is memory.
template <class Handler>
void EventLoop::WaitFor(asio::steady_timer& timer, milliseconds time, HandlerMemory& memory, Handler handler) {
  core::UntilThereIsMemory([&] {
    timer.expires_after(time);
    timer.async_wait(InPlace(memory, [handler](const asio::error_code& cancelled) {
      if (!cancelled) handler();
    }));
  });
}

void EventLoop::WaitToRetry() {
  WaitFor(retry_timer_, kRetryInterval, retry_memory_, [this] { RetryPostponed(); });
}

// Those that still have to wait go to the end of the queue again, after those that were not tried.
void EventLoop::RetryPostponed() {
  BeginRound();
  for (size_t left = std::min(postponed_.size(), kRetriesAtOnce); left > 0; --left) {
    const std::shared_ptr<Connection> connection = postponed_.front().lock();
    postponed_.pop_front();
    if (connection != nullptr) connection->Retry();
  }
  if (!postponed_.empty()) WaitToRetry();
}

// ---- all connections

template <class Visit>
void EventLoop::ForEachConnection(Visit&& visit) {
  // From the end: what takes the place of a removed connection was visited already.
  for (size_t i = connections_.size(); i-- > 0;) {
    const std::shared_ptr<Connection> connection = connections_[i];
    visit(*connection);
  }
}

void EventLoop::CloseOverdue() {
  Post([this] {
    const int64_t timeout_s = settings_.timeout_s.load(std::memory_order_relaxed);
    const int64_t now_ms = clock().MonotonicMs();
    ForEachConnection([=](Connection& connection) {
      connection.EnforceHandshakeTime(now_ms);
      if (timeout_s != 0 && connection.IdleSince(now_ms - timeout_s * 1000)) {
        connection.Abort("it was idle for longer than the timeout");
      }
    });
  });
}

void EventLoop::Drain(milliseconds patience) {
  Post([this, patience] { BeginDrain(patience); });
}

void EventLoop::BeginDrain(milliseconds patience) {
  draining_ = true;
  commands_.clients->pause.Cancel();  // what clients have sent is to be answered
  commands_.clients->draining.store(true, std::memory_order_relaxed);
  WaitFor(drain_timer_, patience, drain_memory_, [this] { EndDrain(); });
  ForEachConnection([](Connection& connection) { connection.Drain(); });
}

void EventLoop::EndDrain() {
  ForEachConnection([](Connection& connection) {
    connection.Abort("the server is stopping, and its replies could not be sent in time");
  });
  StopIfDrained();
}

// Operations of connections that were closed end before run() returns.
void EventLoop::StopIfDrained() {
  if (!draining_ || !connections_.empty()) return;
  keep_running_.reset();
  retry_timer_.cancel();
  drain_timer_.cancel();
}

}  // namespace bitsieve::server
