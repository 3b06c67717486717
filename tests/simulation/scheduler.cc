#include "tests/simulation/scheduler.h"

#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "tests/simulation/real_calls.h"

namespace bitsieve::simulation {
namespace {

// How much time passes at an interposed call. So loops that wait for a time of day end.
constexpr int64_t kStepNs = 200;
constexpr int64_t kClockStepNs = 40;
// Sockets are looked at once in this many decisions, or when no other thread can run.
constexpr uint64_t kLooksAtSockets = 4;
// Condition variables may wake a thread without a reason: one in this many waits does.
constexpr uint64_t kSpurious = 64;

constexpr int kNoDescriptor = -1;

}  // namespace

struct Scheduler::Thread {
  Scheduler* scheduler = nullptr;
  size_t number = 0;
  pthread_t handle{};
  void* (*start)(void*) = nullptr;
  void* argument = nullptr;
  std::atomic<uint32_t> has_turn{0};

  enum class State : uint8_t { kRunnable, kBlocked, kEnded };
  State state = State::kRunnable;
  // These are set while it is kBlocked.
  const void* on = nullptr;  // a lock, a condition variable, a futex, or a thread to be joined; null: only time
  int descriptor = kNoDescriptor;
  std::optional<int64_t> deadline_ns;
  bool is_overdue = false;  // the deadline ended the wait
};

thread_local constinit Scheduler::Thread* Scheduler::self = nullptr;

Scheduler* Scheduler::Current() { return self == nullptr ? nullptr : self->scheduler; }

Scheduler::Scheduler(uint64_t seed, uint64_t switch_every)
    : order_(seed), numbers_(~seed), switch_every_(switch_every) {
  pthread_key_create(&at_exit_, EndThread);
}

Scheduler::~Scheduler() { pthread_key_delete(at_exit_); }

void Scheduler::Run(const std::function<void()>& main) {
  auto& thread = *threads_.emplace_back(std::make_unique<Thread>());
  thread.scheduler = this;
  thread.handle = pthread_self();
  self = &thread;
  main();
  self = nullptr;
}

// ---- turns

void Scheduler::GiveTurn(Thread& next) {
  ++switches_;
  digest_ = (digest_ ^ next.number ^ static_cast<uint64_t>(now_ns_) << 8) * 0x9e3779b97f4a7c15;
  next.has_turn.store(1, std::memory_order_release);
  (void)Real().syscall(SYS_futex, reinterpret_cast<long>(&next.has_turn), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void Scheduler::AwaitTurn(Thread& thread) {
  while (thread.has_turn.exchange(0, std::memory_order_acquire) == 0) {
    (void)Real().syscall(SYS_futex, reinterpret_cast<long>(&thread.has_turn), FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
  }
}

void Scheduler::MakeDueRunnable() {
  for (const auto& thread : threads_) {
    if (thread->state != Thread::State::kBlocked || !thread->deadline_ns || *thread->deadline_ns > now_ns_) continue;
    thread->state = Thread::State::kRunnable;
    thread->is_overdue = true;
  }
}

bool Scheduler::MakeReadableRunnable() {
  std::vector<pollfd> waits;
  std::vector<Thread*> waiting;
  for (const auto& thread : threads_) {
    if (thread->state != Thread::State::kBlocked || thread->descriptor == kNoDescriptor) continue;
    waits.push_back({.fd = thread->descriptor, .events = POLLIN, .revents = 0});
    waiting.push_back(thread.get());
  }
  if (waits.empty() || poll(waits.data(), waits.size(), 0) <= 0) return false;
  for (size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents != 0) waiting[i]->state = Thread::State::kRunnable;
  }
  return true;
}

bool Scheduler::AdvanceToDeadline() {
  std::optional<int64_t> first;
  for (const auto& thread : threads_) {
    if (thread->state == Thread::State::kBlocked && thread->deadline_ns && (!first || *thread->deadline_ns < *first)) {
      first = thread->deadline_ns;
    }
  }
  if (first && *first > now_ns_) now_ns_ = *first;
  return first.has_value();
}

Scheduler::Thread* Scheduler::ChooseNext() {
  if (++decisions_ % kLooksAtSockets == 0) (void)MakeReadableRunnable();
  while (true) {
    MakeDueRunnable();
    runnable_.clear();
    for (const auto& thread : threads_) {
      if (thread->state == Thread::State::kRunnable) runnable_.push_back(thread.get());
    }
    if (!runnable_.empty()) return runnable_[order_.Below(runnable_.size())];
    if (!MakeReadableRunnable() && !AdvanceToDeadline()) ReportDeadlock();
  }
}

void Scheduler::Yield() {
  now_ns_ += kStepNs;
  if (!order_.OneIn(switch_every_)) return;
  Thread& own = *self;
  Thread* const next = ChooseNext();
  if (next == &own) return;
  GiveTurn(*next);
  AwaitTurn(own);
}

bool Scheduler::Block(const void* on, int descriptor, std::optional<int64_t> deadline_ns) {
  Thread& own = *self;
  own.on = on;
  own.descriptor = descriptor;
  own.deadline_ns = deadline_ns;
  own.is_overdue = false;
  own.state = Thread::State::kBlocked;
  Thread* const next = ChooseNext();
  if (next != &own) {
    GiveTurn(*next);
    AwaitTurn(own);
  }
  return !own.is_overdue;
}

int Scheduler::Wake(const void* on, int count) {
  int woken = 0;
  while (woken < count) {
    runnable_.clear();
    for (const auto& thread : threads_) {
      if (thread->state == Thread::State::kBlocked && thread->on == on) runnable_.push_back(thread.get());
    }
    if (runnable_.empty()) break;
    runnable_[order_.Below(runnable_.size())]->state = Thread::State::kRunnable;
    ++woken;
  }
  return woken;
}

void Scheduler::ReportDeadlock() const {
  std::fprintf(stderr, "Deadlock: every thread waits for another\n");
  for (const auto& thread : threads_) {
    if (thread->state != Thread::State::kBlocked) continue;
    char name[16] = "";
    pthread_getname_np(thread->handle, name, sizeof name);
    std::fprintf(stderr, "  thread %zu \"%s\" waits for %p\n", thread->number, name, thread->on);
  }
  std::abort();
}

// ---- waiting

void Scheduler::SleepUntil(int64_t deadline_ns) { (void)Block(nullptr, kNoDescriptor, deadline_ns); }

bool Scheduler::AwaitReadable(int descriptor, std::optional<int64_t> deadline_ns) {
  return Block(nullptr, descriptor, deadline_ns);
}

int Scheduler::LockMutex(pthread_mutex_t* mutex) {
  Yield();
  int result;
  while ((result = Real().pthread_mutex_trylock(mutex)) == EBUSY) (void)Block(mutex, kNoDescriptor, {});
  return result;
}

int Scheduler::UnlockMutex(pthread_mutex_t* mutex) {
  const int result = Real().pthread_mutex_unlock(mutex);
  (void)Wake(mutex, INT_MAX);
  Yield();
  return result;
}

int Scheduler::WaitForCondition(pthread_cond_t* condition, pthread_mutex_t* mutex, std::optional<int64_t> deadline_ns) {
  (void)Real().pthread_mutex_unlock(mutex);
  (void)Wake(mutex, INT_MAX);
  bool in_time = true;
  if (order_.OneIn(kSpurious)) {
    Yield();
  } else {
    in_time = Block(condition, kNoDescriptor, deadline_ns);
  }
  while (Real().pthread_mutex_trylock(mutex) == EBUSY) (void)Block(mutex, kNoDescriptor, {});
  return in_time ? 0 : ETIMEDOUT;
}

void Scheduler::NotifyCondition(pthread_cond_t* condition, bool all) {
  (void)Wake(condition, all ? INT_MAX : 1);
  Yield();
}

long Scheduler::WaitForFutex(const uint32_t* address, uint32_t value, std::optional<int64_t> deadline_ns) {
  if (__atomic_load_n(address, __ATOMIC_ACQUIRE) != value) {
    errno = EAGAIN;
    return -1;
  }
  if (Block(address, kNoDescriptor, deadline_ns)) return 0;
  errno = ETIMEDOUT;
  return -1;
}

long Scheduler::WakeFutex(const uint32_t* address, int count) {
  const int woken = Wake(address, count);
  Yield();
  return woken;
}

// ---- threads

int Scheduler::CreateThread(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                            void* argument) {
  auto made = std::make_unique<Thread>();
  Thread& thread = *made;
  thread.scheduler = this;
  thread.number = ++last_number_;
  thread.start = start;
  thread.argument = argument;
  const int error = Real().pthread_create(&thread.handle, attributes, RunThread, &thread);
  if (error != 0) return error;
  *handle = thread.handle;
  threads_.push_back(std::move(made));
  Yield();
  return 0;
}

void* Scheduler::RunThread(void* thread) {
  auto& own = *static_cast<Thread*>(thread);
  own.scheduler->AwaitTurn(own);
  self = &own;
  pthread_setspecific(own.scheduler->at_exit_, thread);
  return own.start(own.argument);
}

// Called after the destructors of thread-local objects, which may take locks.
void Scheduler::EndThread(void* thread) {
  auto& own = *static_cast<Thread*>(thread);
  Scheduler& scheduler = *own.scheduler;
  own.state = Thread::State::kEnded;
  (void)scheduler.Wake(&own, INT_MAX);
  Thread* const next = scheduler.ChooseNext();
  self = nullptr;
  scheduler.GiveTurn(*next);
}

int Scheduler::JoinThread(pthread_t handle, void** result) {
  const auto find = [&] {
    return std::find_if(threads_.begin(), threads_.end(),
                        [&](const auto& thread) { return pthread_equal(thread->handle, handle) != 0; });
  };
  Thread* const thread = find()->get();
  while (thread->state != Thread::State::kEnded) (void)Block(thread, kNoDescriptor, {});
  const int error = Real().pthread_join(handle, result);
  threads_.erase(find());
  return error;
}

// ---- time

int64_t Scheduler::OffsetOf(clockid_t clock) const {
  const bool is_of_the_day = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  // The machine has run for an hour.
  return is_of_the_day ? kEpochNs + wall_offset_ns_ : int64_t{3600} * 1'000'000'000;
}

timespec Scheduler::ReadClock(clockid_t clock) {
  now_ns_ += kClockStepNs;
  const int64_t time = now_ns_ + OffsetOf(clock);
  return {.tv_sec = time / 1'000'000'000, .tv_nsec = time % 1'000'000'000};
}

int64_t Scheduler::DeadlineOf(clockid_t clock, const timespec& time) const {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec - OffsetOf(clock);
}

}  // namespace bitsieve::simulation
