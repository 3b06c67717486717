// signals.h: what the signals of the system mean to the server: an orderly stop, a new log file, or nothing. None of
// them ends the process without an orderly stop, except for a second signal to stop, and SIGKILL. Confined to the
// thread that runs the io_context.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <functional>

namespace bitsieve::server {

class Signals {
 public:
  explicit Signals(asio::io_context& context) : stop_signals_(context), hangup_(context) {}
  // The last thread of the process. SIGHUP is ignored afterwards.
  ~Signals();

  // Signals that would end the process and mean nothing to a server are ignored from here on, for the whole process.
  // A handler installed by other code, such as a profiler, stays.
  static void IgnoreOthers();
  // The calling thread and those it starts take no signals to stop and no SIGHUP from here on. For threads that end
  // soon: a sanitizer loses a signal that reaches a thread in its last moments.
  static void LeaveToOtherThreads();
  // `on_stop` is called once, with the name of the signal; `on_hangup` at every SIGHUP while the io_context runs. They
  // do not throw.
  void Await(std::function<void(const char* signal)> on_stop, std::function<void()> on_hangup);
  // From now on a signal to stop ends the process at once. SIGHUP stays without effect.
  void StopAwaiting();

 private:
  void AwaitHangup();

  std::function<void(const char* signal)> on_stop_;
  std::function<void()> on_hangup_;
  asio::signal_set stop_signals_;
  asio::signal_set hangup_;
};

}  // namespace bitsieve::server
