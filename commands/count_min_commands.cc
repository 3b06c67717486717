// CMS.*: Count-Min Sketches.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/sketch_commands.h"
#include "commands/sketch_lookup.h"

namespace bitsieve::commands {
namespace count_min_commands {
namespace {

using core::CountMin;
using core::CountMinShape;

constexpr std::string_view kExists = "CMS: key already exists";
constexpr std::string_view kMissing = "CMS: key does not exist";
constexpr std::string_view kBadWidth = "CMS: invalid width";
constexpr std::string_view kBadDepth = "CMS: invalid depth";
constexpr std::string_view kBadError = "CMS: invalid overestimation value";
constexpr std::string_view kBadProbability = "CMS: invalid prob value";
constexpr std::string_view kBadShape = "CMS: invalid init arguments";
constexpr std::string_view kNoMemory = "CMS: Insufficient memory to create the key";
constexpr std::string_view kBadNumber = "CMS: Cannot parse number";
constexpr std::string_view kNegativeNumber = "CMS: Number cannot be negative";
constexpr std::string_view kIncrementOverflow = "CMS: INCRBY overflow";
constexpr std::string_view kBadKeyCount = "CMS: invalid numkeys";
constexpr std::string_view kNoKeys = "CMS: Number of keys must be positive";
constexpr std::string_view kOtherKeyCount = "CMS: wrong number of keys";
constexpr std::string_view kOtherWeightCount = "CMS: wrong number of keys/weights";
constexpr std::string_view kBadWeight = "CMS: invalid weight value";
constexpr std::string_view kOtherShape = "CMS: width/depth is not equal";
constexpr std::string_view kMergeOverflow = "CMS: MERGE overflow";

CountMin* FindCountMin(CommandContext& context, std::string_view key) {
  return FindSketch<CountMin>(context, key, kMissing);
}

// ---- creating

bool IsFree(CommandContext& context) {
  const bool free = Sketches(context).Find(context.arguments[1]).is_free;
  if (!free) context.Error(kExists);
  return free;
}

void Create(CommandContext& context, const CountMinShape& shape) {
  constexpr uint64_t kMaxCells = std::numeric_limits<int64_t>::max();
  if (shape.width > kMaxCells / shape.depth) return context.Error(kBadShape);
  SketchKeyspace& sketches = Sketches(context);
  auto made = CountMin::Make(shape, sketches.memory());
  if (!made) return context.Error(kNoMemory);
  sketches.Put(std::move(*made));
  sketches.MarkChanged();
  context.reply.Ok();
}

void InitByDim(CommandContext& context) {
  if (!IsFree(context)) return;
  const std::optional<int64_t> width = ParseInteger(context.arguments[2]);
  if (width.value_or(0) < 1) return context.Error(kBadWidth);
  const std::optional<int64_t> depth = ParseInteger(context.arguments[3]);
  if (depth.value_or(0) < 1) return context.Error(kBadDepth);
  Create(context, {static_cast<uint64_t>(*width), static_cast<uint64_t>(*depth)});
}

std::optional<double> ReadShare(std::string_view text) {
  const std::optional<double> share = ParseDouble(text);
  return share && *share > 0 && *share < 1 ? share : std::nullopt;
}

void InitByProb(CommandContext& context) {
  if (!IsFree(context)) return;
  const std::optional<double> error = ReadShare(context.arguments[2]);
  if (!error) return context.Error(kBadError);
  const std::optional<double> probability = ReadShare(context.arguments[3]);
  if (!probability) return context.Error(kBadProbability);
  const std::optional<CountMinShape> shape = core::ShapeForError(*error, *probability);
  if (!shape || shape->width == 0 || shape->depth == 0) return context.Error(kBadShape);
  Create(context, *shape);
}

// ---- counting

void IncrBy(CommandContext& context) {
  const Arguments arguments = context.arguments;
  if (arguments.size() % 2 != 0) return SketchArityError(context);
  CountMin* const sketch = FindCountMin(context, arguments[1]);
  if (sketch == nullptr) return;
  for (size_t i = 3; i < arguments.size(); i += 2) {
    const std::optional<int64_t> occurrences = ParseInteger(arguments[i]);
    if (!occurrences) return context.Error(kBadNumber);
    if (*occurrences < 0) return context.Error(kNegativeNumber);
  }
  context.reply.ArrayHeader(arguments.size() / 2 - 1);
  for (size_t i = 2; i < arguments.size(); i += 2) {
    const uint64_t occurrences = ParseUnsigned(arguments[i + 1]).value_or(0);  // it was read above
    const uint32_t count = sketch->Increase(arguments[i], occurrences);
    count == CountMin::kFull ? context.Error(kIncrementOverflow) : context.reply.Integer(count);
  }
  Sketches(context).MarkChanged();
}

void Query(CommandContext& context) {
  const CountMin* const sketch = FindCountMin(context, context.arguments[1]);
  if (sketch == nullptr) return;
  context.reply.ArrayHeader(context.arguments.size() - 2);
  for (const std::string_view item : context.arguments.subspan(2)) context.reply.Integer(sketch->Count(item));
}

// ---- merging

// The arguments of CMS.MERGE that follow the number of keys.
struct MergeRequest {
  Arguments keys = {};
  Arguments weights = {};  // none: each is 1
};

// Returns the reason why the arguments are not in order; empty if they are.
std::string_view ReadMerge(Arguments arguments, MergeRequest& request) {
  const std::optional<int64_t> count = ParseInteger(arguments[2]);
  if (!count) return kBadKeyCount;
  if (*count <= 0) return kNoKeys;
  const Arguments words = arguments.subspan(3);
  const auto keys = static_cast<uint64_t>(*count);
  const auto is_weights = [](std::string_view word) { return EqualsIgnoringCase(word, "WEIGHTS"); };
  const auto at = static_cast<size_t>(std::ranges::find_if(words, is_weights) - words.begin());
  if (at == words.size()) {
    if (words.size() != keys) return kOtherKeyCount;
    request = {words};
    return {};
  }
  if (at != keys || words.size() - keys != keys + 1) return kOtherWeightCount;
  request = {words.first(keys), words.subspan(keys + 1)};
  return {};
}

void Merge(CommandContext& context) {
  CountMin* const target = FindCountMin(context, context.arguments[1]);
  if (target == nullptr) return;
  MergeRequest request;
  if (const std::string_view error = ReadMerge(context.arguments, request); !error.empty()) return context.Error(error);
  std::vector<CountMin::Weighted> sources;
  for (size_t i = 0; i < request.keys.size(); ++i) {
    const std::optional<int64_t> weight = request.weights.empty() ? 1 : ParseInteger(request.weights[i]);
    if (!weight) return context.Error(kBadWeight);
    const CountMin* const source = FindCountMin(context, request.keys[i]);
    if (source == nullptr) return;
    if (source->shape() != target->shape()) return context.Error(kOtherShape);
    sources.push_back({source, *weight});
  }
  if (!target->Merge(sources)) return context.Error(kMergeOverflow);
  Sketches(context).MarkChanged();
  context.reply.Ok();
}

void Info(CommandContext& context) {
  const CountMin* const sketch = FindCountMin(context, context.arguments[1]);
  if (sketch == nullptr) return;
  const auto field = [&context](std::string_view name, uint64_t value) {
    context.reply.SimpleString(name);
    context.reply.Integer(static_cast<int64_t>(value));
  };
  context.reply.MapHeader(3);
  field("width", sketch->shape().width);
  field("depth", sketch->shape().depth);
  field("count", sketch->total());
}

constexpr CommandRow kRows[] = {
    {.name = "cms.initbydim",
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kCountMin,
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Creates a Count-Min Sketch of this many counters in each row, and this many rows.",
     .syntax = "key width depth",
     .handler = InitByDim},
    {.name = "cms.initbyprob",
     .arity = 4,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kCountMin,
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Creates a Count-Min Sketch whose counts are, except with this probability, too high by at most this "
                "share of all occurrences.",
     .syntax = "key error probability",
     .handler = InitByProb},
    {.name = "cms.incrby",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .group = CommandGroup::kCountMin,
     .since = "2.0.0",
     .complexity = "O(items * depth)",
     .summary = "Counts more occurrences of items. Returns their counts afterwards.",
     .syntax = "key item increment [item increment ...]",
     .handler = IncrBy},
    {.name = "cms.query",
     .arity = -3,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kCountMin,
     .since = "2.0.0",
     .complexity = "O(items * depth)",
     .summary = "Returns how often items occurred: an estimate that may be too high.",
     .syntax = "key item [item ...]",
     .handler = Query},
    {.name = "cms.merge",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .group = CommandGroup::kCountMin,
     .since = "2.0.0",
     .complexity = "O(sources * width * depth)",
     .summary = "Replaces the content of a sketch by the weighted sum of sketches of the same width and depth.",
     .syntax = "key numKeys source [source ...] [WEIGHTS weight [weight ...]]",
     .handler = Merge},
    {.name = "cms.info",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kCountMin,
     .since = "2.0.0",
     .complexity = "O(1)",
     .summary = "Returns the width and depth of a sketch, and the sum of all increments.",
     .syntax = "key",
     .handler = Info},
};

}  // namespace
}  // namespace count_min_commands

std::span<const CommandRow> CountMinCommands() { return count_min_commands::kRows; }

}  // namespace bitsieve::commands
