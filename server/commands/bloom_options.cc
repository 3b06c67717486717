#include "server/commands/bloom_options.h"

#include <algorithm>
#include <charconv>

#include "server/commands/kind_options.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

// What the errors of the options that both commands have are called in each.
struct OptionErrors {
  std::string_view missing;  // of any value; if empty, each option has one of its own
  std::string_view bad_expansion;

  std::string_view Missing(std::string_view own) const { return missing.empty() ? own : missing; }
};

struct Options {
  std::optional<int64_t> expansion;
  bool nonscaling = false;
  std::optional<uint64_t> seed;
  bool tightening_given = false;
  KindOptionSet of_kind = 0;
};

core::FilterKind ReadKind(ArgumentReader& reader, std::string_view missing) {
  const std::string_view name = reader.Next(missing);
  const std::optional<core::FilterKind> kind = core::FilterKindFromName(name);
  if (!kind) reader.Fail(wire::UnknownType(name, core::FilterKindNames()));
  return kind.value_or(core::FilterKind::kBlocked);
}

double ReadTightening(ArgumentReader& reader, std::string_view missing) {
  const double ratio = reader.Double(missing, wire::kBadTightening);
  if (reader.ok() && !(ratio > 0 && ratio < 1)) reader.Fail(wire::kBadTightening);
  return ratio;
}

// Reads one option that both commands have; false if the next argument is none of them.
bool ReadCommonOption(ArgumentReader& reader, const OptionErrors& errors, core::FilterParams& params,
                      Options& options) {
  if (reader.Skip("EXPANSION")) {
    options.expansion = reader.Integer(errors.Missing(wire::kNoExpansion), errors.bad_expansion);
  } else if (reader.Skip("NONSCALING")) {
    options.nonscaling = true;
  } else if (reader.Skip("TYPE")) {
    params.kind = ReadKind(reader, errors.Missing(wire::kNoType));
  } else if (reader.Skip("SEED")) {
    options.seed = reader.Unsigned(errors.Missing(wire::kNoSeed), wire::kBadSeed);
  } else if (reader.Skip("TIGHTENING")) {
    params.tightening_ratio = ReadTightening(reader, errors.Missing(wire::kNoTightening));
    options.tightening_given = true;
  } else {
    return ReadKindOption(reader, errors.missing, params, options.of_kind);
  }
  return true;
}

// A rate above the largest is used as that; one below the smallest is an error of its own.
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

// BF.RESERVE: 0 is NONSCALING; any other together with NONSCALING, asked or by default, is a contradiction.
void SettleReserveExpansion(ArgumentReader& reader, const Options& options, core::FilterParams& params) {
  const bool nonscaling = options.nonscaling || params.expansion == 0;
  if (options.expansion && *options.expansion != 0) {
    if (nonscaling) reader.Fail(wire::kNonscalingExpands);
    if (!ExpansionInRange(*options.expansion)) reader.Fail(wire::kExpansionRange);
  }
  if (options.nonscaling) params.expansion = 0;
  if (options.expansion) params.expansion = static_cast<uint32_t>(*options.expansion);
}

// BF.INSERT: NONSCALING simply wins over EXPANSION.
void SettleInsertExpansion(ArgumentReader& reader, const Options& options, core::FilterParams& params) {
  if (options.expansion) {
    if (!ExpansionInRange(*options.expansion)) reader.Fail(wire::kInsertBadExpansion);
    params.expansion = static_cast<uint32_t>(*options.expansion);
  }
  if (options.nonscaling) params.expansion = 0;
}

// A window does not grow, and one of items has its size for a capacity.
void SettleWindow(ArgumentReader& reader, const Options& options, bool capacity_stated, core::FilterParams& params) {
  if (params.kind != core::FilterKind::kWindow) return;
  if (!params.window.given()) reader.Fail(wire::kWindowNeeded);
  if (options.expansion.value_or(0) != 0) reader.Fail(wire::kWindowExpands);
  params.expansion = 0;
  if (params.window.of_time()) {
    if (!capacity_stated) reader.Fail(wire::kWindowNeedsCapacity);
  } else if (capacity_stated && params.capacity != params.window.items) {
    reader.Fail(wire::WindowCapacity(std::to_string(params.window.items), std::to_string(params.capacity)));
  } else {
    params.capacity = params.window.items;
  }
}

std::string Text(double number) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return error == std::errc{} ? std::string(text, end) : std::string();
}

}  // namespace

