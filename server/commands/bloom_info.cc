#include "server/commands/bloom_info.h"

#include <array>
#include <optional>
#include <span>
#include <string>

#include "server/commands/argument_reader.h"
#include "server/commands/window_text.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

using core::Filter;
using core::FilterInfo;
using protocol::ReplyWriter;

struct Field {
  std::string_view selector;
  std::string_view label;
  void (*write)(ReplyWriter& reply, const Filter& filter, const FilterInfo& info);
};

void WriteExpansion(ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
  if (!filter.params().scaling()) return reply.Null();
  reply.Integer(filter.params().expansion);
}

// RedisBloom's, in its order.
constexpr Field kRedisBloomFields[] = {
    {"CAPACITY", "Capacity",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.capacity));
     }},
    {"SIZE", "Size",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.size_bytes));
     }},
    {"FILTERS", "Number of filters",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Integer(info.links); }},
    {"ITEMS", "Number of items inserted",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.items));
     }},
    {"EXPANSION", "Expansion rate", WriteExpansion},
};

// Of every type.
constexpr Field kOwnFields[] = {
    {"TYPE", "Type",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.BulkString(core::FilterKindName(filter.params().kind));
     }},
    {"ERROR", "Error rate",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) { reply.Double(filter.params().error_rate); }},
    {"ESTIMATED", "Estimated error rate",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       const std::optional<double> rate = filter.EstimatedErrorRate();
       rate ? reply.Double(*rate) : reply.Null();
     }},
    {"FILL", "Fill ratio",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Double(info.fill_ratio); }},
    {"HASHES", "Hash functions",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Integer(info.hash_functions); }},
    {"BITS", "Bits per item",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Double(info.bits_per_item); }},
    // A seed may be larger than an integer reply, which is signed: hence decimal text.
    {"SEED", "Seed",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.BulkString(std::to_string(filter.params().seed));
     }},
    {"TIGHTENING", "Tightening ratio",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.Double(filter.params().tightening_ratio);
     }},
};

void WriteOldest(ReplyWriter& reply, const Filter& filter, const FilterInfo& info) {
  if (filter.params().window.of_time()) return reply.Double(static_cast<double>(info.window.oldest_age_ms) / 1000);
  reply.Integer(static_cast<int64_t>(info.window.oldest_items));
}

// Of the kind `window` alone.
constexpr Field kWindowFields[] = {
    {"WINDOW", "Window",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.BulkString(WindowText(filter.params().window));
     }},
    {"OLDEST", "Oldest age", WriteOldest},
    {"GENERATIONS", "Generations",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Integer(info.window.generations); }},
};

// Of the kind `counting` alone.
constexpr Field kCountingFields[] = {
    {"COUNTERBITS", "Counter bits",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) { reply.Integer(filter.params().counter_bits); }},
};

// Of the kind `fingerprint`; those of `cuckoo` have two more.
constexpr Field kFingerprintBits{
    "FINGERPRINTBITS", "Fingerprint bits",
    [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Integer(info.fingerprint_bits); }};
constexpr Field kFingerprintFields[] = {kFingerprintBits};
constexpr Field kCuckooFields[] = {
    {"BUCKETSIZE", "Bucket size",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) { reply.Integer(filter.params().bucket_size); }},
    {"MAXITERATIONS", "Max iterations",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.Integer(filter.params().max_iterations);
     }},
    kFingerprintBits,
};

// Of the kinds whose hash function can be chosen.
constexpr Field kHashFields[] = {
    {"HASH", "Hash",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.BulkString(core::HashKindName(filter.params().hash));
     }},
};

std::string_view StateName(core::FreezeState state) {
  switch (state) {
    case core::FreezeState::kStaging:
      return "staging";
    case core::FreezeState::kBuilding:
      return "building";
    case core::FreezeState::kFrozen:
      break;
  }
  return "frozen";
}

// Of the kind `ribbon` alone.
constexpr Field kRibbonFields[] = {
    {"STATE", "State",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.BulkString(StateName(info.freeze.state)); }},
    {"PROGRESS", "Progress",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Integer(info.freeze.percent); }},
    {"FAILURE", "Failure",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.BulkString(info.freeze.failure); }},
};

std::span<const Field> FieldsOfKind(core::FilterKind kind) {
  if (kind == core::FilterKind::kCuckoo) return kCuckooFields;
  if (kind == core::FilterKind::kWindow) return kWindowFields;
  if (kind == core::FilterKind::kCounting) return kCountingFields;
  if (kind == core::FilterKind::kFingerprint) return kFingerprintFields;
  if (core::HashIsChosen(kind)) return kHashFields;
  if (kind == core::FilterKind::kRibbon) return kRibbonFields;
  return {};
}

using FieldLists = std::array<std::span<const Field>, 3>;

FieldLists ListsOfType(core::FilterKind type) { return {kRedisBloomFields, kOwnFields, FieldsOfKind(type)}; }

const Field* FindField(std::string_view selector, core::FilterKind type) {
  for (const std::span<const Field> fields : ListsOfType(type)) {
    for (const Field& field : fields) {
      if (EqualsIgnoringCase(field.selector, selector)) return &field;
    }
  }
  return nullptr;
}

void WriteOne(ReplyWriter& reply, const Field& field, const Filter& filter, const FilterInfo& info) {
  if (reply.resp3()) {
    reply.MapHeader(1);
    reply.SimpleString(field.label);
  } else {
    reply.ArrayHeader(1);
  }
  field.write(reply, filter, info);
}

void WriteFields(ReplyWriter& reply, std::span<const std::span<const Field>> lists, const Filter& filter,
                 const FilterInfo& info) {
  size_t count = 0;
  for (const std::span<const Field> fields : lists) count += fields.size();
  reply.MapHeader(count);
  for (const std::span<const Field> fields : lists) {
    for (const Field& field : fields) {
      reply.SimpleString(field.label);
      field.write(reply, filter, info);
    }
  }
}

}  // namespace

void BloomInfo(CommandContext& context) {
  const Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  const FieldLists lists = ListsOfType(filter->params().kind);
  if (context.arguments.size() == 2) {
    return WriteFields(context.reply, std::span(lists).first(1), *filter, filter->Info());
  }
  if (EqualsIgnoringCase(context.arguments[2], "FULL")) {
    return WriteFields(context.reply, lists, *filter, filter->Info());
  }
  const Field* field = FindField(context.arguments[2], filter->params().kind);
  if (field == nullptr) return context.Error(wire::kInvalidInformation);
  WriteOne(context.reply, *field, *filter, filter->Info());
}

}  // namespace bitsieve::server
