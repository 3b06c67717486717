#include "core/families/bloom/bloom_types.h"

#include <array>

#include "core/families/bloom/blocked_bloom.h"
#include "core/families/bloom/chain_codec.h"
#include "core/families/bloom/chain_fold.h"
#include "core/families/bloom/chain_union.h"
#include "core/families/bloom/classic_bloom.h"
#include "core/families/bloom/counting_bloom.h"
#include "core/families/bloom/counting_filter.h"
#include "core/families/bloom/scalable_filter.h"
#include "core/filter/shared_options.h"

namespace bitsieve::core {

namespace {

// A scalable filter that is as its row says.
template <const ChainType& kChain>
class PlainChain final : public ScalableFilter {
 public:
  using ScalableFilter::ScalableFilter;

 private:
  const ChainType& chain_type() const override { return kChain; }
};

template <class Made>
std::unique_ptr<ScalableFilter> MakeEmpty(const FilterParams& params, MemoryBudget& budget) {
  return std::make_unique<Made>(params, budget);
}

uint64_t OwnBytes(uint32_t /*sub_filters*/) { return ScalableFilter::OwnBytes(); }

}  // namespace

constexpr ChainType kBlockedChain{.type = kBlockedType,
                                  .layout = kBlockedLayout,
                                  .make_empty = MakeEmpty<PlainChain<kBlockedChain>>,
                                  .first_shape = ScalableFilter::FirstShape,
                                  .next_shape = ScalableFilter::NextShape,
                                  .own_bytes = OwnBytes,
                                  .sub_filter_bytes = ScalableFilter::TotalBytes,
                                  .begins_as_list = true};
constexpr ChainType kClassicChain{.type = kClassicType,
                                  .layout = kClassicLayout,
                                  .make_empty = MakeEmpty<PlainChain<kClassicChain>>,
                                  .first_shape = ScalableFilter::FirstShape,
                                  .next_shape = ScalableFilter::NextShape,
                                  .own_bytes = OwnBytes,
                                  .sub_filter_bytes = ScalableFilter::TotalBytes,
                                  .begins_as_list = true};
constexpr ChainType kCountingChain{.type = kCountingType,
                                   .layout = kCountingLayout,
                                   .make_empty = MakeEmpty<CountingFilter>,
                                   .first_shape = ScalableFilter::FirstShape,
                                   .next_shape = ScalableFilter::NextShape,
                                   .own_bytes = OwnBytes,
                                   .sub_filter_bytes = ScalableFilter::TotalBytes};

namespace {

static_assert(kBlockedType == kDefaultFilterType);

constexpr TypeOption kCounterBitsOption{.word = "COUNTERBITS",
                                        .value = "<4 | 8>",
                                        .noun = "number of counter bits",
                                        .name = kCounterBits.name,
                                        .param = &kCounterBits};

constexpr InfoField kCounterBitsField{
    .selector = "COUNTERBITS", .label = "Counter bits", .meaning = "the bits per counter", .param = &kCounterBits};

constexpr std::array kPlainFields{kHashField, kFalsePositivesField};

template <const ChainType& type>
Result<std::unique_ptr<Filter>> Make(const FilterParams& params, MemoryBudget& budget, const Clock&) {
  return ScalableFilter::Make(type, params, budget);
}

template <const ChainType& type>
Result<std::unique_ptr<FilterDecoder>> Open(std::string_view fields, MemoryBudget& budget, const Clock&) {
  Result<ChainHeader> header = DecodeChainHeader(fields, type);
  if (!header) return tl::unexpected(std::move(header).error());
  return OpenChain(std::move(*header), budget);
}

template <const ChainType& type>
Result<std::unique_ptr<Filter>> Map(std::string_view fields, std::span<const std::byte> body, MemoryBudget& budget) {
  const Result<ChainHeader> header = DecodeChainHeader(fields, type);
  if (!header) return tl::unexpected(header.error());
  return MapChain(*header, body, budget);
}

template <const ChainType& type>
Result<ImageSummary> Summarize(std::string_view fields) {
  return SummaryOf(DecodeChainHeader(fields, type));
}

template <const ChainType& type>
Result<Forecast> ForecastOf(const FilterParams& params, uint64_t items) {
  return ScalableFilter::ForecastOf(type, params, items);
}

}  // namespace

constexpr FilterTypeRow kBlockedRow{
    .type = kBlockedType,
    .name = "blocked",
    .summary = "one or two cache lines per item: the fastest, and the default",
    .can = {.deny = true},
    .made = {.by_default = true, .any_hash = true},
    .options = {&kHashOption, 1},
    .info_fields = kPlainFields,
    .validate = ValidateCommon,
    .make = Make<kBlockedChain>,
    .open = Open<kBlockedChain>,
    .map = Map<kBlockedChain>,
    .summarize = Summarize<kBlockedChain>,
    .forecast = ForecastOf<kBlockedChain>,
    .unite = &kChainUnion,
    .fold = &kChainFold,
    .kernel = [] { return std::string_view(BestBlockKernel().name); },
};

constexpr FilterTypeRow kClassicRow{
    .type = kClassicType,
    .name = "classic",
    .summary = "the textbook Bloom filter: the smallest of the Bloom types",
    .can = {.deny = true},
    .made = {.by_default = true, .any_hash = true},
    .options = {&kHashOption, 1},
    .info_fields = kPlainFields,
    .validate = ValidateCommon,
    .make = Make<kClassicChain>,
    .open = Open<kClassicChain>,
    .map = Map<kClassicChain>,
    .summarize = Summarize<kClassicChain>,
    .forecast = ForecastOf<kClassicChain>,
    .unite = &kChainUnion,
    .fold = &kChainFold,
};

constexpr FilterTypeRow kCountingRow{
    .type = kCountingType,
    .name = "counting",
    .summary = "classic with counters instead of bits: items can be removed",
    .can = {.remove = true, .count = true, .repeats = true},
    .made = {.by_default = true},
    .own_params = {&kCounterBits, 1},
    .options = {&kCounterBitsOption, 1},
    .info_fields = {&kCounterBitsField, 1},
    .validate = ValidateCommon,
    .make = Make<kCountingChain>,
    .open = Open<kCountingChain>,
    .map = Map<kCountingChain>,
    .summarize = Summarize<kCountingChain>,
    .forecast = ForecastOf<kCountingChain>,
    .unite = &kChainUnion,
};

}  // namespace bitsieve::core
