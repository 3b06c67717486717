// The kernel for every processor.
#include "core/families/ribbon/ribbon_kernel_loops.h"

namespace bitsieve::core {

extern const RibbonKernel kPortableRibbonKernel;
const RibbonKernel kPortableRibbonKernel{"portable", MayContainLoop<OneByOne>, SubstituteLoop<OneByOne>};

}  // namespace bitsieve::core
