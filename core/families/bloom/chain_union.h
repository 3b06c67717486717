// chain_union.h: unites filters that are chains of sub-filters, for the rows of their types; core/filter/filter_union.h
// says what that means. Thread-safe: constants.
#pragma once

#include "core/filter/filter_type.h"

namespace bitsieve::core {

extern const UnionOperations kChainUnion;

}  // namespace bitsieve::core
