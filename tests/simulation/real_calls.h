// real_calls.h: the functions of the C library that interposed.cc replaces, as the C library has them. Thread-safe.
#pragma once

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/types.h>
#include <time.h>

namespace bitsieve::simulation {

struct RealCalls {
  decltype(&::pthread_create) pthread_create;
  decltype(&::pthread_join) pthread_join;
  decltype(&::pthread_mutex_lock) pthread_mutex_lock;
  decltype(&::pthread_mutex_trylock) pthread_mutex_trylock;
  decltype(&::pthread_mutex_unlock) pthread_mutex_unlock;
  decltype(&::pthread_cond_wait) pthread_cond_wait;
  decltype(&::pthread_cond_timedwait) pthread_cond_timedwait;
  decltype(&::pthread_cond_clockwait) pthread_cond_clockwait;
  decltype(&::pthread_cond_signal) pthread_cond_signal;
  decltype(&::pthread_cond_broadcast) pthread_cond_broadcast;
  decltype(&::nanosleep) nanosleep;
  decltype(&::clock_nanosleep) clock_nanosleep;
  decltype(&::clock_gettime) clock_gettime;
  decltype(&::epoll_wait) epoll_wait;
  decltype(&::sched_yield) sched_yield;
  int (*timerfd_create)(int, int);
  int (*getentropy)(void*, size_t);
  long (*syscall)(long, long, long, long, long, long, long);
};

// Finds them when it is first called, which is before any thread has started.
const RealCalls& Real();

}  // namespace bitsieve::simulation
