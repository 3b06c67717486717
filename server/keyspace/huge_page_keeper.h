// huge_page_keeper.h: the thread that makes huge pages of what filters use. See core/memory/huge_pages.h. It looks
// often while there is something to make, and rarely else. Made once serving begins. Thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "core/base/mutex.h"
#include "core/base/thread_name.h"
#include "core/memory/huge_pages.h"

namespace bitsieve::server {

class HugePageKeeper {
 public:
  HugePageKeeper() : thread_([this] { Run(); }) { core::HugePages::BeginKeeping(); }
  HugePageKeeper(const HugePageKeeper&) = delete;
  HugePageKeeper& operator=(const HugePageKeeper&) = delete;
  ~HugePageKeeper() {
    core::HugePages::EndKeeping();
    {
      const core::LockGuard lock(mutex_);
      stopping_ = true;
    }
    wake_.NotifyAll();
    thread_.join();
  }

 private:
  static constexpr std::chrono::milliseconds kShortest{500};
  static constexpr std::chrono::milliseconds kLongest{8'000};
  // Between two pages: making one holds up threads that map or first touch memory, for 2 to 7 ms.
  static constexpr std::chrono::milliseconds kPause{10};

  void Run() {
    core::NameThread("huge-pages");
    for (std::chrono::milliseconds interval = kShortest; Sleep(interval);) {
      uint64_t made = 0;
      try {
        made = core::HugePages::MakeAll([this] { return Sleep(kPause); });
      } catch (const std::bad_alloc&) {
        made = 0;  // another time
      }
      interval = made != 0 ? kShortest : std::min(2 * interval, kLongest);
    }
  }
  // False if it is to end.
  bool Sleep(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    const core::LockGuard lock(mutex_);
    while (!stopping_ && wake_.WaitUntil(mutex_, until)) continue;
    return !stopping_;
  }

  core::Mutex mutex_;
  core::ConditionVariable wake_;
  bool stopping_ BITSIEVE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace bitsieve::server
