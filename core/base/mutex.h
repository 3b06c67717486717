// mutex.h: locks that the compiler checks. A member declares which lock protects it (BITSIEVE_GUARDED_BY), a function
// which lock its caller holds (BITSIEVE_REQUIRES). Clang rejects code that does not keep to that (-Wthread-safety); to
// other compilers the annotations are nothing. At run time these are std::mutex and std::condition_variable.
// Thread-safe.
//
// What the analysis does not see: it looks at one function at a time, without constructors and destructors, and takes a
// lambda for a function of its own, which holds nothing. A lambda that is called with a lock held states that first, by
// AssertHeld. Waiting is therefore a loop around Wait, not a lambda given to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define BITSIEVE_THREAD_ANNOTATION(annotation) __attribute__((annotation))
#else
#define BITSIEVE_THREAD_ANNOTATION(annotation)
#endif

// These two mark a class: the first, that it is a lock; the second, that it holds a lock for as long as it lives.
#define BITSIEVE_CAPABILITY(name) BITSIEVE_THREAD_ANNOTATION(capability(name))
#define BITSIEVE_SCOPED_CAPABILITY BITSIEVE_THREAD_ANNOTATION(scoped_lockable)
// Marks a member that is read and written with this lock held.
#define BITSIEVE_GUARDED_BY(lock) BITSIEVE_THREAD_ANNOTATION(guarded_by(lock))
// Each of these marks a function. In this order: the caller holds the lock; the function takes the lock; it tries to
// take the lock, and returns `success` if it did; it releases the lock; it returns this lock; from here on the lock is
// known to be held.
#define BITSIEVE_REQUIRES(...) BITSIEVE_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define BITSIEVE_ACQUIRE(...) BITSIEVE_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define BITSIEVE_TRY_ACQUIRE(success) BITSIEVE_THREAD_ANNOTATION(try_acquire_capability(success))
#define BITSIEVE_RELEASE(...) BITSIEVE_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define BITSIEVE_RETURN_CAPABILITY(lock) BITSIEVE_THREAD_ANNOTATION(lock_returned(lock))
#define BITSIEVE_ASSERT_CAPABILITY(lock) BITSIEVE_THREAD_ANNOTATION(assert_capability(lock))
// Marks a function that is correct in a way the analysis cannot follow; a comment explains how.
#define BITSIEVE_NO_THREAD_SAFETY_ANALYSIS BITSIEVE_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace bitsieve::core {

class BITSIEVE_CAPABILITY("mutex") Mutex {
 public:
  void lock() BITSIEVE_ACQUIRE() { mutex_.lock(); }
  void unlock() BITSIEVE_RELEASE() { mutex_.unlock(); }
  // Serves only the analysis: nothing is checked when the program runs.
  void AssertHeld() const BITSIEVE_ASSERT_CAPABILITY(this) {}

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
};

// Holds a Mutex or a SpinLock.
template <class Lock>
class BITSIEVE_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Lock& lock) BITSIEVE_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;
  ~LockGuard() BITSIEVE_RELEASE() { lock_.unlock(); }

 private:
  Lock& lock_;
};

// Releases a lock that is held, and takes it again at the end.
template <class Lock>
class BITSIEVE_SCOPED_CAPABILITY UnlockGuard {
 public:
  explicit UnlockGuard(Lock& lock) BITSIEVE_RELEASE(lock) : lock_(lock) { lock_.unlock(); }
  UnlockGuard(const UnlockGuard&) = delete;
  UnlockGuard& operator=(const UnlockGuard&) = delete;
  ~UnlockGuard() BITSIEVE_RELEASE() { lock_.lock(); }  // RELEASE of a scope that released a lock ends that release

 private:
  Lock& lock_;
};

class ConditionVariable {
 public:
  void NotifyOne() noexcept { condition_.notify_one(); }
  void NotifyAll() noexcept { condition_.notify_all(); }

  // Waits for a notification, without the mutex. May also return without one.
  void Wait(Mutex& mutex) BITSIEVE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    (void)lock.release();
  }
  // Waits in the same way, until this time at the latest. Returns false once it has come.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time) BITSIEVE_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, time);
    (void)lock.release();
    return status == std::cv_status::no_timeout;
  }

 private:
  std::condition_variable condition_;
};

}  // namespace bitsieve::core
