#include "commands/bloom_info.h"

#include <optional>
#include <span>
#include <string>
#include <variant>

#include "commands/argument_reader.h"
#include "commands/wire_errors.h"

namespace bitsieve::commands {
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

// Null of a filter that is too small to count.
template <auto kCount>
void WriteUse(ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
  const std::optional<core::FilterUse> use = filter.Use();
  use ? reply.Integer(static_cast<int64_t>((*use).*kCount)) : reply.Null();
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
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) { reply.Integer(info.sub_filters); }},
    {"ITEMS", "Number of items inserted",
     [](ReplyWriter& reply, const Filter&, const FilterInfo& info) {
       reply.Integer(static_cast<int64_t>(info.items));
     }},
    {"EXPANSION", "Expansion rate", WriteExpansion},
};

// Those of valkey-bloom's filters, in its order; the last two only of filters that grow.
constexpr std::string_view kValkeySelectors[] = {"CAPACITY", "SIZE",      "FILTERS",    "ITEMS",
                                                 "ERROR",    "EXPANSION", "TIGHTENING", "MAXSCALEDCAPACITY"};
constexpr size_t kValkeyFieldsOfAll = 6;

// Fields that RedisBloom does not have, of every type.
constexpr Field kOwnFields[] = {
    {"TYPE", "Type",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) { reply.BulkString(filter.type().name); }},
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
       reply.BulkString(core::SeedText(filter.params()));
     }},
    {"TIGHTENING", "Tightening ratio",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       reply.Double(filter.params().tightening_ratio);
     }},
    {"HITS", "Hits", WriteUse<&core::FilterUse::hits>},
    {"MISSES", "Misses", WriteUse<&core::FilterUse::misses>},
    {"ADDS", "Adds", WriteUse<&core::FilterUse::added>},
    {"LASTUSE", "Last use",
     [](ReplyWriter& reply, const Filter& filter, const FilterInfo&) {
       const std::optional<core::FilterUse> use = filter.Use();
       use && use->last_unix_s != 0 ? reply.Integer(use->last_unix_s) : reply.Null();
     }},
};

const Field* FindField(std::span<const Field> fields, std::string_view selector) {
  for (const Field& field : fields) {
    if (EqualsIgnoringCase(field.selector, selector)) return &field;
  }
  return nullptr;
}

const core::InfoField* FindOwnField(const core::FilterTypeRow& type, std::string_view selector) {
  for (const core::InfoField& field : type.info_fields) {
    if (EqualsIgnoringCase(field.selector, selector)) return &field;
  }
  return nullptr;
}

void Write(ReplyWriter& reply, uint64_t value) { reply.Integer(static_cast<int64_t>(value)); }
void Write(ReplyWriter& reply, double value) { reply.Double(value); }
void Write(ReplyWriter& reply, const std::string& value) { reply.BulkString(value); }

void WriteOwn(ReplyWriter& reply, const core::InfoField& field, const Filter& filter, const FilterInfo& info) {
  std::visit([&reply](const auto& value) { Write(reply, value); }, field.Value(filter, info));
}

void WriteLabel(ReplyWriter& reply, std::string_view label) {
  if (reply.resp3()) {
    reply.MapHeader(1);
    reply.SimpleString(label);
  } else {
    reply.ArrayHeader(1);
  }
}

void WriteFields(ReplyWriter& reply, std::span<const Field> fields, const Filter& filter, const FilterInfo& info) {
  for (const Field& field : fields) {
    reply.SimpleString(field.label);
    field.write(reply, filter, info);
  }
}

void WriteAll(ReplyWriter& reply, const Filter& filter, const FilterInfo& info) {
  const std::span<const core::InfoField> own = filter.type().info_fields;
  reply.MapHeader(std::size(kRedisBloomFields) + std::size(kOwnFields) + own.size());
  WriteFields(reply, kRedisBloomFields, filter, info);
  WriteFields(reply, kOwnFields, filter, info);
  for (const core::InfoField& field : own) {
    reply.SimpleString(field.label);
    WriteOwn(reply, field, filter, info);
  }
}

// The field that a selector names: of every type, or of this one.
struct FoundField {
  const Field* field;
  const core::InfoField* own;

  bool found() const { return field != nullptr || own != nullptr; }
  std::string_view label() const { return field != nullptr ? field->label : own->label; }
  void Write(ReplyWriter& reply, const Filter& filter, const FilterInfo& info) const {
    field != nullptr ? field->write(reply, filter, info) : WriteOwn(reply, *own, filter, info);
  }
};

FoundField Find(const Filter& filter, std::string_view selector) {
  const Field* field = FindField(kRedisBloomFields, selector);
  if (field == nullptr) field = FindField(kOwnFields, selector);
  return {field, FindOwnField(filter.type(), selector)};
}

bool IsValkeys(const Filter& filter) { return filter.type().type == core::kValkeyBloomType; }

// The value alone of valkey-bloom's filters, as there.
void WriteSelected(CommandContext& context, const Filter& filter, std::string_view selector) {
  const FoundField found = Find(filter, selector);
  if (!found.found()) return context.Error(wire::kInvalidInformation);
  if (!IsValkeys(filter)) WriteLabel(context.reply, found.label());
  found.Write(context.reply, filter, filter.Info());
}

// A plain array also in RESP3, as valkey-bloom's.
void WriteValkeys(ReplyWriter& reply, const Filter& filter, const FilterInfo& info) {
  const size_t count = filter.params().scaling() ? std::size(kValkeySelectors) : kValkeyFieldsOfAll;
  reply.ArrayHeader(2 * count);
  for (const std::string_view selector : std::span(kValkeySelectors).first(count)) {
    const FoundField found = Find(filter, selector);
    reply.SimpleString(found.label());
    found.Write(reply, filter, info);
  }
}

}  // namespace

void BloomInfo(CommandContext& context) {
  const Filter* filter = context.FindFilter();
  if (filter == nullptr) return context.Error(wire::kNotFound);
  if (context.arguments.size() == 2) {
    if (IsValkeys(*filter)) return WriteValkeys(context.reply, *filter, filter->Info());
    context.reply.MapHeader(std::size(kRedisBloomFields));
    return WriteFields(context.reply, kRedisBloomFields, *filter, filter->Info());
  }
  if (EqualsIgnoringCase(context.arguments[2], "FULL")) return WriteAll(context.reply, *filter, filter->Info());
  WriteSelected(context, *filter, context.arguments[2]);
}

}  // namespace bitsieve::commands
