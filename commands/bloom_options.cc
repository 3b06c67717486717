#include "commands/bloom_options.h"

#include <algorithm>
#include <cassert>

#include "commands/create_options.h"
#include "commands/filter_templates.h"
#include "commands/type_options.h"
#include "commands/wire_errors.h"
#include "core/base/parse.h"

namespace bitsieve::commands {
namespace {

// BF.RESERVE: 0 is NONSCALING; any other together with NONSCALING, stated or by default, is a contradiction.
void SettleReserveExpansion(ArgumentReader& reader, GivenOptions& options, core::FilterParams& params) {
  const bool nonscaling = options.nonscaling || params.expansion == 0;
  if (options.expansion && *options.expansion != 0) {
    if (nonscaling) reader.Fail(wire::kNonscalingExpands);
    if (!ExpansionInRange(params.type, *options.expansion)) reader.Fail(wire::kExpansionRange);
  }
  if (options.expansion) params.expansion = static_cast<uint32_t>(*options.expansion);
  if (options.nonscaling) StopGrowing(options, params);
}

// The parameters of a filter created without options.
core::FilterParams DefaultParams(const CommandSettings& settings) {
  core::FilterParams params;
  params.type = settings.default_type.load(std::memory_order_relaxed);
  params.error_rate = std::min(settings.default_error_rate.load(std::memory_order_relaxed), core::kMaxErrorRate);
  params.capacity = settings.default_capacity.load(std::memory_order_relaxed);
  params.expansion = settings.default_expansion.load(std::memory_order_relaxed);
  core::ShareForGrowth(params);
  return params;
}

// EX, PX or EXAT. Returns false if the next argument is none of them.
bool ReadItemTime(ArgumentReader& reader, core::ItemTime& time) {
  constexpr uint64_t kMsPerSecond = 1000;
  const bool seconds = reader.Skip("EX");
  const bool until = !seconds && reader.Skip("EXAT");
  if (!seconds && !until && !reader.Skip("PX")) return false;
  const bool repeated = time.ttl_ms != 0 || time.until_ms != 0;
  const uint64_t unit = seconds || until ? kMsPerSecond : 1;
  const uint64_t number = reader.Unsigned(wire::kArity, wire::kBadItemTime);
  if (repeated || number == 0 || number > static_cast<uint64_t>(INT64_MAX) / unit) reader.Fail(wire::kBadItemTime);
  (until ? time.until_ms : time.ttl_ms) = number * unit;
  return true;
}

// Whether the options ahead name another type than the template does: then the template's type options do not apply.
bool StatesOtherType(ArgumentReader reader, const OptionErrors& errors, const FilterTemplate& found) {
  core::FilterParams params;
  GivenOptions given;
  core::ItemTime time;
  while (reader.More() &&
         (ReadCreateOption(reader, errors, params, given) || ReadItemTime(reader, time) || reader.Skip("NOCREATE"))) {
  }
  return given.type && found.type() && params.type != *found.type();
}

}  // namespace

ReserveRequest ReadReserve(ArgumentReader& reader, const CommandSettings& settings) {
  ReserveRequest request;
  request.params = DefaultParams(settings);
  core::FilterParams& params = request.params;
  const double rate = reader.Double(wire::kBadErrorRate, wire::kBadErrorRate);
  params.error_rate = CheckedErrorRate(reader, rate, wire::kErrorRateRange);
  const int64_t capacity = reader.Integer(wire::kBadCapacity, wire::kBadCapacity);
  params.capacity = CheckedCapacity(reader, capacity, wire::kCapacityRange);

  constexpr OptionErrors kErrors{.missing = "",
                                 .bad_expansion = wire::kBadExpansion,
                                 .bad_capacity = wire::kCapacityRange,
                                 .bad_error_rate = wire::kErrorRateRange};
  GivenOptions options;
  while (reader.More()) {
    if (ReadCommonOption(reader, kErrors, params, options)) continue;
    if (reader.Skip("IFNOTEXISTS")) {
      request.if_not_exists = true;
    } else {
      reader.Fail(wire::UnknownOption(reader.Peek()));
    }
  }
  SettleType(reader, wire::kCapacityRange, options, params);
  SettleReserveExpansion(reader, options, params);
  SettleTypeOptions(reader, options, true, params);
  request.seed = options.seed;
  request.tightening_given = options.tightening;
  core::ShareForStatedCapacity(params);
  return request;
}

CreateRequest RequestFor(const CommandSettings& settings, std::string_view name) {
  CreateRequest request{DefaultParams(settings), std::nullopt};
  GivenOptions given;
  if (const FilterTemplate* const found = settings.templates.Find(name)) found->Apply(true, request.params, given);
  ArgumentReader reader({}, 0);
  SettleCreateOptions(reader, {}, given, request.params);
  assert(reader.ok() && "templates were checked when they were made");
  request.seed = given.seed;
  return request;
}

InsertRequest ReadInsert(ArgumentReader& reader, const CommandSettings& settings, std::string_view name) {
  constexpr OptionErrors kErrors{.missing = wire::kArity,
                                 .bad_expansion = wire::kInsertBadExpansion,
                                 .bad_capacity = wire::kInsertBadCapacity,
                                 .bad_error_rate = wire::kInsertBadErrorRate};
  InsertRequest request;
  core::FilterParams& params = request.filter.params;
  params = DefaultParams(settings);
  GivenOptions given;
  bool items_named = false;
  if (const FilterTemplate* const found = settings.templates.Find(name)) {
    found->Apply(!StatesOtherType(reader, kErrors, *found), params, given);
  }
  while (reader.More()) {
    if (ReadCreateOption(reader, kErrors, params, given) || ReadItemTime(reader, request.time)) continue;
    if (reader.Skip("ITEMS")) {
      request.items = reader.Rest();
      items_named = true;
      break;
    }
    if (reader.Skip("NOCREATE")) {
      request.create = false;
    } else {
      reader.Fail(wire::kInsertUnknownArgument);
    }
  }
  SettleCreateOptions(reader, kErrors, given, params);
  // valkey-bloom creates a filter without items.
  if (request.items.empty() && (items_named || params.type != core::kValkeyBloomType)) reader.Fail(wire::kArity);
  request.filter.seed = given.seed;
  return request;
}

std::optional<std::string> DifferenceFrom(const ReserveRequest& request, const core::FilterParams& have) {
  const core::FilterParams& asked = request.params;
  if (have.type != asked.type) {
    return wire::ExistsWithOther("type", core::FilterTypeName(have.type), core::FilterTypeName(asked.type));
  }
  if (have.error_rate != asked.error_rate) {
    return wire::ExistsWithOther("error rate", core::ShortestText(have.error_rate),
                                 core::ShortestText(asked.error_rate));
  }
  if (have.capacity != asked.capacity) {
    return wire::ExistsWithOther("capacity", std::to_string(have.capacity), std::to_string(asked.capacity));
  }
  if (have.expansion != asked.expansion) {
    return wire::ExistsWithOther("expansion", std::to_string(have.expansion), std::to_string(asked.expansion));
  }
  if (std::optional<std::string> difference = TypeOptionDifference(have, asked)) return difference;
  if (request.tightening_given && have.tightening_ratio != asked.tightening_ratio) {
    return wire::ExistsWithOther("tightening ratio", core::ShortestText(have.tightening_ratio),
                                 core::ShortestText(asked.tightening_ratio));
  }
  if (!request.seed) return std::nullopt;
  core::FilterParams seeded = asked;
  seeded.seed = *request.seed;
  seeded = core::Settled(seeded);
  const std::string its = core::SeedText(have);
  const std::string other = core::SeedText(seeded);
  return its == other ? std::nullopt : std::optional(wire::ExistsWithOther("seed", its, other));
}

}  // namespace bitsieve::commands
