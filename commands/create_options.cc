#include "commands/create_options.h"

#include <algorithm>
#include <string>
#include <utility>

#include "commands/cuckoo_errors.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
namespace {

core::FilterType ReadType(ArgumentReader& reader, std::string_view missing) {
  const std::string_view name = reader.Next(missing);
  const core::FilterTypeRow* const type = core::FindFilterType(name);
  if (type == nullptr) reader.Fail(wire::UnknownType(name, core::FilterTypeNames()));
  if (type != nullptr && !type->made.by_reserve) reader.Fail(wire::kCuckooNotReserved);
  return type == nullptr ? core::kDefaultFilterType : type->type;
}

double ReadTightening(ArgumentReader& reader, std::string_view missing) {
  const double ratio = reader.Double(missing, wire::kBadTightening);
  if (reader.ok() && !(ratio > 0 && ratio < 1)) reader.Fail(wire::kBadTightening);
  return ratio;
}

bool IsUnbounded(core::FilterType type) { return core::FindFilterType(type)->made.unbounded; }

const core::FilterTypeRow& TypeWithOwnSeed() {
  return *core::FindFilterType([](const core::FilterTypeRow& row) { return row.own_seed != nullptr; });
}

// A seed that is no number may be that of the type that has its own. Whether the filter has the type is known at the
// end of the options.
void ReadSeed(ArgumentReader& reader, std::string_view missing, GivenOptions& given) {
  const std::string_view text = reader.Next(missing);
  given.seed = core::ParseUnsigned(text);
  given.own_seed.reset();
  if (given.seed) return;
  given.own_seed = text;
  core::FilterParams read;
  if (!TypeWithOwnSeed().own_seed->read(text, read)) reader.Fail(wire::kBadSeed);
}

// Such a seed names its type unless TYPE does.
void SettleSeed(ArgumentReader& reader, GivenOptions& given, core::FilterParams& params) {
  if (!reader.ok() || !given.own_seed) return;
  if (!given.type) params.type = TypeWithOwnSeed().type;
  const core::FilterTypeRow& type = *core::FindFilterType(params.type);
  if (type.own_seed == nullptr) return reader.Fail(wire::kBadSeed);
  type.own_seed->read(*given.own_seed, params);
  given.seed = 0;  // no other one
}

void CheckGrowth(ArgumentReader& reader, const GivenOptions& given, const core::FilterParams& params) {
  if (!reader.ok() || !given.validate_to) return;
  const core::FilterTypeRow& type = *core::FindFilterType(params.type);
  if (type.check_growth == nullptr) {
    return reader.Fail(wire::OptionOfTypes(
        "VALIDATESCALETO",
        core::FilterTypeNames(" or ", [](const core::FilterTypeRow& row) { return row.check_growth != nullptr; })));
  }
  const core::Status status = type.check_growth(params, static_cast<uint64_t>(*given.validate_to));
  if (!status) reader.Fail(wire::Error(status.error().message));
}

// NONSCALING simply wins over EXPANSION.
void SettleExpansion(ArgumentReader& reader, const OptionErrors& errors, GivenOptions& given,
                     core::FilterParams& params) {
  if (given.expansion) {
    if (!ExpansionInRange(params.type, *given.expansion)) reader.Fail(errors.bad_expansion);
    params.expansion = static_cast<uint32_t>(*given.expansion);
  }
  if (given.nonscaling) StopGrowing(given, params);
}

core::StatedOptions StatedBy(const GivenOptions& given, bool capacity) {
  return {.capacity = capacity,
          .expansion = given.expansion.value_or(0) != 0,
          .seed = given.seed.has_value(),
          .tightening = given.tightening,
          .nonscaling = given.nonscaling,
          .overridden_expansion = given.overridden_expansion};
}

}  // namespace

