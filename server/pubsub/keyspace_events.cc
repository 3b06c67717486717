#include "server/pubsub/keyspace_events.h"

#include <chrono>
#include <new>
#include <string>
#include <utility>

#include "core/base/roll_back.h"

namespace bitsieve::server {

using namespace commands;

namespace {

constexpr std::string_view kKeyspacePrefix = "__keyspace@0__:";
constexpr std::string_view kKeyeventPrefix = "__keyevent@0__:";

constexpr uint32_t Bit(EventClass event_class) { return static_cast<uint32_t>(event_class); }

}  // namespace

void KeyspaceEvents::Configure(std::string_view letters) {
  uint32_t wanted = 0;
  for (const char letter : letters) {
    switch (letter) {
      case 'K':
        wanted |= kOnKeyspace;
        break;
      case 'E':
        wanted |= kOnKeyevent;
        break;
      case 'g':
        wanted |= Bit(EventClass::kGeneric);
        break;
      case 'x':
        wanted |= Bit(EventClass::kExpired);
        break;
      case 'd':
        wanted |= Bit(EventClass::kFilter);
        break;
      case 'n':
        wanted |= Bit(EventClass::kNew);
        break;
      case 'A':  // all but n, as in Redis
        wanted |= Bit(EventClass::kGeneric) | Bit(EventClass::kExpired) | Bit(EventClass::kFilter);
        break;
      default:
        break;
    }
  }
  // Without a channel to publish on, nothing is wanted.
  if ((wanted & (kOnKeyspace | kOnKeyevent)) == 0) wanted = 0;
  wanted_.store(wanted, std::memory_order_relaxed);
}

void KeyspaceEvents::PublishWanted(std::string_view event, std::string_view name) noexcept {
  if (!pub_sub_.AnySubscribers()) return;
  const uint32_t wanted = wanted_.load(std::memory_order_relaxed);
  const auto joined = [](std::string_view prefix, std::string_view rest) { return std::string(prefix).append(rest); };
  try {
    if ((wanted & kOnKeyspace) && kKeyspacePrefix.size() + name.size() <= PubSub::kMaxChannelBytes) {
      Send({joined(kKeyspacePrefix, name), std::string(event)});
    }
    if (wanted & kOnKeyevent) Send({joined(kKeyeventPrefix, event), std::string(name)});
  } catch (const std::bad_alloc&) {
    // The change has been made; delivery of a single event is not guaranteed to subscribers anyway.
  }
}

void KeyspaceEvents::Send(Event event) {
  if (stopping_.load(std::memory_order_relaxed)) return;
  if (workers_ == nullptr) {
    pub_sub_.Publish(event.channel, event.payload);
  } else if (waiting_bytes_.load(std::memory_order_relaxed) != 0 ||
             !pub_sub_.TryPublish(event.channel, event.payload)) {
    Enqueue(std::move(event));
  }
}

// An event that no worker would publish does not stay: what throws has left the queue as it was.
void KeyspaceEvents::Enqueue(Event event) {
  const size_t bytes = event.bytes();
  const core::LockGuard lock(mutex_);
  if (waiting_bytes_.load(std::memory_order_relaxed) + bytes > kMaxBytes) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  waiting_.push_back(std::move(event));
  if (!sending_) {
    core::RollBack back([&] {
      mutex_.AssertHeld();
      waiting_.pop_back();
    });
    StartSending();
    back.Dismiss();
    sending_ = true;
  }
  waiting_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

void KeyspaceEvents::StartSending() {
  workers_->Run(Weight::kMany, [this] { SendWaiting(); });
}

void KeyspaceEvents::SendWaiting() noexcept {
  constexpr std::chrono::milliseconds kTurn{10};  // then other work has its turn
  const auto begin = std::chrono::steady_clock::now();
  while (const Event* const event = Oldest()) {
    try {
      pub_sub_.Publish(event->channel, event->payload);
    } catch (const std::bad_alloc&) {
      // It is lost, as it would be if it had been published at once.
    }
    RemoveOldest();
    if (std::chrono::steady_clock::now() - begin < kTurn) continue;
    try {
      return StartSending();
    } catch (const std::bad_alloc&) {
      continue;  // this thread goes on with them
    }
  }
}

const KeyspaceEvents::Event* KeyspaceEvents::Oldest() {
  const core::LockGuard lock(mutex_);
  sending_ = !waiting_.empty() && !stopping_.load(std::memory_order_relaxed);
  return sending_ ? &waiting_.front() : nullptr;
}

void KeyspaceEvents::RemoveOldest() {
  Event sent;  // outlives the lock
  const core::LockGuard lock(mutex_);
  sent = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_.fetch_sub(sent.bytes(), std::memory_order_relaxed);
}

}  // namespace bitsieve::server
