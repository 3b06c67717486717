#include "server/net/reactor.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <new>
#include <system_error>
#include <utility>

namespace bitsieve::server {
namespace {

core::Descriptor OrThrow(int descriptor, const char* call) {
  if (descriptor < 0) throw std::system_error(errno, std::system_category(), call);
  return core::Descriptor(descriptor);
}

int Milliseconds(std::optional<std::chrono::milliseconds> patience) {
  if (!patience) return -1;
  return static_cast<int>(std::clamp<int64_t>(patience->count(), 0, INT_MAX));
}

}  // namespace

// Each write to the eventfd is a change of its state, so nothing has to be read from it.
Reactor::Reactor()
    : epoll_(OrThrow(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wakeup_(OrThrow(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wakeup_.get(), &event) != 0) {
    throw std::system_error(errno, std::system_category(), "epoll_ctl");
  }
}

void Reactor::Watch(const Socket& socket, Watcher& watcher) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &watcher;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.descriptor(), &event) != 0) throw std::bad_alloc();
}

void Reactor::Post(std::function<void()> work) {
  {
    const core::LockGuard lock(mutex_);
    posted_.push_back(std::move(work));
    has_posted_.store(true);
  }
  if (waiting_.exchange(false)) eventfd_write(wakeup_.get(), 1);
}

void Reactor::Work() {
  Report();
  RunPosted();
}

std::chrono::steady_clock::time_point Reactor::Wait(std::optional<std::chrono::milliseconds> patience) {
  if (next_event_ != event_count_) return std::chrono::steady_clock::now();
  next_event_ = event_count_ = 0;
  waiting_.store(true);
  const int timeout = has_posted_.load() || !running_.empty() ? 0 : Milliseconds(patience);
  const int count = epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), timeout);
  waiting_.store(false);
  if (count > 0) event_count_ = static_cast<size_t>(count);  // otherwise the time is over, or a signal came
  return std::chrono::steady_clock::now();
}

void Reactor::Report() {
  while (next_event_ < event_count_) {
    const epoll_event event = events_[next_event_++];
    if (event.data.ptr == nullptr) continue;  // woken for what was posted
    const bool ended = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    static_cast<Watcher*>(event.data.ptr)
        ->OnReady({ended || (event.events & EPOLLIN) != 0, (event.events & (EPOLLOUT | EPOLLERR)) != 0, ended});
  }
}

// Work that is posted during the call has its turn in the next round.
void Reactor::RunPosted() {
  if (running_.empty() && has_posted_.load()) {
    const core::LockGuard lock(mutex_);
    running_.swap(posted_);
    has_posted_.store(false);
  }
  if (running_.empty()) return;
  const auto end = std::chrono::steady_clock::now() + kTurn;
  do {
    const std::function<void()> work = std::move(running_.front());
    running_.pop_front();
    work();
  } while (!running_.empty() && std::chrono::steady_clock::now() < end);
}

}  // namespace bitsieve::server
