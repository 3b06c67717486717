#include "core/filter/forecast.h"

#include <string>

namespace bitsieve::core {

Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items) {
  const FilterParams settled = Settled(params);
  if (Status status = Validate(settled); !status) return tl::unexpected(std::move(status).error());
  const FilterTypeRow& row = *FindFilterType(settled.type);
  if (row.forecast == nullptr) {
    return Fail(ErrorCode::kUnsupported, "the size of a " + std::string(row.name) + " filter cannot be forecast");
  }
  return row.forecast(settled, items);
}

}  // namespace bitsieve::core