bool ReadCommonOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      GivenOptions& given) {
  if (reader.Skip("EXPANSION")) {
    given.expansion = reader.Integer(errors.Missing(wire::kNoExpansion), errors.bad_expansion);
  } else if (reader.Skip("NONSCALING")) {
    given.nonscaling = true;
  } else if (reader.Skip("TYPE")) {
    params.type = ReadType(reader, errors.Missing(wire::kNoType));
    given.type = true;
  } else if (reader.Skip("SEED")) {
    ReadSeed(reader, errors.Missing(wire::kNoSeed), given);
  } else if (reader.Skip("TIGHTENING")) {
    params.tightening_ratio = ReadTightening(reader, errors.Missing(wire::kNoTightening));
    given.tightening = true;
  } else {
    return ReadTypeOption(reader, errors.missing, params, given.of_type);
  }
  return true;
}

bool ReadCreateOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      GivenOptions& given) {
  if (ReadCommonOption(reader, errors, params, given)) return true;
  if (reader.Skip("CAPACITY")) {
    const int64_t capacity = reader.Integer(errors.missing, errors.bad_capacity);
    params.capacity = CheckedCapacity(reader, capacity, errors.bad_capacity);
    given.capacity = true;
  } else if (reader.Skip("VALIDATESCALETO")) {
    given.validate_to = reader.Integer(errors.missing, errors.bad_capacity);
    if (reader.ok() && *given.validate_to < 1) reader.Fail(errors.bad_capacity);
  } else if (reader.Skip("ERROR")) {
    const double rate = reader.Double(errors.missing, errors.bad_error_rate);
    params.error_rate = CheckedErrorRate(reader, rate, errors.bad_error_rate);
  } else {
    return false;
  }
  return true;
}

double CheckedErrorRate(ArgumentReader& reader, double rate, std::string_view out_of_range) {
  if (reader.ok() && !(rate > 0 && rate < 1)) reader.Fail(out_of_range);
  return rate;
}

uint64_t CheckedCapacity(ArgumentReader& reader, int64_t capacity, std::string_view out_of_range) {
  if (reader.ok() && capacity < 1) reader.Fail(out_of_range);
  return static_cast<uint64_t>(capacity);
}

bool ExpansionInRange(core::FilterType type, int64_t expansion) {
  return expansion >= 0 && expansion <= (IsUnbounded(type) ? UINT32_MAX : core::kMaxExpansion);
}

void StopGrowing(GivenOptions& given, core::FilterParams& params) {
  given.overridden_expansion = std::exchange(params.expansion, 0);
}

void SettleType(ArgumentReader& reader, std::string_view bad_capacity, GivenOptions& given,
                core::FilterParams& params) {
  SettleSeed(reader, given, params);
  if (!reader.ok() || IsUnbounded(params.type)) return;
  if (params.error_rate < core::kMinErrorRate) return reader.Fail(wire::kErrorRateRange);
  params.error_rate = std::min(params.error_rate, core::kMaxErrorRate);
  if (params.capacity > core::kMaxCapacity) reader.Fail(bad_capacity);
}

void SettleTypeOptions(ArgumentReader& reader, const GivenOptions& given, bool capacity_given,
                       core::FilterParams& params) {
  ApplyTypeOptions(reader, given.of_type, params);
  const core::FilterTypeRow& type = *core::FindFilterType(params.type);
  if (reader.ok() && type.settle_options != nullptr) {
    const core::Status status = type.settle_options(StatedBy(given, capacity_given), params);
    if (!status) reader.Fail(wire::Error(status.error().message));
  }
  RefuseMisplaced(reader, given.of_type, params.type);
  CheckGrowth(reader, given, params);
}

void SettleCreateOptions(ArgumentReader& reader, const OptionErrors& errors, GivenOptions& given,
                         core::FilterParams& params) {
  SettleType(reader, errors.bad_capacity, given, params);
  SettleExpansion(reader, errors, given, params);
  SettleTypeOptions(reader, given, given.capacity, params);
  if (given.capacity) {
    core::ShareForStatedCapacity(params);
  } else {
    core::ShareForGrowth(params);
  }
}

}  // namespace bitsieve::commands
