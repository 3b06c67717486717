// reactor.h: what the thread of an event loop waits for: sockets that became readable or writable, and work that other
// threads hand over.
//
// A socket is registered once, for both directions, and reported when its state changes (edge-triggered). So a command
// costs no system call besides receiving and sending; the price is that a watcher remembers that there
// is more to read. docs/decisions/event_loop.md has the measurements.
//
// Post() may be called from any thread; everything else is confined to the loop's thread.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "core/base/descriptor.h"
#include "core/base/mutex.h"
#include "server/net/socket.h"
#include "server/session/turn.h"

namespace bitsieve::server {

class Reactor {
 public:
  struct Readiness {
    bool readable;  // there are bytes, the end of the stream, or an error
    bool writable;
    bool ended;  // the other side sends no more, or the connection is broken
  };
  class Watcher {
   public:
    virtual void OnReady(Readiness readiness) = 0;

   protected:
    ~Watcher() = default;
  };

  // Throws std::system_error if the system has no descriptors left.
  Reactor();

  // Reports the socket's state to `watcher`, now and whenever it changes, until the socket is closed; `watcher` lives
  // until the round that follows. Throws std::bad_alloc if the system has no memory for it.
  void Watch(const Socket& socket, Watcher& watcher);
  // Runs `work` on the loop's thread, in the order of the calls. Throws std::bad_alloc.
  void Post(std::function<void()> work);
  // A round is both of these. Waits at most `patience`, without limit if there is none; returns when it was over.
  std::chrono::steady_clock::time_point Wait(std::optional<std::chrono::milliseconds> patience);
  // Reports what is ready, and runs what was posted, for kTurn at most: the rest has its turn in the next round, after
  // what is ready by then. An exception ends the round, and the next one continues after what threw it.
  void Work();

 private:
  static constexpr size_t kEvents = 128;  // reported at once

  void Report();
  void RunPosted();

  const core::Descriptor epoll_;
  const core::Descriptor wakeup_;  // an eventfd: written to end a wait
  std::array<epoll_event, kEvents> events_;
  size_t next_event_ = 0;
  size_t event_count_ = 0;
  std::deque<std::function<void()>> running_;

  // Sequentially consistent: either who posts sees that the loop is about to wait, or the loop sees what was posted.
  std::atomic<bool> waiting_{false};
  std::atomic<bool> has_posted_{false};
  core::Mutex mutex_;
  std::deque<std::function<void()>> posted_ BITSIEVE_GUARDED_BY(mutex_);
};

}  // namespace bitsieve::server
