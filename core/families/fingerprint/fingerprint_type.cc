#include "core/families/fingerprint/fingerprint_type.h"

#include "core/families/fingerprint/fingerprint_codec.h"
#include "core/families/fingerprint/fingerprint_filter.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {

constexpr FilterTypeRow kFingerprintRow{
    .type = kFingerprintType,
    .name = "fingerprint",
    .summary = "a table of fingerprints: one cache line per lookup; small at low error rates",
    .made = {.by_default = true},
    .info_fields = {&kFingerprintBitsField, 1},
    .validate = ValidateCommon,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return FingerprintFilter::Make(params, budget); },
    .open = [](std::string_view fields, MemoryBudget& budget, const Clock&) { return OpenFingerprint(fields, budget); },
    .map = MapFingerprint,
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeFingerprintHeader(fields)); },
    .forecast = FingerprintFilter::ForecastOf,
};

}  // namespace bitsieve::core
