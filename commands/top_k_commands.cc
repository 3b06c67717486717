// TOPK.*: the most frequent items of a stream.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/sketch_commands.h"
#include "commands/sketch_lookup.h"

namespace bitsieve::commands {
namespace top_k_commands {
namespace {

using core::TopK;
using core::TopKShape;

constexpr std::string_view kExists = "TopK: key already exists";
constexpr std::string_view kMissing = "TopK: key does not exist";
constexpr std::string_view kBadK = "TopK: invalid k";
constexpr std::string_view kBadWidth = "TopK: invalid width";
constexpr std::string_view kBadDepth = "TopK: invalid depth";
constexpr std::string_view kBadDecay = "TopK: invalid decay value. must be '<= 1' & '> 0'";
constexpr std::string_view kNoMemory = "ERR Insufficient memory to create topk data structure";
// The blanks are RedisBloom's.
constexpr std::string_view kBadIncrement =
    "TopK: increment must be an integer greater or equal to 0                            and smaller or equal to "
    "100,000";
constexpr std::string_view kWithCount = "WITHCOUNT";
constexpr std::string_view kNoWithCount = "WITHCOUNT keyword expected";

TopK* FindTopK(CommandContext& context) { return FindSketch<TopK>(context, context.arguments[1], kMissing); }

// RedisBloom's replies have items up to their first byte of 0.
std::string_view Shown(std::string_view item) { return item.substr(0, item.find('\0')); }

// ---- creating

std::optional<uint32_t> ReadSize(std::string_view text) {
  const std::optional<int64_t> size = ParseInteger(text);
  if (!size || *size < 1 || *size > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*size);
}

// Returns the reason why the arguments are not in order; empty if they are.
std::string_view ReadReserve(Arguments arguments, TopKShape& shape) {
  const std::optional<uint32_t> k = ReadSize(arguments[2]);
  if (!k) return kBadK;
  shape.k = *k;
  if (arguments.size() == 3) return {};
  const std::optional<uint32_t> width = ReadSize(arguments[3]), depth = ReadSize(arguments[4]);
  const std::optional<double> decay = ParseDouble(arguments[5]);
  if (!width) return kBadWidth;
  if (!depth) return kBadDepth;
  if (!decay || *decay <= 0 || *decay > 1) return kBadDecay;
  shape = {*k, *width, *depth, *decay};
  return {};
}

void Reserve(CommandContext& context) {
  const size_t count = context.arguments.size();
  if (count != 3 && count != 6) return SketchArityError(context);
  SketchKeyspace& sketches = Sketches(context);
  if (!sketches.Find(context.arguments[1]).is_free) return context.Error(kExists);
  TopKShape shape;
  if (const std::string_view error = ReadReserve(context.arguments, shape); !error.empty()) return context.Error(error);
  if (!sketches.Grants(TopK::BytesOf(shape))) return context.Error(kNoMemory);
  auto made = TopK::Make(shape);
  if (!made) return context.Error(kNoMemory);
  sketches.Put(std::move(*made));
  sketches.MarkChanged();
  context.reply.Ok();
}

// ---- adding

void WriteExpelled(CommandContext& context, const std::optional<std::string>& expelled) {
  expelled ? context.reply.BulkString(Shown(*expelled)) : context.reply.Null();
}

void Add(CommandContext& context) {
  TopK* const sketch = FindTopK(context);
  if (sketch == nullptr) return;
  const Arguments items = context.arguments.subspan(2);
  context.reply.ArrayHeader(items.size());
  for (const std::string_view item : items) WriteExpelled(context, sketch->Add(item, 1));
  Sketches(context).MarkChanged();
}

std::optional<uint32_t> ReadIncrement(std::string_view text) {
  constexpr uint64_t kMost = 100'000;
  const std::optional<uint64_t> increment = ParseUnsigned(text);
  if (!increment || *increment > kMost) return std::nullopt;
  return static_cast<uint32_t>(*increment);
}

// Pairs ahead of a bad increment are counted, and those after it are not: what RedisBloom does, whose replicas and
// masters may be on the other side. But the reply has an element for each pair, as its header says.
void IncrBy(CommandContext& context) {
  const Arguments arguments = context.arguments;
  if (arguments.size() % 2 != 0) return SketchArityError(context);
  TopK* const sketch = FindTopK(context);
  if (sketch == nullptr) return;
  context.reply.ArrayHeader(arguments.size() / 2 - 1);
  bool refused = false;
  for (size_t i = 2; i < arguments.size(); i += 2) {
    const std::optional<uint32_t> increment = ReadIncrement(arguments[i + 1]);
    if (refused) {
      context.reply.Null();
    } else if (increment) {
      WriteExpelled(context, sketch->Add(arguments[i], *increment));
    } else {
      refused = true;
      context.Error(kBadIncrement);
    }
  }
  Sketches(context).MarkChanged();
}

// ---- reading

void Query(CommandContext& context) {
  const TopK* const sketch = FindTopK(context);
  if (sketch == nullptr) return;
  const Arguments items = context.arguments.subspan(2);
  context.reply.ArrayHeader(items.size());
  for (const std::string_view item : items) context.reply.Boolean(sketch->Contains(item));
}

void Count(CommandContext& context) {
  const TopK* const sketch = FindTopK(context);
  if (sketch == nullptr) return;
  const Arguments items = context.arguments.subspan(2);
  context.reply.ArrayHeader(items.size());
  for (const std::string_view item : items) context.reply.Integer(sketch->Count(item));
}

// RedisBloom takes any beginning of the word.
void List(CommandContext& context) {
  const bool with_count = context.arguments.size() == 3;
  if (with_count) {
    const std::string_view word = context.arguments[2];
    if (!EqualsIgnoringCase(word, kWithCount.substr(0, word.size()))) return context.Error(kNoWithCount);
  }
  const TopK* const sketch = FindTopK(context);
  if (sketch == nullptr) return;
  const std::vector<const TopK::Entry*> entries = sketch->List();
  context.reply.ArrayHeader(entries.size() * (with_count ? 2 : 1));
  for (const TopK::Entry* const entry : entries) {
    context.reply.BulkString(Shown(entry->item));
    if (with_count) context.reply.Integer(entry->count);
  }
}

void Info(CommandContext& context) {
  const TopK* const sketch = FindTopK(context);
  if (sketch == nullptr) return;
  const TopKShape& shape = sketch->shape();
  const auto field = [&context](std::string_view name, uint32_t value) {
    context.reply.SimpleString(name);
    context.reply.Integer(value);
  };
  context.reply.MapHeader(4);
  field("k", shape.k);
  field("width", shape.width);
  field("depth", shape.depth);
  context.reply.SimpleString("decay");
  context.reply.Double(shape.decay);
}

constexpr CommandRow kRows[] = {
    {.name = "topk.reserve",
     .arity = -3,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Creates a sketch of the k most frequent items; without sizes one of 7 rows of 8 counters, which decay "
                "by 0.9.",
     .syntax = "key topk [width depth decay]",
     .handler = Reserve},
    {.name = "topk.add",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(items * depth)",
     .summary = "Counts items. Returns for each the item that is no longer among the k because of it, or nil.",
     .syntax = "key item [item ...]",
     .handler = Add},
    {.name = "topk.incrby",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(items * depth * increment)",
     .summary = "Counts items, each several times. Returns what TOPK.ADD does.",
     .syntax = "key item increment [item increment ...]",
     .handler = IncrBy},
    {.name = "topk.query",
     .arity = -3,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(items * k)",
     .summary = "Returns for each item whether it is among the k.",
     .syntax = "key item [item ...]",
     .handler = Query},
    {.name = "topk.count",
     .arity = -3,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(items * (k + depth))",
     .summary = "Returns about how often items occurred.",
     .syntax = "key item [item ...]",
     .handler = Count},
    {.name = "topk.list",
     .arity = -2,
     .max_arguments = 3,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(k * log(k))",
     .summary = "Returns the k most frequent items, the most frequent first.",
     .syntax = "key [WITHCOUNT]",
     .handler = List},
    {.name = "topk.info",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTopK,
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Returns the parameters of a sketch.",
     .syntax = "key",
     .handler = Info},
};

}  // namespace
}  // namespace top_k_commands

std::span<const CommandRow> TopKCommands() { return top_k_commands::kRows; }

}  // namespace bitsieve::commands
