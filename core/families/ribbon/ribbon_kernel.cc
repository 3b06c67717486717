#include "core/families/ribbon/ribbon_kernel.h"

#include <vector>

namespace bitsieve::core {

extern const RibbonKernel kPortableRibbonKernel;
extern const RibbonKernel kPopcntRibbonKernel;
extern const RibbonKernel kAvx512RibbonKernel;

std::span<const RibbonKernel* const> RibbonKernels() {
  static const std::vector<const RibbonKernel*> kernels = [] {
    std::vector<const RibbonKernel*> runnable;
#if defined(BITSIEVE_X86_KERNELS)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq") &&
        __builtin_cpu_supports("popcnt")) {
      runnable.push_back(&kAvx512RibbonKernel);
    }
    if (__builtin_cpu_supports("popcnt")) runnable.push_back(&kPopcntRibbonKernel);
#endif
    runnable.push_back(&kPortableRibbonKernel);
    return runnable;
  }();
  return kernels;
}

}  // namespace bitsieve::core
