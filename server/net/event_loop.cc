#include "server/net/event_loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
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
// The most bytes that the reply buffer keeps between batches.
constexpr size_t kReplyCapacity = 1024 * 1024;

// Ids are unique within the process, over all loops, and never reused. Relaxed: only uniqueness matters.
std::atomic<uint64_t> next_client_id{1};

int64_t Nanoseconds(steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

EventLoop::EventLoop(const Environment& commands, const protocol::RequestLimits& limits, const NetSettings& settings)
    : commands_(commands),
      limits_(limits),
      settings_(settings),
      dispatcher_(commands),
      scratch_(std::make_unique<std::array<char, ReadBuffer::kScratchBytes>>()) {}

EventLoop::~EventLoop() { Join(); }

void EventLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

// Work that runs out of memory has dealt with its own connection; the others continue.
void EventLoop::Run() {
  core::NameThread("loop");
  core::RequestShortSlices();
  core::ChangeMeter::Count(0);  // takes what it needs now
  while (!Done()) {
    try {
      Round();
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(core::kOutOfMemoryPause);
    }
  }
}

void EventLoop::Round() {
  stats().rounds.Begin(Nanoseconds(reactor_.Wait(Patience())));
  reactor_.Work();
  VisitEach(unused_, [](Connection& connection) { connection.UseReadiness(); });
  VisitEach(deliveries_, [](Connection& connection) { connection.DeliverMessages(); });
  TakeTurns();
  Time now = steady_clock::now();
  if (retry_time_ <= now) {
    RetryPostponed();
    now = steady_clock::now();
  }
  if (drain_end_ <= now) EndDrain();
  connections_.resize(open_);
  const int64_t took_ns = stats().rounds.End(Nanoseconds(now));
  if (commands_.monitoring != nullptr) commands_.monitoring->RecordRound(took_ns);
}

std::optional<milliseconds> EventLoop::Patience() const {
  if (!unused_.empty() || !deliveries_.empty() || !ready_.empty()) return milliseconds(0);
  const Time next = std::min(retry_time_, drain_end_);
  if (next == Time::max()) return std::nullopt;
  return std::chrono::ceil<milliseconds>(next - steady_clock::now());
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
  auto connection = std::make_shared<Connection>(std::move(accepted.socket), std::move(accepted.slot), record, *this);
  record->close = connection->Closer();
  commands_.clients->Add(record);
  core::RollBack gone([&, id = record->id] { commands_.clients->Remove(id); });
  connections_.push_back(connection);
  std::swap(connections_[open_], connections_.back());
  connection->slot_in_loop = open_++;
  gone.Dismiss();
  connection->Start();
}

void EventLoop::Remove(Connection& connection) {
  commands_.clients->Remove(connection.client().id);
  spdlog::debug("Client id={} addr={} closed", connection.client().id, connection.client().address);
  // The last one takes its place.
  const size_t place = connection.slot_in_loop;
  std::swap(connections_[place], connections_[--open_]);
  connections_[place]->slot_in_loop = place;
}

template <class Visit>
void EventLoop::VisitEach(std::deque<std::shared_ptr<Connection>>& queue, Visit&& visit) {
  if (queue.empty()) return;
  const Time end = steady_clock::now() + kTurn;
  size_t left = queue.size();
  do {
    const std::shared_ptr<Connection> connection = std::move(queue.front());
    queue.pop_front();
    visit(*connection);
  } while (--left > 0 && steady_clock::now() < end);
}

void EventLoop::TakeTurns() {
  if (ready_.empty()) return;
  const Time begin = steady_clock::now();
  do {
    const std::shared_ptr<Connection> connection = std::move(ready_.front());
    ready_.pop_front();
    connection->Continue();
  } while (!ready_.empty() && steady_clock::now() - begin < kTurn);
}

void EventLoop::Postpone(const std::shared_ptr<Connection>& connection) {
  postponed_.push_back(connection);
  if (retry_time_ == Time::max()) retry_time_ = steady_clock::now() + kRetryInterval;
}

// Those that still have to wait go to the end of the queue again, after those that were not tried.
void EventLoop::RetryPostponed() {
  retry_time_ = steady_clock::now() + kRetryInterval;
  for (size_t left = std::min(postponed_.size(), kRetriesAtOnce); left > 0; --left) {
    const std::shared_ptr<Connection> connection = postponed_.front().lock();
    postponed_.pop_front();
    if (connection != nullptr) connection->Retry();
  }
  if (postponed_.empty()) retry_time_ = Time::max();
}

void EventLoop::ClearReply() {
  reply_.clear();
  if (reply_.capacity() > kReplyCapacity) std::string().swap(reply_);
}

template <class Visit>
void EventLoop::ForEachConnection(Visit&& visit) {
  // From the end: what takes the place of a removed connection was visited already.
  for (size_t i = open_; i-- > 0;) {
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
  drain_end_ = steady_clock::now() + patience;
  commands_.clients->pause.Cancel();  // what clients have sent is to be answered
  commands_.clients->draining.store(true, std::memory_order_relaxed);
  ForEachConnection([](Connection& connection) { connection.Drain(); });
}

void EventLoop::EndDrain() {
  ForEachConnection(
      [](Connection& connection) { connection.Abort("the server stops, and its replies were not out in time"); });
}

}  // namespace bitsieve::server
