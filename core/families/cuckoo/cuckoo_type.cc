#include "core/families/cuckoo/cuckoo_type.h"

#include <array>

#include "core/families/cuckoo/cuckoo_codec.h"
#include "core/families/cuckoo/cuckoo_filter.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {

namespace {

constexpr std::array kOwnParams{kBucketSize, kMaxIterations};

constexpr std::array kOptions{
    TypeOption{.word = "BUCKETSIZE", .value = "size", .noun = kBucketSize.name, .param = &kBucketSize},
    TypeOption{.word = "MAXITERATIONS",
               .value = "iterations",
               .noun = "number of iterations",
               .name = kMaxIterations.name,
               .notes = "It is the number of buckets that an addition searches for a free slot.",
               .param = &kMaxIterations},
};

constexpr std::array kCuckooFields{
    InfoField{
        .selector = "BUCKETSIZE", .label = "Bucket size", .meaning = "the slots per bucket", .param = &kBucketSize},
    InfoField{.selector = "MAXITERATIONS",
              .label = "Max iterations",
              .meaning = "the buckets that an addition searches",
              .param = &kMaxIterations},
    kFingerprintBitsField,
};

}  // namespace

constexpr FilterTypeRow kCuckooRow{
    .type = kCuckooType,
    .name = "cuckoo",
    .summary = "fingerprints in buckets: items can be removed; small at low error rates",
    .can = {.remove = true, .count = true, .repeats = true},
    .made = {.by_default = true},
    .own_params = kOwnParams,
    .options = kOptions,
    .info_fields = kCuckooFields,
    .validate = ValidateCommon,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return CuckooFilter::Make(params, budget); },
    .open = [](std::string_view fields, MemoryBudget& budget, const Clock&) { return OpenCuckoo(fields, budget); },
    .map = MapCuckoo,
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeCuckooHeader(fields)); },
    .forecast = CuckooFilter::ForecastOf,
};

}  // namespace bitsieve::core
