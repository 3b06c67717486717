#include "server/commands/create_options.h"

#include <algorithm>
#include <string>

#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

core::FilterKind ReadKind(ArgumentReader& reader, std::string_view missing) {
  const std::string_view name = reader.Next(missing);
  const std::optional<core::FilterKind> kind = core::FilterKindFromName(name);
  if (!kind) reader.Fail(wire::UnknownType(name, core::FilterKindNames()));
  if (kind == core::FilterKind::kRedisCuckoo) reader.Fail(wire::kCuckooNotReserved);
  return kind.value_or(core::FilterKind::kBlocked);
}

double ReadTightening(ArgumentReader& reader, std::string_view missing) {
  const double ratio = reader.Double(missing, wire::kBadTightening);
  if (reader.ok() && !(ratio > 0 && ratio < 1)) reader.Fail(wire::kBadTightening);
  return ratio;
}

// NONSCALING simply wins over EXPANSION.
void SettleExpansion(ArgumentReader& reader, const OptionErrors& errors, const GivenOptions& given,
                     core::FilterParams& params) {
  if (given.expansion) {
    if (!ExpansionInRange(*given.expansion)) reader.Fail(errors.bad_expansion);
    params.expansion = static_cast<uint32_t>(*given.expansion);
  }
  if (given.nonscaling) StopGrowing(params);
}

}  // namespace

bool ReadCommonOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      GivenOptions& given) {
  if (reader.Skip("EXPANSION")) {
    given.expansion = reader.Integer(errors.Missing(wire::kNoExpansion), errors.bad_expansion);
  } else if (reader.Skip("NONSCALING")) {
    given.nonscaling = true;
  } else if (reader.Skip("TYPE")) {
    params.kind = ReadKind(reader, errors.Missing(wire::kNoType));
    given.type = true;
  } else if (reader.Skip("SEED")) {
    given.seed = reader.Unsigned(errors.Missing(wire::kNoSeed), wire::kBadSeed);
  } else if (reader.Skip("TIGHTENING")) {
    params.tightening_ratio = ReadTightening(reader, errors.Missing(wire::kNoTightening));
    given.tightening = true;
  } else {
    return ReadKindOption(reader, errors.missing, params, given.of_kind);
  }
  return true;
}

bool ReadCreateOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      GivenOptions& given) {
  if (ReadCommonOption(reader, errors, params, given)) return true;
  if (reader.Skip("CAPACITY")) {
    const int64_t capacity = reader.Integer(errors.missing, errors.bad_capacity);
    params.capacity = BoundedCapacity(reader, capacity, errors.bad_capacity);
    given.capacity = true;
  } else if (reader.Skip("ERROR")) {
    const double rate = reader.Double(errors.missing, errors.bad_error_rate);
    params.error_rate = BoundedErrorRate(reader, rate, errors.bad_error_rate);
  } else {
    return false;
  }
  return true;
}

double BoundedErrorRate(ArgumentReader& reader, double rate, std::string_view out_of_range) {
  if (reader.ok() && !(rate > 0 && rate < 1)) reader.Fail(out_of_range);
  if (reader.ok() && rate < core::kMinErrorRate) reader.Fail(wire::kErrorRateTooSmall);
  return std::min(rate, core::kMaxErrorRate);
}

uint64_t BoundedCapacity(ArgumentReader& reader, int64_t capacity, std::string_view out_of_range) {
  if (reader.ok() && (capacity < 1 || capacity > static_cast<int64_t>(core::kMaxCapacity))) reader.Fail(out_of_range);
  return static_cast<uint64_t>(capacity);
}

bool ExpansionInRange(int64_t expansion) { return expansion >= 0 && expansion <= core::kMaxExpansion; }

void StopGrowing(core::FilterParams& params) {
  if (params.kind == core::FilterKind::kRedisBloom) params.redisbloom.growth = params.expansion;
  params.expansion = 0;
}

void SettleWindow(ArgumentReader& reader, const GivenOptions& given, bool capacity_given, core::FilterParams& params) {
  if (params.kind != core::FilterKind::kWindow) return;
  if (!params.window.given()) reader.Fail(wire::kWindowNeeded);
  if (given.expansion.value_or(0) != 0) reader.Fail(wire::kWindowExpands);
  params.expansion = 0;
  if (params.window.of_time()) {
    if (!capacity_given) reader.Fail(wire::kWindowNeedsCapacity);
  } else if (capacity_given && params.capacity != params.window.items) {
    reader.Fail(wire::WindowCapacity(std::to_string(params.window.items), std::to_string(params.capacity)));
  } else {
    params.capacity = params.window.items;
  }
}

void RefuseSeedOfRedisBloom(ArgumentReader& reader, const GivenOptions& given, const core::FilterParams& params) {
  const bool any = given.seed || given.tightening;
  if (any && params.kind == core::FilterKind::kRedisBloom) reader.Fail(wire::kNoSeedOfRedisBloom);
}

void SettleCreateOptions(ArgumentReader& reader, const OptionErrors& errors, const GivenOptions& given,
                         core::FilterParams& params) {
  SettleExpansion(reader, errors, given, params);
  SettleWindow(reader, given, given.capacity, params);
  RefuseMisplaced(reader, given.of_kind, params.kind);
  RefuseSeedOfRedisBloom(reader, given, params);
  if (given.capacity) {
    core::ShareForStatedCapacity(params);
  } else {
    core::ShareForGrowth(params);
  }
}

}  // namespace bitsieve::server
