#include "server/process/service_manager.h"

#include <spdlog/spdlog.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#include "core/base/thread_name.h"
#include "server/process/signals.h"

namespace bitsieve::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kNotifyInterval = std::chrono::seconds(1);
// Longer than a thread may wait for a loaded machine between two messages.
constexpr const char* kExtendTimeout = "EXTEND_TIMEOUT_USEC=30000000";
// A service manager that takes no messages must not stop the server.
constexpr timeval kSendTimeout{1, 0};

uint64_t MonotonicMicroseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_nsec) / 1'000;
}

// WATCHDOG_PID says whom it is meant for; children inherit the variables.
std::chrono::microseconds WatchdogOfThisProcess() {
  const char* pid = std::getenv("WATCHDOG_PID");
  const char* usec = std::getenv("WATCHDOG_USEC");
  if (usec == nullptr || (pid != nullptr && pid != std::to_string(getpid()))) return {};
  return std::chrono::microseconds(std::strtoull(usec, nullptr, 10));
}

}  // namespace

ServiceManager::ServiceManager() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  OpenSocket(path);
  if (socket_.get() < 0) return;
  watchdog_ = WatchdogOfThisProcess();
  thread_ = std::thread([this] { Run(); });
}

ServiceManager::~ServiceManager() {
  {
    const core::LockGuard lock(mutex_);
    ending_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

// A path, or "@name" in Linux's abstract namespace, whose first byte is 0.
void ServiceManager::OpenSocket(const char* path) {
  const size_t length = std::strlen(path);
  if ((path[0] != '/' && path[0] != '@') || length >= sizeof address_.sun_path) {
    spdlog::warn("NOTIFY_SOCKET is ignored: it is neither an absolute path nor @ with a name, of at most {} bytes",
                 sizeof address_.sun_path - 1);
    return;
  }
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, path, length);
  if (path[0] == '@') address_.sun_path[0] = '\0';
  address_bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  socket_ = core::Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
}

// A message that is lost is missed by the service manager alone, which has timeouts for it.
void ServiceManager::Send(const std::string& message) const {
  if (socket_.get() < 0) return;
  const auto* address = reinterpret_cast<const sockaddr*>(&address_);
  if (::sendto(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL, address, address_bytes_) >= 0) return;
  spdlog::debug("The service manager cannot be notified: {}", std::strerror(errno));
}

void ServiceManager::Loading(Progress progress) {
  const core::LockGuard lock(mutex_);
  progress_ = std::move(progress);
  SendProgress();
}

void ServiceManager::Ready(std::string_view status, Probe probe) {
  const core::LockGuard lock(mutex_);
  progress_ = nullptr;
  probe_ = std::move(probe);
  status_ = status;
  Send("READY=1\nSTATUS=" + status_);
}

void ServiceManager::Reloading() {
  const core::LockGuard lock(mutex_);
  if (probe_ == nullptr) return;
  Send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(MonotonicMicroseconds()) + "\nSTATUS=Reloading");
}

void ServiceManager::Reloaded() {
  const core::LockGuard lock(mutex_);
  if (probe_ == nullptr) return;
  Send("READY=1\nSTATUS=" + status_);
}

void ServiceManager::Stopping(Progress progress) {
  const core::LockGuard lock(mutex_);
  probe_ = nullptr;
  progress_ = std::move(progress);
  Send("STOPPING=1");
  SendProgress();
}

// The watchdog's messages go with it: what stops is no longer proved to be alive, and must not be killed for that.
void ServiceManager::SendProgress() {
  Send("STATUS=" + progress_() + "\n" + kExtendTimeout + (watchdog_.count() == 0 ? "" : "\nWATCHDOG=1"));
}

void ServiceManager::BeginProbe() {
  if (watchdog_.count() == 0 || probing_) return;
  probing_ = true;
  try {
    probe_([this] { OnAlive(); });
  } catch (const std::bad_alloc&) {
    probing_ = false;
  }
}

void ServiceManager::OnAlive() {
  const core::LockGuard lock(mutex_);
  probing_ = false;
  Send("WATCHDOG=1");
}

void ServiceManager::Run() {
  core::NameThread("service");
  Signals::LeaveToOtherThreads();
  const Interval interval = watchdog_.count() == 0 ? kNotifyInterval : std::min(kNotifyInterval, watchdog_ / 3);
  const core::LockGuard lock(mutex_);
  while (!ending_) {
    // Woken to end alone; waking early is one message too many.
    (void)wake_.WaitUntil(mutex_, Clock::now() + interval);
    if (ending_) return;
    try {
      if (progress_ != nullptr) SendProgress();
      if (probe_ != nullptr) BeginProbe();
    } catch (const std::bad_alloc&) {
      continue;  // the next message may find memory
    }
  }
}

}  // namespace bitsieve::server
