// service_manager.h: what systemd, or another service manager that understands sd_notify's protocol, learns about the
// server: that it is ready, that it loads, reloads or stops and how far it is, and that it is alive.
//
// Messages are datagrams to the socket that NOTIFY_SOCKET names; without that variable nothing happens, and there is no
// thread. While the server loads or stops, a message each second gives the state and extends the service manager's
// timeout: how long that takes depends on the data, and a restart would begin it again. While it serves, and if
// WATCHDOG_USEC is set, a probe runs through every thread that clients depend on, and WATCHDOG=1 is sent when it has
// come back: a thread that hangs ends the messages.
// Loading, Ready and Stopping are called in this order, by one thread; Reloading and Reloaded by the same.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/descriptor.h"
#include "core/base/mutex.h"

namespace bitsieve::server {

class ServiceManager {
 public:
  // Returns what is shown of a state that lasts; called by a thread of this object.
  using Progress = std::function<std::string()>;
  // Calls `alive` once every thread that has to be alive has run; later, and on any thread.
  using Probe = std::function<void(std::function<void()> alive)>;

  // By the environment. Without a socket that can be reached, nothing is ever sent.
  ServiceManager();
  // No more messages.
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  void Loading(Progress progress);
  void Ready(std::string_view status, Probe probe);
  // Between them nothing else is called. Before Ready they do nothing: what is reloaded then is part of the start.
  void Reloading();
  void Reloaded();
  // The probe is not called from here on.
  void Stopping(Progress progress);

 private:
  using Interval = std::chrono::microseconds;

  void OpenSocket(const char* path);
  void Send(const std::string& message) const;
  void Run();
  void SendProgress() BITSIEVE_REQUIRES(mutex_);
  void BeginProbe() BITSIEVE_REQUIRES(mutex_);
  void OnAlive();

  // Constant after construction.
  core::Descriptor socket_;
  sockaddr_un address_ = {};
  socklen_t address_bytes_ = 0;
  Interval watchdog_{0};  // WATCHDOG=1 is expected within this; 0: it is not expected

  core::Mutex mutex_;
  core::ConditionVariable wake_;
  Progress progress_ BITSIEVE_GUARDED_BY(mutex_);  // of loading or stopping; null while it serves
  Probe probe_ BITSIEVE_GUARDED_BY(mutex_);        // null unless it serves
  std::string status_ BITSIEVE_GUARDED_BY(mutex_);
  bool probing_ BITSIEVE_GUARDED_BY(mutex_) = false;
  bool ending_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bitsieve::server
