// scheduler.h: one thread at a time, in an order and at times that a seed determines. The code under test is as it is
// in the server, with its threads, locks, condition variables, sleeps and clocks: interposed.cc replaces the functions
// of the C library below them, in the executable that links it, and brings them here.
//
//   thread calls pthread_mutex_lock, nanosleep, epoll_wait ... --> interposed.cc --> Scheduler: who runs next, and when
//
// Idea        Every thread of a simulation is a real thread, but only the one that has the turn runs; the others sleep
//             in the kernel. At each interposed call the scheduler may give the turn to another, by a random number.
//             A thread that would block gives the turn away until what it waits for is there.
// Time        is simulated. It passes a little at each interposed call, and jumps to the next deadline when all threads
//             wait. A sleep of an hour costs as much as one of a microsecond.
// Sockets     are real Unix sockets, which the kernel serves within the call. A thread that waits for one is asked for
//             by poll(2) without a timeout.
// Same seed   same order, same times, same random numbers of the system, and so the same run: digest() shows it. The
//             address space must not be randomised (main.cc).
//
// Interposed calls are passed through outside of Run and in threads that a simulation does not know.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/random.h"

namespace bitsieve::simulation {

class Scheduler {
 public:
  // `switch_every`: at how many interposed calls a thread gives up its turn, on average, although it could run.
  Scheduler(uint64_t seed, uint64_t switch_every);
  ~Scheduler();

  // Runs `main` and all threads that it starts, which it must join. Not to be nested.
  void Run(const std::function<void()>& main);
  // Returns a hash of which thread had its turn when.
  uint64_t digest() const { return digest_; }
  uint64_t switches() const { return switches_; }
  int64_t now_ns() const { return now_ns_; }
  // Sets the clock of the time of day ahead, or back. Confined to threads of the simulation, as all below.
  void StepWallClock(int64_t ns) { wall_offset_ns_ += ns; }
  int64_t wall_ms() const { return (kEpochNs + now_ns_ + wall_offset_ns_) / 1'000'000; }

  // ---- What threads do

  // The running scheduler, if the calling thread is one of its threads; null otherwise.
  static Scheduler* Current();

  void Yield();
  void SleepUntil(int64_t deadline_ns);
  // Waits until the descriptor is readable. False if the deadline came first.
  bool AwaitReadable(int descriptor, std::optional<int64_t> deadline_ns);
  uint64_t RandomNumber() { return numbers_.Next(); }

  // ---- What interposed.cc calls, with the meaning of the functions of the C library
  int CreateThread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument);
  int JoinThread(pthread_t handle, void** result);
  int LockMutex(pthread_mutex_t* mutex);
  int UnlockMutex(pthread_mutex_t* mutex);
  int WaitForCondition(pthread_cond_t* condition, pthread_mutex_t* mutex, std::optional<int64_t> deadline_ns);
  void NotifyCondition(pthread_cond_t* condition, bool all);
  long WaitForFutex(const uint32_t* address, uint32_t value, std::optional<int64_t> deadline_ns);
  long WakeFutex(const uint32_t* address, int count);
  // Returns the simulated time of a clock of the system. Costs a little of it.
  timespec ReadClock(clockid_t clock);
  // Returns the time of a processor's clock that ticks once in a nanosecond.
  uint64_t ReadTicks() { return static_cast<uint64_t>(now_ns_ += kTickNs); }
  // Returns the simulated time of a deadline on a clock of the system.
  int64_t DeadlineOf(clockid_t clock, const timespec& time) const;

 private:
  struct Thread;
  static constexpr int64_t kTickNs = 10;
  static constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;

  static thread_local Thread* self;

  static void* RunThread(void* thread);
  static void EndThread(void* thread);
  int64_t OffsetOf(clockid_t clock) const;
  // Gives the turn away until `on` is woken, the descriptor is readable, or the deadline has come. False: it has come.
  bool Block(const void* on, int descriptor, std::optional<int64_t> deadline_ns);
  // Ends the wait of up to `count` threads, chosen at random. Returns how many.
  int Wake(const void* on, int count);
  Thread* ChooseNext();
  void MakeDueRunnable();
  bool MakeReadableRunnable();
  bool AdvanceToDeadline();
  void GiveTurn(Thread& next);
  void AwaitTurn(Thread& thread);
  [[noreturn]] void ReportDeadlock() const;

  Random order_;
  Random numbers_;
  const uint64_t switch_every_;
  pthread_key_t at_exit_;
  // Used by the thread that has the turn.
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> runnable_;
  size_t last_number_ = 0;
  int64_t now_ns_ = 0;
  int64_t wall_offset_ns_ = 0;
  uint64_t digest_ = 0;
  uint64_t switches_ = 0;
  uint64_t decisions_ = 0;
};

}  // namespace bitsieve::simulation
