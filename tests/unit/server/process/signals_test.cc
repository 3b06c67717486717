#include "server/process/signals.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace bitsieve::server {
namespace {

// Runs `body` in a process of its own, since what signals mean is a matter of the whole process. Returns how it ended,
// as waitpid does; a body that returns ends it with status 0.
int StatusOf(const std::function<void()>& body) {
  std::fflush(nullptr);  // or the child has the same output to write
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}
bool Survives(const std::function<void()>& body) {
  const int status = StatusOf(body);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
bool IsKilledBy(int signal, const std::function<void()>& body) {
  const int status = StatusOf(body);
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}
// Ends the child as failed.
void Require(bool condition) {
  if (!condition) _exit(1);
}

TEST(SignalsTest, ASignalToStopIsReportedOnceWithItsName) {
  constexpr struct {
    int number;
    const char* name;
  } kSignals[] = {{SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}, {SIGQUIT, "SIGQUIT"}, {SIGPWR, "SIGPWR"}};
  for (const auto& signal : kSignals) {
    EXPECT_TRUE(Survives([&signal] {
      asio::io_context context;
      Signals signals(context);
      std::vector<std::string> stops;
      signals.Await([&stops](const char* name) { stops.emplace_back(name); }, [] {});
      raise(signal.number);
      raise(SIGTERM);  // another one: the stop is under way
      while (stops.empty()) context.run_one();
      context.poll();
      Require(stops == std::vector<std::string>{signal.name});
    })) << signal.name;
  }
}

TEST(SignalsTest, EveryHangupIsReported) {
  EXPECT_TRUE(Survives([] {
    asio::io_context context;
    Signals signals(context);
    int hangups = 0;
    signals.Await([](const char*) { Require(false); }, [&hangups] { ++hangups; });
    for (int i = 1; i <= 3; ++i) {
      raise(SIGHUP);
      while (hangups < i) context.run_one();
    }
    context.poll();
    Require(hangups == 3);
  }));
}

TEST(SignalsTest, ASecondSignalToStopEndsTheProcess) {
  EXPECT_TRUE(IsKilledBy(SIGTERM, [] {
    asio::io_context context;
    Signals signals(context);
    signals.Await([](const char*) {}, [] {});
    signals.StopAwaiting();
    raise(SIGHUP);  // without effect
    raise(SIGTERM);
  }));
}

TEST(SignalsTest, AHangupAfterTheEndIsIgnored) {
  EXPECT_TRUE(Survives([] {
    asio::io_context context;
    {
      Signals signals(context);
      signals.Await([](const char*) {}, [] {});
    }
    raise(SIGHUP);
  }));
  EXPECT_TRUE(IsKilledBy(SIGHUP, [] { raise(SIGHUP); })) << "as it is without any of this";
}

TEST(SignalsTest, SignalsThatMeanNothingAreIgnoredUnlessOtherCodeHandlesThem) {
  EXPECT_TRUE(Survives([] {
    Signals::IgnoreOthers();
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGHUP, SIGRTMIN, SIGRTMAX}) {
      raise(signal);
    }
  }));
  EXPECT_TRUE(Survives([] {
    static volatile std::sig_atomic_t handled = 0;
    std::signal(SIGUSR1, [](int) { handled = 1; });
    Signals::IgnoreOthers();
    raise(SIGUSR1);
    Require(handled == 1);
  }));
  EXPECT_TRUE(IsKilledBy(SIGTERM, [] {
    Signals::IgnoreOthers();
    raise(SIGTERM);
  })) << "a signal to stop is not one of them";
}

TEST(SignalsTest, AThreadThatLeavesThemToOthersTakesNone) {
  EXPECT_TRUE(Survives([] {
    Signals::LeaveToOtherThreads();
    for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) raise(signal);
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) Require(sigismember(&pending, signal) == 1);
  }));
}

}  // namespace
}  // namespace bitsieve::server
