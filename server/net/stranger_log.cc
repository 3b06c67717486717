#include "server/net/stranger_log.h"

#include <spdlog/spdlog.h>

#include <atomic>

#include "core/base/clock.h"

namespace bitsieve::server {
namespace {

class OnceAMinute {
 public:
  bool IsDue(int64_t now_ms) {
    int64_t next = next_ms_.load(std::memory_order_relaxed);
    return now_ms >= next && next_ms_.compare_exchange_strong(next, now_ms + 60'000);
  }

 private:
  std::atomic<int64_t> next_ms_{INT64_MIN};
};

}  // namespace

void LogRefusal(const std::string& door, std::string_view why, bool is_told) {
  static OnceAMinute warned;
  const bool is_due = !is_told && warned.IsDue(core::SystemClock().MonotonicMs());
  spdlog::log(is_due ? spdlog::level::warn : spdlog::level::debug, "Refused a connection to {}: {}", door, why);
}

void LogFailedHandshake(const ClientRecord& client, const std::string& reason, int64_t now_ms) {
  static OnceAMinute warned;
  const bool is_due = warned.IsDue(now_ms);
  spdlog::log(is_due ? spdlog::level::warn : spdlog::level::debug,
              "Closing client id={} addr={}: not a TLS connection: {}{}", client.id, client.address, reason,
              is_due ? " (further ones are not logged for a minute, except at debug)" : "");
}

void LogHttp(const ClientRecord& client, int64_t now_ms) {
  static OnceAMinute warned;
  if (!warned.IsDue(now_ms)) return;
  spdlog::warn(
      "Possible SECURITY ATTACK: client id={} addr={} sent POST or Host:, as when a web page makes a browser talk to "
      "this port; it is closed (further attempts are not logged for a minute)",
      client.id, client.address);
}

}  // namespace bitsieve::server
