#include "server/dispatch/keyspace_events.h"

#include <new>
#include <string>

namespace bitsieve::server {
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
  try {
    std::string channel;
    if ((wanted & kOnKeyspace) && kKeyspacePrefix.size() + name.size() <= PubSub::kMaxChannelBytes) {
      pub_sub_.Publish(channel.append(kKeyspacePrefix).append(name), event);
    }
    channel.clear();
    if (wanted & kOnKeyevent) pub_sub_.Publish(channel.append(kKeyeventPrefix).append(event), name);
  } catch (const std::bad_alloc&) {
    // The change has been made; delivery of a single event is not guaranteed to subscribers anyway.
  }
}

}  // namespace bitsieve::server
