#include "core/families/valkeybloom/valkey_bloom_type.h"

#include <charconv>
#include <limits>

#include "core/base/bytes.h"
#include "core/base/parse.h"
#include "core/families/bloom/chain_codec.h"
#include "core/families/valkeybloom/valkey_bloom_chain.h"
#include "core/families/valkeybloom/valkey_bloom_codec.h"
#include "core/hash/mix64.h"
#include "core/hash/sip_hash.h"

namespace bitsieve::core {

std::string ValkeySeedOf(const FilterParams& params) {
  std::string seed;
  ByteWriter out(seed);
  for (const OwnParam& word : kValkeySeedWords) out.Put(params.own.Get(word));
  return seed;
}

void SetValkeySeed(FilterParams& params, std::string_view seed) {
  ByteReader in(seed);
  for (const OwnParam& word : kValkeySeedWords) params.own.Set(word, in.Get<uint64_t>());
}

namespace {

constexpr double kDefaultValkeyTightening = 0.5;

std::string HexDigitsOf(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const char each : bytes) {
    const auto byte = static_cast<uint8_t>(each);
    digits += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return digits;
}

// Returns nothing if there are other characters.
std::optional<std::string> BytesOfHex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 2 <= digits.size(); i += 2) {
    uint8_t byte = 0;
    const char* const end = digits.data() + i + 2;
    if (std::from_chars(digits.data() + i, end, byte, 16).ptr != end) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

// The bytes themselves, as valkey-bloom takes them, or their hexadecimal digits, as BF.INFO shows them.
bool ReadValkeySeed(std::string_view text, FilterParams& params) {
  if (text.size() == kValkeySeedBytes) {
    SetValkeySeed(params, text);
    return true;
  }
  const std::optional<std::string> bytes = text.size() == 2 * kValkeySeedBytes ? BytesOfHex(text) : std::nullopt;
  if (!bytes) return false;
  SetValkeySeed(params, *bytes);
  return true;
}

constexpr OwnSeed kValkeySeed{
    .read = ReadValkeySeed,
    .text = [](const FilterParams& params) { return HexDigitsOf(ValkeySeedOf(params)); },
    .hash =
        [](const FilterParams& params, std::span<const std::string_view> items, std::span<KeyHash> hashes) {
          const SipKey first{params.own.Get(kValkeySeedWords[0]), params.own.Get(kValkeySeedWords[1])};
          const SipKey second{params.own.Get(kValkeySeedWords[2]), params.own.Get(kValkeySeedWords[3])};
          for (size_t i = 0; i < items.size(); ++i) {
            hashes[i] = {SipHash13OfSlice(items[i], first), SipHash13OfSlice(items[i], second)};
          }
        },
};

void SettleValkeyBloom(FilterParams& params) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
  params.hash = HashKind::kValkeyBloom;
  params.first_share = 1;
  if (params.seed == 0) return;
  for (const OwnParam& word : kValkeySeedWords) params.own.Set(word, Mix64(params.seed += kStep));
  params.seed = 0;
}

Status SettleValkeyBloomOptions(const StatedOptions& stated, FilterParams& params) {
  if (!stated.tightening) params.tightening_ratio = kDefaultValkeyTightening;
  return {};
}

Status ValidateValkeyBloom(const FilterParams& params) {
  if (!(params.error_rate > 0 && params.error_rate < 1)) return OutOfRange("error rate must be in the range (0, 1)");
  if (ValkeyBloomChain::RateOf(params, 0) == 0) {
    return OutOfRange("error rate must be above " + ShortestText(std::numeric_limits<double>::min()));
  }
  if (!(params.tightening_ratio > 0 && params.tightening_ratio < 1)) {
    return OutOfRange("tightening ratio must be in the range (0, 1)");
  }
  if (params.capacity < 1) return OutOfRange("capacity must be at least 1");
  if (params.hash != HashKind::kValkeyBloom || params.seed != 0 || params.first_share != 1) {
    return OutOfRange("a filter of type valkeybloom has its own hash function, seed and shares");
  }
  return {};
}

Status CheckValkeyGrowth(const FilterParams& params, uint64_t items) {
  if (!params.scaling()) return OutOfRange("cannot use NONSCALING and VALIDATESCALETO options together");
  const ValkeyBloomChain::Reach reach = ValkeyBloomChain::ReachOf(params, items);
  if (reach.capacity >= items) return {};
  return OutOfRange(reach.by_rate ? "provided VALIDATESCALETO causes false positive to degrade to 0"
                                  : "provided VALIDATESCALETO causes bloom object to exceed memory limit");
}

constexpr InfoField kMaxScaledCapacityField{
    .selector = "MAXSCALEDCAPACITY",
    .label = "Max scaled capacity",
    .meaning = "the capacity up to which the filter grows within valkey-bloom's default limit of 128 MB",
    .value = [](const Filter& filter, const FilterInfo&) {
      return InfoValue(ValkeyBloomChain::ReachOf(filter.params()).capacity);
    }};

}  // namespace

constexpr FilterTypeRow kValkeyBloomRow{
    .type = kValkeyBloomType,
    .name = "valkeybloom",
    .summary = "the hashes, sizes and bytes of valkey-bloom, for moving to it and from it",
    .made = {.by_default = true, .unbounded = true},
    .value_name = kValkeyBloomValueName,
    .own_params = kValkeySeedWords,
    .info_fields = {&kMaxScaledCapacityField, 1},
    .own_seed = &kValkeySeed,
    .settle = SettleValkeyBloom,
    .settle_options = SettleValkeyBloomOptions,
    .check_growth = CheckValkeyGrowth,
    .validate = ValidateValkeyBloom,
    .make = [](const FilterParams& params, MemoryBudget& budget,
               const Clock&) { return ScalableFilter::Make(kValkeyBloomChain, params, budget); },
    .open = [](std::string_view fields, MemoryBudget& budget, const Clock&) -> Result<std::unique_ptr<FilterDecoder>> {
      Result<ChainHeader> header = DecodeValkeyChainHeader(fields);
      if (!header) return tl::unexpected(std::move(header).error());
      return OpenChain(std::move(*header), budget);
    },
    .map = [](std::string_view fields, std::span<const std::byte> body,
              MemoryBudget& budget) -> Result<std::unique_ptr<Filter>> {
      const Result<ChainHeader> header = DecodeValkeyChainHeader(fields);
      if (!header) return tl::unexpected(header.error());
      return MapChain(*header, body, budget);
    },
    .summarize = [](std::string_view fields) { return SummaryOf(DecodeValkeyChainHeader(fields)); },
    .forecast = [](const FilterParams& params,
                   uint64_t items) { return ScalableFilter::ForecastOf(kValkeyBloomChain, params, items); },
};

}  // namespace bitsieve::core
