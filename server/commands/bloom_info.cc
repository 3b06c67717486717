#include "server/commands/bloom_info.h"

#include <string>

#include "server/commands/argument_reader.h"
#include "server/commands/window_text.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

using core::FilterInfo;
using core::FilterParams;
using protocol::ReplyWriter;

struct Field {
  std::string_view selector;
  std::string_view label;
  void (*write)(ReplyWriter& reply, const FilterParams& params, const FilterInfo& info);
};

void WriteExpansion(ReplyWriter& reply, const FilterParams& params, const FilterInfo&) {
  if (!params.scaling()) return reply.Null();
  reply.Integer(params.expansion);
}

constexpr Field kFields[] = {
    {"CAPACITY", "Capacity",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.capacity));
     }},
    {"SIZE", "Size",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.size_bytes));
     }},
    {"FILTERS", "Number of filters",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Integer(info.links); }},
    {"ITEMS", "Number of items inserted",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.items));
     }},
    {"EXPANSION", "Expansion rate", WriteExpansion},
    {"TYPE", "Type",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) {
       reply.BulkString(core::FilterKindName(params.kind));
     }},
    {"ERROR", "Error rate",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) { reply.Double(params.error_rate); }},
    {"ESTIMATED", "Estimated error rate",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Double(info.estimated_error_rate); }},
    {"FILL", "Fill ratio",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Double(info.fill_ratio); }},
    {"HASHES", "Hash functions",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Integer(info.hash_functions); }},
    {"BITS", "Bits per item",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Double(info.bits_per_item); }},
    // A seed may be larger than an integer reply, which is signed: hence decimal text.
    {"SEED", "Seed",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) {
       reply.BulkString(std::to_string(params.seed));
     }},
    {"TIGHTENING", "Tightening ratio",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) { reply.Double(params.tightening_ratio); }},
};

void WriteOldest(ReplyWriter& reply, const FilterParams& params, const FilterInfo& info) {
  if (params.window.of_time()) return reply.Double(static_cast<double>(info.window.oldest_age_ms) / 1000);
  reply.Integer(static_cast<int64_t>(info.window.oldest_items));
}

// Of the kind `window` alone.
constexpr Field kWindowFields[] = {
    {"WINDOW", "Window",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) {
       reply.BulkString(WindowText(params.window));
     }},
    {"OLDEST", "Oldest age", WriteOldest},
    {"GENERATIONS", "Generations",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Integer(info.window.generations); }},
};

// Of the kind `counting` alone.
constexpr Field kCountingFields[] = {
    {"COUNTERBITS", "Counter bits",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) { reply.Integer(params.counter_bits); }},
};

// Of the kind `fingerprint`; those of `cuckoo` have two more.
constexpr Field kFingerprintBits{
    "FINGERPRINTBITS", "Fingerprint bits",
    [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Integer(info.fingerprint_bits); }};
constexpr Field kFingerprintFields[] = {kFingerprintBits};
constexpr Field kCuckooFields[] = {
    {"BUCKETSIZE", "Bucket size",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) { reply.Integer(params.bucket_size); }},
    {"MAXITERATIONS", "Max iterations",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) { reply.Integer(params.max_iterations); }},
    kFingerprintBits,
};

// Of the kinds whose hash function can be chosen.
constexpr Field kHashFields[] = {
    {"HASH", "Hash",
     [](ReplyWriter& reply, const FilterParams& params, const FilterInfo&) {
       reply.BulkString(core::HashKindName(params.hash));
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
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) {
       reply.BulkString(StateName(info.freeze.state));
     }},
    {"PROGRESS", "Progress",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.Integer(info.freeze.percent); }},
    {"FAILURE", "Failure",
     [](ReplyWriter& reply, const FilterParams&, const FilterInfo& info) { reply.BulkString(info.freeze.failure); }},
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

const Field* FindField(std::string_view selector, core::FilterKind kind) {
  for (const Field& field : kFields) {
    if (EqualsIgnoringCase(field.selector, selector)) return &field;
  }
  for (const Field& field : FieldsOfKind(kind)) {
    if (EqualsIgnoringCase(field.selector, selector)) return &field;
  }
  return nullptr;
}

void WriteOne(ReplyWriter& reply, const Field& field, const FilterParams& params, const FilterInfo& info) {
  if (reply.resp3()) {
    reply.MapHeader(1);
    reply.SimpleString(field.label);
  } else {
    reply.ArrayHeader(1);
  }
  field.write(reply, params, info);
}

void WriteAll(ReplyWriter& reply, const FilterParams& params, const FilterInfo& info) {
  const std::span<const Field> more = FieldsOfKind(params.kind);
  reply.MapHeader(std::size(kFields) + more.size());
  const auto write = [&](const Field& field) {
    reply.SimpleString(field.label);
    field.write(reply, params, info);
  };
  for (const Field& field : kFields) write(field);
  for (const Field& field : more) write(field);
}

}  // namespace

void BloomInfo(CommandContext& context) {
  const core::Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (context.arguments.size() == 2) return WriteAll(context.reply, filter->params(), filter->Info());
  const Field* field = FindField(context.arguments[2], filter->params().kind);
  if (field == nullptr) return context.Error(wire::kInvalidInformation);
  WriteOne(context.reply, *field, filter->params(), filter->Info());
}

}  // namespace bitsieve::server
