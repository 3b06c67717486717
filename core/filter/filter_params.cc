#include "core/filter/filter_params.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>

#include "core/base/parse.h"
#include "core/hash/sip_hash.h"

namespace bitsieve::core {

namespace {

constexpr uint8_t kMadeParamsFormat = 1;

bool HashFits(const FilterParams& params) {
  const FilterTypeRow* const row = FindFilterType(params.type);
  if (row != nullptr && row->made.any_hash) return HashKindName(params.hash) != "unknown";
  return params.hash == HashKind::kXxh3;
}

// A value that is the default would make unequal what is equal.
Status ValidateOwn(const FilterTypeRow& row, const OwnParams& own) {
  for (const OwnParams::Pair& pair : own.pairs()) {
    const auto param = std::ranges::find(row.own_params, pair.number, &OwnParam::number);
    if (param == row.own_params.end() || pair.value == param->default_value) {
      return OutOfRange("a filter of type " + std::string(row.name) + " cannot have " + std::to_string(pair.value) +
                        " for a parameter with the number " + std::to_string(pair.number));
    }
    if (!param->Allows(pair.value)) return OutOfRange(std::string(param->name) + " must be " + param->Range());
  }
  return {};
}

}  // namespace

void ShareForStatedCapacity(FilterParams& params) { params.first_share = params.scaling() ? kReservedFirstShare : 1; }

void ShareForGrowth(FilterParams& params) { params.first_share = params.scaling() ? 1 - params.tightening_ratio : 1; }

double RateOfSubFilter(const FilterParams& params, uint32_t index) {
  if (index == 0) return params.error_rate * params.first_share;
  const double rest = params.error_rate * (1 - params.first_share);
  return rest * (1 - params.tightening_ratio) * std::pow(params.tightening_ratio, index - 1);
}

uint64_t CapacityOfNextSubFilter(const FilterParams& params, uint64_t newest, uint64_t total) {
  constexpr uint64_t kMaxSubFilterCapacity = uint64_t{1} << 48;  // beyond any memory, and no product of it overflows
  const uint64_t before = std::min(newest, kMaxSubFilterCapacity / kMaxExpansion);
  return std::min(kMaxSubFilterCapacity, std::max(before * params.expansion, total / 4));
}

FilterParams Settled(FilterParams params) {
  const FilterTypeRow* const row = FindFilterType(params.type);
  if (row != nullptr && row->settle != nullptr) row->settle(params);
  return params;
}

std::string SeedText(const FilterParams& params) {
  const OwnSeed* const own = FindFilterType(params.type)->own_seed;
  return own == nullptr ? std::to_string(params.seed) : own->text(params);
}

tl::unexpected<Error> OutOfRange(std::string what) { return Fail(ErrorCode::kInvalidArgument, std::move(what)); }

Status Validate(const FilterParams& params) {
  const FilterTypeRow* const row = FindFilterType(params.type);
  if (row == nullptr) return OutOfRange("filter type must be one of " + std::string(FilterTypeNames()));
  if (Status status = ValidateOwn(*row, params.own); !status) return status;
  return row->validate(params);
}

Status ValidateExpansion(uint32_t expansion) {
  if (expansion <= kMaxExpansion) return {};
  return OutOfRange("expansion must be in the range [0, " + std::to_string(kMaxExpansion) + "]");
}

Status ValidateCommon(const FilterParams& params) {
  if (!(params.error_rate >= kMinErrorRate && params.error_rate <= kMaxErrorRate)) {
    return OutOfRange("error rate must be in the range [" + ShortestText(kMinErrorRate) + ", " +
                      ShortestText(kMaxErrorRate) + "]");
  }
  if (params.capacity < 1 || params.capacity > kMaxCapacity) {
    return OutOfRange("capacity must be in the range [1, " + std::to_string(kMaxCapacity) + "]");
  }
  if (Status status = ValidateExpansion(params.expansion); !status) return status;
  if (!(params.tightening_ratio > 0 && params.tightening_ratio < 1)) {
    return OutOfRange("tightening ratio must be in the range (0, 1)");
  }
  const double share = params.first_share;
  if (!(share > 0 && share <= 1) || (params.scaling() && share == 1)) {
    return OutOfRange("first sub-filter's share of the error rate must be in the range (0, 1)");
  }
  if (!HashFits(params)) {
    return OutOfRange("a filter of type " + std::string(FilterTypeName(params.type)) +
                      " cannot have this hash function");
  }
  return {};
}

void PutParams(ByteWriter& out, const FilterParams& params) {
  out.Put(params.error_rate);
  out.Put(params.capacity);
  out.Put(params.expansion);
  out.Put(params.tightening_ratio);
  out.Put(params.first_share);
  out.Put(params.seed);
  out.Put(static_cast<uint16_t>(params.hash));
  out.Put(static_cast<uint16_t>(params.own.pairs().size()));
  for (const OwnParams::Pair& pair : params.own.pairs()) {
    out.Put(pair.number);  // a whole word, so that a body that follows is aligned as without
    out.Put(pair.value);
  }
}

FilterParams GetParams(ByteReader& in, FilterType type) {
  FilterParams params;
  params.type = type;
  params.error_rate = in.GetDouble();
  params.capacity = in.Get<uint64_t>();
  params.expansion = in.Get<uint32_t>();
  params.tightening_ratio = in.GetDouble();
  params.first_share = in.GetDouble();
  params.seed = in.Get<uint64_t>();
  const auto hash = in.Get<uint16_t>();
  params.hash = static_cast<HashKind>(hash <= UINT8_MAX ? hash : 0);  // 0: none
  const auto pairs = in.Get<uint16_t>();
  for (uint16_t i = 0; in.ok() && i < pairs; ++i) {
    const auto number = in.Get<uint64_t>();
    if (!params.own.Append({number, in.Get<uint64_t>()})) in.Fail();
  }
  return params;
}

void PutTypedParams(ByteWriter& out, const FilterParams& params) {
  out.Put(static_cast<uint16_t>(params.type));
  PutParams(out, params);
}

FilterParams GetTypedParams(ByteReader& in) {
  const auto type = in.Get<uint16_t>();
  return GetParams(in, FilterType{type});
}

std::string EncodeMadeParams(const FilterParams& params) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Put(kMadeParamsFormat);
  PutTypedParams(out, params);
  return bytes;
}

std::optional<FilterParams> DecodeMadeParams(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.Get<uint8_t>() != kMadeParamsFormat) return std::nullopt;
  const FilterParams params = GetTypedParams(in);
  if (!in.ok() || !in.AtEnd() || !Validate(params)) return std::nullopt;
  return params;
}

// Asking the system takes longer than making a small filter: a pseudo-random function of a counter, under a key that is
// asked for once, gives numbers that are as hard to foresee.
uint64_t RandomSeed() {
  const auto draw = [] {
    std::random_device device;
    return static_cast<uint64_t>(device()) << 32 | device();
  };
  thread_local const SipKey key{draw(), draw()};
  static_assert(std::is_trivially_destructible_v<SipKey>);
  thread_local uint64_t counter = 0;
  ++counter;
  return SipHash({reinterpret_cast<const char*>(&counter), sizeof counter}, key).low;
}

}  // namespace bitsieve::core
