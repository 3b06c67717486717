#include "server/process/signals.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

#include "core/base/out_of_memory.h"

namespace bitsieve::server {
namespace {

struct StopSignal {
  int number;
  const char* name;
};

// SIGPWR: the power is about to fail. SIGXCPU: the limit of processor time is near.
constexpr StopSignal kStopSignals[] = {
    {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGQUIT, "SIGQUIT"}, {SIGPWR, "SIGPWR"}, {SIGXCPU, "SIGXCPU"}};
// SIGPIPE and SIGXFSZ are reported by the call that causes them; the others have no meaning here, SIGHUP until Await.
constexpr int kIgnoredSignals[] = {SIGPIPE, SIGXFSZ, SIGUSR1,   SIGUSR2, SIGALRM,
                                   SIGPROF, SIGHUP,  SIGVTALRM, SIGIO,   SIGSTKFLT};

void IgnoreUnlessHandled(int signal) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) std::signal(signal, SIG_IGN);
}

const char* NameOf(int signal) {
  const auto found = std::find_if(std::begin(kStopSignals), std::end(kStopSignals),
                                  [signal](const StopSignal& each) { return each.number == signal; });
  return found == std::end(kStopSignals) ? "a signal" : found->name;
}

}  // namespace

// Without its handler SIGHUP would end the process: it is held back until it is ignored.
Signals::~Signals() {
  sigset_t hangup;
  sigset_t before;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, &before);
  asio::error_code ignored;
  hangup_.clear(ignored);
  std::signal(SIGHUP, SIG_IGN);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Signals::IgnoreOthers() {
  for (const int signal : kIgnoredSignals) IgnoreUnlessHandled(signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) IgnoreUnlessHandled(signal);
}

void Signals::LeaveToOtherThreads() {
  sigset_t left;
  sigemptyset(&left);
  sigaddset(&left, SIGHUP);
  for (const StopSignal& signal : kStopSignals) sigaddset(&left, signal.number);
  pthread_sigmask(SIG_BLOCK, &left, nullptr);
}

void Signals::Await(std::function<void(const char* signal)> on_stop, std::function<void()> on_hangup) {
  on_stop_ = std::move(on_stop);
  on_hangup_ = std::move(on_hangup);
  for (const StopSignal& signal : kStopSignals) stop_signals_.add(signal.number);
  stop_signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (!error) on_stop_(NameOf(signal));
  });
  hangup_.add(SIGHUP);
  AwaitHangup();
}

void Signals::AwaitHangup() {
  core::UntilThereIsMemory([this] {
    hangup_.async_wait([this](const asio::error_code& error, int) {
      if (error) return;
      on_hangup_();
      AwaitHangup();
    });
  });
}

void Signals::StopAwaiting() {
  asio::error_code ignored;
  stop_signals_.clear(ignored);
}

}  // namespace bitsieve::server
