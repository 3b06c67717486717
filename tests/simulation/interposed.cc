// The functions of the C library that wait, wake, start threads, or read clocks and random numbers. An executable that
// links this file has them in place of those of the C library, and so have the libraries that it uses. In threads of a
// simulation they are the scheduler's; elsewhere they pass the call on.
#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <optional>
#include <random>

#include "tests/simulation/real_calls.h"
#include "tests/simulation/scheduler.h"

namespace bitsieve::simulation {
namespace {

RealCalls real;

template <class Function>
void Find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// The C library has two kinds of condition variables, and the older ones under the same names.
template <class Function>
void FindOfConditions(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"));
  if (function == nullptr) Find(function, name);
}

void FindAll() {
  Find(real.pthread_create, "pthread_create");
  Find(real.pthread_join, "pthread_join");
  Find(real.pthread_mutex_trylock, "pthread_mutex_trylock");
  Find(real.pthread_mutex_unlock, "pthread_mutex_unlock");
  FindOfConditions(real.pthread_cond_wait, "pthread_cond_wait");
  FindOfConditions(real.pthread_cond_timedwait, "pthread_cond_timedwait");
  Find(real.pthread_cond_clockwait, "pthread_cond_clockwait");
  FindOfConditions(real.pthread_cond_signal, "pthread_cond_signal");
  FindOfConditions(real.pthread_cond_broadcast, "pthread_cond_broadcast");
  Find(real.nanosleep, "nanosleep");
  Find(real.clock_nanosleep, "clock_nanosleep");
  Find(real.clock_gettime, "clock_gettime");
  Find(real.epoll_wait, "epoll_wait");
  Find(real.sched_yield, "sched_yield");
  Find(real.timerfd_create, "timerfd_create");
  Find(real.getentropy, "getentropy");
  Find(real.syscall, "syscall");
  Find(real.pthread_mutex_lock, "pthread_mutex_lock");  // last: it shows that all were found
}

// Futexes are what std::future, std::atomic::wait and the guards of static objects are made of.
long CallFutex(Scheduler& scheduler, const uint32_t* address, int operation, uint32_t value, const timespec* time) {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT: {  // for a time
      std::optional<int64_t> deadline;
      if (time != nullptr) deadline = scheduler.now_ns() + time->tv_sec * 1'000'000'000 + time->tv_nsec;
      return scheduler.WaitForFutex(address, value, deadline);
    }
    case FUTEX_WAIT_BITSET: {  // until a time
      std::optional<int64_t> deadline;
      const clockid_t clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
      if (time != nullptr) deadline = scheduler.DeadlineOf(clock, *time);
      return scheduler.WaitForFutex(address, value, deadline);
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return scheduler.WakeFutex(address, static_cast<int>(value));
    default:
      errno = ENOSYS;
      return -1;
  }
}

}  // namespace

const RealCalls& Real() {
  if (real.pthread_mutex_lock == nullptr) FindAll();
  return real;
}

}  // namespace bitsieve::simulation

using bitsieve::simulation::CallFutex;
using bitsieve::simulation::Real;
using bitsieve::simulation::Scheduler;

extern "C" {

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->CreateThread(handle, attributes, start, argument);
  return Real().pthread_create(handle, attributes, start, argument);
}

int pthread_join(pthread_t handle, void** result) {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->JoinThread(handle, result);
  return Real().pthread_join(handle, result);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->LockMutex(mutex);
  return Real().pthread_mutex_lock(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->UnlockMutex(mutex);
  return Real().pthread_mutex_unlock(mutex);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->WaitForCondition(condition, mutex, {});
  return Real().pthread_cond_wait(condition, mutex);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  if (Scheduler* scheduler = Scheduler::Current()) {
    return scheduler->WaitForCondition(condition, mutex, scheduler->DeadlineOf(clock, *time));
  }
  return Real().pthread_cond_clockwait(condition, mutex, clock, time);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  if (Scheduler* scheduler = Scheduler::Current()) {
    return scheduler->WaitForCondition(condition, mutex, scheduler->DeadlineOf(CLOCK_REALTIME, *time));
  }
  return Real().pthread_cond_timedwait(condition, mutex, time);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->NotifyCondition(condition, false), 0;
  return Real().pthread_cond_signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->NotifyCondition(condition, true), 0;
  return Real().pthread_cond_broadcast(condition);
}

int nanosleep(const timespec* time, timespec* left) {
  if (Scheduler* scheduler = Scheduler::Current()) {
    scheduler->SleepUntil(scheduler->now_ns() + time->tv_sec * 1'000'000'000 + time->tv_nsec);
    return 0;
  }
  return Real().nanosleep(time, left);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (Scheduler* scheduler = Scheduler::Current()) {
    const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
    scheduler->SleepUntil(is_absolute ? scheduler->DeadlineOf(clock, *time)
                                      : scheduler->now_ns() + time->tv_sec * 1'000'000'000 + time->tv_nsec);
    return 0;
  }
  return Real().clock_nanosleep(clock, flags, time, left);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr && clock != CLOCK_THREAD_CPUTIME_ID) {
    *time = scheduler->ReadClock(clock);
    return 0;
  }
  return Real().clock_gettime(clock, time);
}

int epoll_wait(int epoll, epoll_event* events, int count, int timeout_ms) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return Real().epoll_wait(epoll, events, count, timeout_ms);
  std::optional<int64_t> deadline;
  if (timeout_ms >= 0) deadline = scheduler->now_ns() + int64_t{timeout_ms} * 1'000'000;
  scheduler->Yield();
  while (true) {
    const int ready = Real().epoll_wait(epoll, events, count, 0);
    if (ready != 0 || timeout_ms == 0) return ready;
    if (!scheduler->AwaitReadable(epoll, deadline)) timeout_ms = 0;
  }
}

int sched_yield() noexcept {
  if (Scheduler* scheduler = Scheduler::Current()) return scheduler->Yield(), 0;
  return Real().sched_yield();
}

// Its time is the kernel's. Asio does without it: then its timers are deadlines of epoll_wait.
int timerfd_create(int clock, int flags) noexcept {
  if (Scheduler::Current() == nullptr) return Real().timerfd_create(clock, flags);
  errno = ENOSYS;
  return -1;
}

int getentropy(void* buffer, size_t size) {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) return Real().getentropy(buffer, size);
  auto* const bytes = static_cast<char*>(buffer);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(scheduler->RandomNumber());
  return 0;
}

long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  long words[6];
  for (long& word : words) word = va_arg(arguments, long);
  va_end(arguments);
  if (Scheduler* scheduler = Scheduler::Current(); scheduler != nullptr && number == SYS_futex) {
    return CallFutex(*scheduler, reinterpret_cast<const uint32_t*>(words[0]), static_cast<int>(words[1]),
                     static_cast<uint32_t>(words[2]), reinterpret_cast<const timespec*>(words[3]));
  }
  return Real().syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

}  // extern "C"

// The processor has a source of its own, which the C++ library prefers.
std::random_device::result_type std::random_device::_M_getval() {
  if (Scheduler* scheduler = Scheduler::Current()) return static_cast<result_type>(scheduler->RandomNumber());
  result_type value;
  (void)Real().getentropy(&value, sizeof value);
  return value;
}