core::FilterParams DefaultParams(const CommandSettings& settings) {
  core::FilterParams params;
  params.kind = settings.default_kind.load(std::memory_order_relaxed);
  params.error_rate = std::min(settings.default_error_rate.load(std::memory_order_relaxed), core::kMaxErrorRate);
  params.capacity = settings.default_capacity.load(std::memory_order_relaxed);
  params.expansion = settings.default_expansion.load(std::memory_order_relaxed);
  core::ShareForGrowth(params);
  return params;
}

ReserveRequest ReadReserve(ArgumentReader& reader, const CommandSettings& settings) {
  ReserveRequest request;
  request.params = DefaultParams(settings);
  core::FilterParams& params = request.params;
  const double rate = reader.Double(wire::kBadErrorRate, wire::kBadErrorRate);
  params.error_rate = BoundedErrorRate(reader, rate, wire::kErrorRateRange);
  const int64_t capacity = reader.Integer(wire::kBadCapacity, wire::kBadCapacity);
  params.capacity = BoundedCapacity(reader, capacity, wire::kCapacityRange);

  constexpr OptionErrors kErrors{.missing = "", .bad_expansion = wire::kBadExpansion};
  Options options;
  while (reader.More()) {
    if (ReadCommonOption(reader, kErrors, params, options)) continue;
    if (reader.Skip("IFNOTEXISTS")) {
      request.if_not_exists = true;
    } else {
      reader.Fail(wire::UnknownOption(reader.Peek()));
    }
  }
  SettleReserveExpansion(reader, options, params);
  SettleWindow(reader, options, true, params);
  RefuseMisplaced(reader, options.of_kind, params.kind);
  request.seed = options.seed;
  request.tightening_given = options.tightening_given;
  core::ShareForStatedCapacity(params);
  return request;
}

InsertRequest ReadInsert(ArgumentReader& reader, const CommandSettings& settings) {
  InsertRequest request;
  request.params = DefaultParams(settings);
  core::FilterParams& params = request.params;
  constexpr std::string_view kMissing = wire::kInsertArity;
  constexpr OptionErrors kErrors{.missing = kMissing, .bad_expansion = wire::kInsertBadExpansion};
  Options options;
  bool capacity_stated = false;
  while (reader.More()) {
    if (ReadCommonOption(reader, kErrors, params, options)) continue;
    if (reader.Skip("ITEMS")) {
      request.items = reader.Rest();
      break;
    }
    if (reader.Skip("CAPACITY")) {
      const int64_t capacity = reader.Integer(kMissing, wire::kInsertBadCapacity);
      params.capacity = BoundedCapacity(reader, capacity, wire::kInsertBadCapacity);
      capacity_stated = true;
    } else if (reader.Skip("ERROR")) {
      const double rate = reader.Double(kMissing, wire::kInsertBadErrorRate);
      params.error_rate = BoundedErrorRate(reader, rate, wire::kInsertBadErrorRate);
    } else if (reader.Skip("NOCREATE")) {
      request.create = false;
    } else {
      reader.Fail(wire::kInsertUnknownArgument);
    }
  }
  if (request.items.empty()) reader.Fail(kMissing);
  request.seed = options.seed;
  SettleInsertExpansion(reader, options, params);
  SettleWindow(reader, options, capacity_stated, params);
  RefuseMisplaced(reader, options.of_kind, params.kind);
  if (capacity_stated) {
    core::ShareForStatedCapacity(params);
  } else {
    core::ShareForGrowth(params);
  }
  return request;
}

std::optional<std::string> DifferenceFrom(const ReserveRequest& request, const core::FilterParams& have) {
  const core::FilterParams& asked = request.params;
  if (have.kind != asked.kind) {
    return wire::ExistsWithOther("type", core::FilterKindName(have.kind), core::FilterKindName(asked.kind));
  }
  if (have.error_rate != asked.error_rate) {
    return wire::ExistsWithOther("error rate", Text(have.error_rate), Text(asked.error_rate));
  }
  if (have.capacity != asked.capacity) {
    return wire::ExistsWithOther("capacity", std::to_string(have.capacity), std::to_string(asked.capacity));
  }
  if (have.expansion != asked.expansion) {
    return wire::ExistsWithOther("expansion", std::to_string(have.expansion), std::to_string(asked.expansion));
  }
  if (std::optional<std::string> difference = KindOptionDifference(have, asked)) return difference;
  if (request.tightening_given && have.tightening_ratio != asked.tightening_ratio) {
    return wire::ExistsWithOther("tightening ratio", Text(have.tightening_ratio), Text(asked.tightening_ratio));
  }
  if (request.seed && have.seed != *request.seed) {
    return wire::ExistsWithOther("seed", std::to_string(have.seed), std::to_string(*request.seed));
  }
  return std::nullopt;
}

}  // namespace bitsieve::server
