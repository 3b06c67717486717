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

// NONSCALING simply wins over EXPANSION.
void SettleExpansion(ArgumentReader& reader, const OptionErrors& errors, GivenOptions& given,
                     core::FilterParams& params) {
  if (given.expansion) {
    if (!ExpansionInRange(*given.expansion)) reader.Fail(errors.bad_expansion);
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
    given.seed = reader.Unsigned(errors.Missing(wire::kNoSeed), wire::kBadSeed);
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
  if (reader.ok() && rate < core::kMinErrorRate) reader.Fail(wire::kErrorRateRange);
  return std::min(rate, core::kMaxErrorRate);
}

uint64_t BoundedCapacity(ArgumentReader& reader, int64_t capacity, std::string_view out_of_range) {
  if (reader.ok() && (capacity < 1 || capacity > static_cast<int64_t>(core::kMaxCapacity))) reader.Fail(out_of_range);
  return static_cast<uint64_t>(capacity);
}

bool ExpansionInRange(int64_t expansion) { return expansion >= 0 && expansion <= core::kMaxExpansion; }

void StopGrowing(GivenOptions& given, core::FilterParams& params) {
  given.overridden_expansion = std::exchange(params.expansion, 0);
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
}

void SettleCreateOptions(ArgumentReader& reader, const OptionErrors& errors, GivenOptions& given,
                         core::FilterParams& params) {
  SettleExpansion(reader, errors, given, params);
  SettleTypeOptions(reader, given, given.capacity, params);
  if (given.capacity) {
    core::ShareForStatedCapacity(params);
  } else {
    core::ShareForGrowth(params);
  }
}

}  // namespace bitsieve::commands
