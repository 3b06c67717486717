// TDIGEST.*: quantiles of a stream of numbers.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/sketch_commands.h"
#include "commands/sketch_lookup.h"

namespace bitsieve::commands {
namespace t_digest_commands {
namespace {

using core::TDigest;

constexpr std::string_view kExists = "ERR T-Digest: key already exists";
constexpr std::string_view kMissing = "ERR T-Digest: key does not exist";
constexpr std::string_view kWrongKeyword = "ERR T-Digest: wrong keyword";
constexpr std::string_view kBadCompression = "ERR T-Digest: error parsing compression parameter";
constexpr std::string_view kCompressionRange = "ERR T-Digest: compression parameter needs to be a positive integer";
constexpr std::string_view kNoMemory = "ERR T-Digest: allocation failed";
constexpr std::string_view kNoMemoryToMerge = "ERR T-Digest: allocation of destination digest failed";
constexpr std::string_view kBadNumber = "ERR T-Digest: error parsing val parameter";
constexpr std::string_view kInfiniteNumber = "ERR T-Digest: val parameter needs to be a finite number";
constexpr std::string_view kOverflow = "ERR T-Digest: overflow detected";
constexpr std::string_view kBadKeyCount = "ERR T-Digest: error parsing numkeys";
constexpr std::string_view kNoKeys = "ERR T-Digest: numkeys needs to be a positive integer";
constexpr std::string_view kBadQuantile = "ERR T-Digest: error parsing quantile";
constexpr std::string_view kQuantileRange = "ERR T-Digest: quantile should be in [0,1]";
constexpr std::string_view kBadCdf = "ERR T-Digest: error parsing cdf";
constexpr std::string_view kBadValue = "ERR T-Digest: error parsing value";
constexpr std::string_view kBadRank = "ERR T-Digest: error parsing rank";
constexpr std::string_view kNegativeRank = "ERR T-Digest: rank needs to be non negative";
constexpr std::string_view kBadLow = "ERR T-Digest: error parsing low_cut_percentile";
constexpr std::string_view kBadHigh = "ERR T-Digest: error parsing high_cut_percentile";
constexpr std::string_view kCutRange = "ERR T-Digest: low_cut_percentile and high_cut_percentile should be in [0,1]";
constexpr std::string_view kCutOrder = "ERR T-Digest: low_cut_percentile should be lower than high_cut_percentile";
constexpr int64_t kDefaultCompression = 100;
constexpr std::string_view kCompression = "COMPRESSION";

TDigest* FindTDigest(CommandContext& context, std::string_view key) {
  return FindSketch<TDigest>(context, key, kMissing);
}
TDigest* FindTDigest(CommandContext& context) { return FindTDigest(context, context.arguments[1]); }

// Whether the command's first key may be given a digest: it is free or has one. If not, it has replied.
bool MayHold(CommandContext& context, TDigest*& there) {
  const SketchKey found = Sketches(context).Find(context.arguments[1]);
  there = found.sketch == nullptr ? nullptr : std::get_if<TDigest>(found.sketch);
  const bool may = found.is_free || there != nullptr;
  if (!may) context.Error(wire::kWrongType);
  return may;
}

std::string_view ReadCompression(std::string_view text, int64_t& compression) {
  const std::optional<int64_t> number = ParseInteger(text);
  if (!number) return kBadCompression;
  if (*number <= 0) return kCompressionRange;
  compression = *number;
  return {};
}

void Put(CommandContext& context, TDigest digest) {
  Sketches(context).Put(std::move(digest));
  Sketches(context).MarkChanged();
  context.reply.Ok();
}

// ---- creating and adding

void Create(CommandContext& context) {
  const Arguments arguments = context.arguments;
  if (arguments.size() != 2 && arguments.size() != 4) return SketchArityError(context);
  TDigest* there = nullptr;
  if (!MayHold(context, there)) return;
  if (there != nullptr) return context.Error(kExists);
  int64_t compression = kDefaultCompression;
  if (arguments.size() == 4) {
    const auto is_keyword = [](std::string_view word) { return EqualsIgnoringCase(word, kCompression); };
    if (std::ranges::none_of(arguments.last(2), is_keyword)) return context.Error(kWrongKeyword);
    const std::string_view error = ReadCompression(arguments.back(), compression);
    if (!error.empty()) return context.Error(error);
  }
  auto made = TDigest::Make(static_cast<double>(compression));
  if (!made) return context.Error(kNoMemory);
  Put(context, std::move(*made));
}

void Reset(CommandContext& context) {
  TDigest* const digest = FindTDigest(context);
  if (digest == nullptr) return;
  digest->Reset();
  Sketches(context).MarkChanged();
  context.reply.Ok();
}

void Add(CommandContext& context) {
  TDigest* const digest = FindTDigest(context);
  if (digest == nullptr) return;
  const Arguments numbers = context.arguments.subspan(2);
  for (const std::string_view text : numbers) {
    const std::optional<double> number = ParseDouble(text);
    if (!number) return context.Error(kBadNumber);
    if (!std::isfinite(*number)) return context.Error(kInfiniteNumber);
  }
  bool added = true;
  for (const std::string_view text : numbers) {
    added = added && digest->Add(ParseDouble(text).value_or(0));  // it was read above
  }
  Sketches(context).MarkChanged();
  added ? context.reply.Ok() : context.Error(kOverflow);
}

// ---- merging

struct MergeRequest {
  Arguments keys = {};
  int64_t compression = 0;  // 0: not given
  bool overrides = false;
};

// Returns the reason why the arguments are not in order; empty if they are. wire::kArity: there are too few.
std::string_view ReadMerge(Arguments arguments, MergeRequest& request) {
  const std::optional<int64_t> count = ParseInteger(arguments[2]);
  if (!count) return kBadKeyCount;
  if (*count <= 0) return kNoKeys;
  const Arguments words = arguments.subspan(3);
  if (static_cast<uint64_t>(*count) > words.size()) return wire::kArity;
  request.keys = words.first(static_cast<size_t>(*count));
  const Arguments options = words.subspan(request.keys.size());
  const auto find = [options](std::string_view keyword) {
    return std::ranges::find_if(options, [keyword](std::string_view w) { return EqualsIgnoringCase(w, keyword); });
  };
  const auto compression = find(kCompression);
  if (compression != options.end()) {
    if (compression + 1 == options.end()) return wire::kArity;
    const std::string_view error = ReadCompression(compression[1], request.compression);
    if (!error.empty()) return error;
  }
  request.overrides = find("OVERRIDE") != options.end();
  const bool known = options.empty() || compression != options.end() || request.overrides;
  return known ? std::string_view() : kWrongKeyword;
}

// Replies with the reason if one is missing or none.
bool FindSources(CommandContext& context, Arguments keys, std::vector<TDigest*>& sources) {
  for (const std::string_view key : keys) {
    TDigest* const source = FindTDigest(context, key);
    if (source == nullptr) return false;
    sources.push_back(source);
  }
  return true;
}

double CompressionOf(const MergeRequest& request, const TDigest* target, const std::vector<TDigest*>& sources) {
  if (request.compression != 0) return static_cast<double>(request.compression);
  if (target != nullptr) return target->state().compression;
  double most = 0;
  for (const TDigest* const source : sources) most = std::max(most, source->state().compression);
  return most;
}

void Merge(CommandContext& context) {
  TDigest* target = nullptr;
  if (!MayHold(context, target)) return;
  MergeRequest request;
  const std::string_view error = ReadMerge(context.arguments, request);
  if (error == wire::kArity) return SketchArityError(context);
  if (!error.empty()) return context.Error(error);
  std::vector<TDigest*> sources;
  if (!FindSources(context, request.keys, sources)) return;
  if (request.overrides) target = nullptr;
  auto merged = TDigest::Make(CompressionOf(request, target, sources));
  if (!merged) return context.Error(kNoMemoryToMerge);
  if (target != nullptr) sources.insert(sources.begin(), target);
  for (TDigest* const source : sources) {
    if (!merged->MergeFrom(*source)) return context.Error(kOverflow);
  }
  Put(context, std::move(*merged));
}

// ---- estimates

// Replies with an estimate for each of the numbers that follow the key, all of which are read before. `read(text)` is
// the number or nothing; `error` names what is wrong with a text then.
template <class Read, class Error, class Estimate>
void Answer(CommandContext& context, const Read& read, const Error& error, const Estimate& estimate) {
  TDigest* const digest = FindTDigest(context);
  if (digest == nullptr) return;
  const Arguments texts = context.arguments.subspan(2);
  for (const std::string_view text : texts) {
    if (const std::string_view wrong = error(read(text)); !wrong.empty()) return context.Error(wrong);
  }
  context.reply.ArrayHeader(texts.size());
  for (const std::string_view text : texts) estimate(*digest, *read(text));
}

void Quantile(CommandContext& context) {
  const auto error = [](std::optional<double> q) {
    if (!q) return kBadQuantile;
    return *q >= 0 && *q <= 1 ? std::string_view() : kQuantileRange;
  };
  Answer(context, ParseDouble, error, [&](TDigest& digest, double q) { context.reply.Double(digest.Quantile(q)); });
}

void Cdf(CommandContext& context) {
  const auto error = [](std::optional<double> x) { return x ? std::string_view() : kBadCdf; };
  Answer(context, ParseDouble, error, [&](TDigest& digest, double x) { context.reply.Double(digest.Cdf(x)); });
}

template <int64_t (TDigest::*rank)(double)>
void Rank(CommandContext& context) {
  const auto error = [](std::optional<double> x) { return x ? std::string_view() : kBadValue; };
  Answer(context, ParseDouble, error, [&](TDigest& digest, double x) { context.reply.Integer((digest.*rank)(x)); });
}

template <double (TDigest::*by_rank)(int64_t)>
void ByRank(CommandContext& context) {
  const auto error = [](std::optional<int64_t> rank) {
    if (!rank) return kBadRank;
    return *rank >= 0 ? std::string_view() : kNegativeRank;
  };
  Answer(context, ParseInteger, error,
         [&](TDigest& digest, int64_t rank) { context.reply.Double((digest.*by_rank)(rank)); });
}

void TrimmedMean(CommandContext& context) {
  TDigest* const digest = FindTDigest(context);
  if (digest == nullptr) return;
  const std::optional<double> low = ParseDouble(context.arguments[2]), high = ParseDouble(context.arguments[3]);
  if (!low) return context.Error(kBadLow);
  if (!high) return context.Error(kBadHigh);
  const auto is_share = [](double cut) { return cut >= 0 && cut <= 1; };
  if (!is_share(*low) || !is_share(*high)) return context.Error(kCutRange);
  if (*low >= *high) return context.Error(kCutOrder);
  context.reply.Double(digest->TrimmedMean(*low, *high));
}

template <double (TDigest::*end)() const>
void End(CommandContext& context) {
  const TDigest* const digest = FindTDigest(context);
  if (digest != nullptr) context.reply.Double((digest->*end)());
}

void Info(CommandContext& context) {
  const TDigest* const digest = FindTDigest(context);
  if (digest == nullptr) return;
  const TDigest::State& state = digest->state();
  const auto field = [&context](std::string_view name, auto value) {
    context.reply.SimpleString(name);
    context.reply.Integer(static_cast<int64_t>(value));
  };
  context.reply.MapHeader(9);
  field("Compression", state.compression);
  field("Capacity", digest->capacity());
  field("Merged nodes", state.merged_nodes);
  field("Unmerged nodes", digest->unmerged_nodes());
  field("Merged weight", state.merged_weight);
  field("Unmerged weight", state.unmerged_weight);
  field("Observations", digest->observations());
  field("Total compressions", state.compressions);
  field("Memory usage", digest->reported_bytes());
}

constexpr CommandRow kRows[] = {
    {.name = "tdigest.create",
     .arity = -2,
     .max_arguments = 4,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(1)",
     .summary = "Creates an empty t-digest; without COMPRESSION one of 100.",
     .syntax = "key [COMPRESSION compression]",
     .handler = Create},
    {.name = "tdigest.reset",
     .arity = 2,
     .flags = kWrite | kDenyOom | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(1)",
     .summary = "Empties a t-digest.",
     .syntax = "key",
     .handler = Reset},
    {.name = "tdigest.add",
     .arity = -3,
     .flags = kWrite | kDenyOom,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(values)",
     .summary = "Adds numbers to a t-digest.",
     .syntax = "key value [value ...]",
     .handler = Add},
    {.name = "tdigest.merge",
     .arity = -4,
     .flags = kWrite | kDenyOom,
     .keys = {.first = 1, .last = 1, .step = 1, .count_at = 2},
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(nodes * sources)",
     .summary = "Adds t-digests to one, or with OVERRIDE puts their sum in place of it.",
     .syntax = "destination-key numkeys source-key [source-key ...] [COMPRESSION compression] [OVERRIDE]",
     .handler = Merge},
    {.name = "tdigest.min",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(1)",
     .summary = "Returns the smallest number; nan if there is none.",
     .syntax = "key",
     .handler = End<&TDigest::Min>},
    {.name = "tdigest.max",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(1)",
     .summary = "Returns the largest number; nan if there is none.",
     .syntax = "key",
     .handler = End<&TDigest::Max>},
    {.name = "tdigest.quantile",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(quantiles * nodes)",
     .summary = "Returns for each share the number that so large a share of all numbers is below.",
     .syntax = "key quantile [quantile ...]",
     .handler = Quantile},
    {.name = "tdigest.cdf",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(values * nodes)",
     .summary = "Returns for each number the share of all numbers that are below it, equal ones counted half.",
     .syntax = "key value [value ...]",
     .handler = Cdf},
    {.name = "tdigest.trimmed_mean",
     .arity = 4,
     .flags = kReadOnly,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(nodes)",
     .summary = "Returns the mean of the numbers between two quantiles.",
     .syntax = "key low_cut_quantile high_cut_quantile",
     .handler = TrimmedMean},
    {.name = "tdigest.rank",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(values * nodes)",
     .summary = "Returns for each number how many numbers are below it; -2 if there are none.",
     .syntax = "key value [value ...]",
     .handler = Rank<&TDigest::Rank>},
    {.name = "tdigest.revrank",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(values * nodes)",
     .summary = "Returns for each number how many numbers are above it; -2 if there are none.",
     .syntax = "key value [value ...]",
     .handler = Rank<&TDigest::ReverseRank>},
    {.name = "tdigest.byrank",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(ranks * nodes)",
     .summary = "Returns the number of each rank, 0 for the smallest; inf beyond the largest.",
     .syntax = "key rank [rank ...]",
     .handler = ByRank<&TDigest::ByRank>},
    {.name = "tdigest.byrevrank",
     .arity = -3,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(ranks * nodes)",
     .summary = "Returns the number of each reverse rank, 0 for the largest; -inf beyond the smallest.",
     .syntax = "key reverse_rank [reverse_rank ...]",
     .handler = ByRank<&TDigest::ByReverseRank>},
    {.name = "tdigest.info",
     .arity = 2,
     .flags = kReadOnly | kFast,
     .keys = kFirstArgument,
     .group = CommandGroup::kTDigest,
     .since = "2.4.0",
     .complexity = "O(1)",
     .summary = "Returns the parameters of a t-digest, and how many numbers and nodes it has.",
     .syntax = "key",
     .handler = Info},
};

}  // namespace
}  // namespace t_digest_commands

std::span<const CommandRow> TDigestCommands() { return t_digest_commands::kRows; }

}  // namespace bitsieve::commands
