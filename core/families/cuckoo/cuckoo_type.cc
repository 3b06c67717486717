#include "core/families/cuckoo/cuckoo_type.h"

#include <array>

#include "core/base/parse.h"
#include "core/families/cuckoo/cuckoo_codec.h"
#include "core/families/cuckoo/cuckoo_filter.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {

namespace {

std::string BucketSizes() { return "[" + std::to_string(kMinBucketSize) + ", " + std::to_string(kMaxBucketSize) + "]"; }
std::string Iterations() { return "[1, " + std::to_string(kMaxMaxIterations) + "]"; }

Status ReadBucketSize(std::string_view text, FilterParams& params) {
  const std::optional<uint64_t> slots = ParseUnsigned(text);
  if (!slots || *slots < kMinBucketSize || *slots > kMaxBucketSize) {
    return OutOfRange("bad bucket size: it must be in the range " + BucketSizes());
  }
  SetBucketSize(params, static_cast<uint32_t>(*slots));
  return {};
}

Status ReadMaxIterations(std::string_view text, FilterParams& params) {
  const std::optional<uint64_t> iterations = ParseUnsigned(text);
  if (!iterations || *iterations < 1 || *iterations > kMaxMaxIterations) {
    return OutOfRange("bad max iterations: they must be in the range " + Iterations());
  }
  SetMaxIterations(params, static_cast<uint32_t>(*iterations));
  return {};
}

Status ValidateCuckoo(const FilterParams& params) {
  if (Status status = ValidateCommon(params); !status) return status;
  if (BucketSizeOf(params) < kMinBucketSize || BucketSizeOf(params) > kMaxBucketSize) {
    return OutOfRange("bucket size must be in the range " + BucketSizes());
  }
  if (MaxIterationsOf(params) < 1 || MaxIterationsOf(params) > kMaxMaxIterations) {
    return OutOfRange("max iterations must be in the range " + Iterations());
  }
  return {};
}

constexpr std::array kOptions{
    TypeOption{.word = "BUCKETSIZE",
               .noun = "bucket size",
               .missing = "no bucket size",
               .read = ReadBucketSize,
               .text = [](const FilterParams& params) { return std::to_string(BucketSizeOf(params)); }},
    TypeOption{.word = "MAXITERATIONS",
               .noun = "number of iterations",
               .missing = "no max iterations",
               .read = ReadMaxIterations,
               .text = [](const FilterParams& params) { return std::to_string(MaxIterationsOf(params)); }},
};

constexpr std::array kCuckooFields{
    InfoField{
        "BUCKETSIZE", "Bucket size",
        [](const Filter& filter, const FilterInfo&) { return InfoValue(uint64_t{BucketSizeOf(filter.params())}); }},
    InfoField{
        "MAXITERATIONS", "Max iterations",
        [](const Filter& filter, const FilterInfo&) { return InfoValue(uint64_t{MaxIterationsOf(filter.params())}); }},
    kFingerprintBitsField,
};

}  // namespace

constexpr FilterTypeRow kCuckooRow{
    .type = kCuckooType,
    .name = "cuckoo",
    .summary = "fingerprints in buckets: items can be removed; small at low error rates",
    .can = {.remove = true, .count = true, .repeats = true},
    .made = {.by_default = true},
    .options = kOptions,
    .info_fields = kCuckooFields,
    .validate = ValidateCuckoo,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return CuckooFilter::Make(params, budget); },
    .open = [](std::string_view fields, MemoryBudget& budget, const Clock&) { return OpenCuckoo(fields, budget); },
    .map = MapCuckoo,
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeCuckooHeader(fields)); },
    .forecast = CuckooFilter::ForecastOf,
};

}  // namespace bitsieve::core
