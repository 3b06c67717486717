#include "core/filters/filter_params.h"

#include <random>
#include <string>

namespace bitsieve::core {

namespace {

tl::unexpected<Error> OutOfRange(const std::string& what) { return Fail(ErrorCode::kInvalidArgument, what); }

bool IsKnown(FilterKind kind) {
  for (const FilterKindRow& row : kFilterKinds) {
    if (row.kind == kind) return true;
  }
  return false;
}

}  // namespace

void ShareForStatedCapacity(FilterParams& params) {
  params.first_link_share = params.scaling() ? kReservedFirstLinkShare : 1;
}

void ShareForGrowth(FilterParams& params) {
  params.first_link_share = params.scaling() ? 1 - params.tightening_ratio : 1;
}

Status Validate(const FilterParams& params) {
  if (!IsKnown(params.kind)) return OutOfRange("filter type must be one of " + std::string(FilterKindNames()));
  if (!(params.error_rate >= kMinErrorRate && params.error_rate <= kMaxErrorRate)) {
    return OutOfRange("error rate must be in the range [1e-09, 0.25]");
  }
  if (params.capacity < 1 || params.capacity > kMaxCapacity) {
    return OutOfRange("capacity must be in the range [1, " + std::to_string(kMaxCapacity) + "]");
  }
  if (params.expansion > kMaxExpansion) {
    return OutOfRange("expansion must be in the range [0, " + std::to_string(kMaxExpansion) + "]");
  }
  if (!(params.tightening_ratio > 0 && params.tightening_ratio < 1)) {
    return OutOfRange("tightening ratio must be in the range (0, 1)");
  }
  const double share = params.first_link_share;
  if (!(share > 0 && share <= 1) || (params.scaling() && share == 1)) {
    return OutOfRange("first link's share of the error rate must be in the range (0, 1)");
  }
  return {};
}

uint64_t RandomSeed() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

}  // namespace bitsieve::core
