#include "core/base/thread_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace bitsieve::core {
namespace {

// The argument of the system calls below; the C library has no name for it.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

}  // namespace

void RequestShortSlices() {
  constexpr uint64_t kSliceNs = 500'000;
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  constexpr uint32_t kOther = 0, kBatch = 3;
  if (attributes.policy != kOther && attributes.policy != kBatch) return;  // another policy was set on purpose
  attributes.slice_ns = kSliceNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace bitsieve::core
