// The kernel for x86 processors that count bits in one instruction.
#include "core/families/ribbon/ribbon_kernel_loops.h"

namespace bitsieve::core {

extern const RibbonKernel kPopcntRibbonKernel;
const RibbonKernel kPopcntRibbonKernel{"popcnt", MayContainLoop<OneByOne>, SubstituteLoop<OneByOne>};

}  // namespace bitsieve::core
