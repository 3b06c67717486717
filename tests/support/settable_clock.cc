// settable_clock.cc: a library for tests to preload: the time of the process's clock is the real time plus the seconds
// in the file that TEST_CLOCK names, an int64_t, which tests change while it runs. Intervals, which are measured by the
// monotonic clock, stay real.
//
// Allocators ask for the time before main, so nothing here allocates or looks up symbols. Thread-safe.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kNone = 0;

// Returns where the seconds are: the file, or a zero if there is none.
const volatile int64_t* MapSeconds() {
  const char* const path = std::getenv("TEST_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* const mapped = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<const volatile int64_t*>(mapped);
}

int64_t Seconds() {
  static std::atomic<const volatile int64_t*> seconds = nullptr;
  const volatile int64_t* mapped = seconds.load(std::memory_order_acquire);
  if (mapped == nullptr) {
    mapped = MapSeconds();  // by several threads at once, if they begin at once: each maps the same file
    seconds.store(mapped, std::memory_order_release);
  }
  return *mapped;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += Seconds();
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now;
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  if (result == 0) *time = {now.tv_sec, now.tv_nsec / 1000};
  return result;
}

time_t time(time_t* result) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
