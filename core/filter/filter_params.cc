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

tl::unexpected<Error> OutOfRange(std::string what) { return Fail(ErrorCode::kInvalidArgument, std::move(what)); }

Status Validate(const FilterParams& params) {
  const FilterTypeRow* const row = FindFilterType(params.type);
  if (row == nullptr) return OutOfRange("filter type must be one of " + std::string(FilterTypeNames()));
  for (size_t i = row->wide_slots; i < params.own.wide.size(); ++i) {
    if (params.own.wide[i] != 0) {
      return OutOfRange("a filter of type " + std::string(row->name) + " has no parameter such as a window");
    }
  }
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

void PutParams(std::string& bytes, const FilterParams& params) {
  ByteWriter out(bytes);
  out.Put(params.error_rate);
  out.Put(params.capacity);
  out.Put(params.expansion);
  out.Put(params.tightening_ratio);
  out.Put(params.first_share);
  out.Put(params.seed);
  out.Put(static_cast<uint32_t>(params.hash));
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
  const auto hash = in.Get<uint32_t>();
  params.hash = static_cast<HashKind>(hash <= UINT8_MAX ? hash : 0);  // 0: none
  return params;
}

void PutAllParams(ByteWriter& out, const FilterParams& params) {
  out.Put(static_cast<uint16_t>(params.type));
  out.Put(static_cast<uint8_t>(params.hash));
  out.Put(params.error_rate);
  out.Put(params.capacity);
  out.Put(params.expansion);
  out.Put(params.tightening_ratio);
  out.Put(params.first_share);
  out.Put(params.seed);
  for (const uint64_t slot : params.own.wide) out.Put(slot);
  for (const uint32_t slot : params.own.narrow) out.Put(slot);
}

FilterParams GetAllParams(ByteReader& in) {
  FilterParams params;
  params.type = static_cast<FilterType>(in.Get<uint16_t>());
  params.hash = static_cast<HashKind>(in.Get<uint8_t>());
  params.error_rate = in.GetDouble();
  params.capacity = in.Get<uint64_t>();
  params.expansion = in.Get<uint32_t>();
  params.tightening_ratio = in.GetDouble();
  params.first_share = in.GetDouble();
  params.seed = in.Get<uint64_t>();
  for (uint64_t& slot : params.own.wide) slot = in.Get<uint64_t>();
  for (uint32_t& slot : params.own.narrow) slot = in.Get<uint32_t>();
  return params;
}

std::string EncodeMadeParams(const FilterParams& params) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Put(kMadeParamsFormat);
  PutAllParams(out, params);
  return bytes;
}

std::optional<FilterParams> DecodeMadeParams(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.Get<uint8_t>() != kMadeParamsFormat) return std::nullopt;
  const FilterParams params = GetAllParams(in);
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
