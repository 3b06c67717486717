#include "server/commands/kind_options.h"

#include "server/commands/window_text.h"
#include "server/commands/wire_errors.h"

namespace bitsieve::server {
namespace {

using core::FilterKind;
using core::FilterParams;

void ReadWindow(ArgumentReader& reader, std::string_view missing, FilterParams& params) {
  const std::string_view text = reader.Next(missing);
  const std::optional<core::WindowSpan> window = ParseWindow(text);
  if (!window) reader.Fail(wire::kBadWindow);
  params.window = window.value_or(core::WindowSpan());
}

void ReadCounterBits(ArgumentReader& reader, std::string_view missing, FilterParams& params) {
  const uint64_t bits = reader.Unsigned(missing, wire::kBadCounterBits);
  if (reader.ok() && bits != 4 && bits != 8) reader.Fail(wire::kBadCounterBits);
  params.counter_bits = static_cast<uint32_t>(bits);
}

void ReadHash(ArgumentReader& reader, std::string_view missing, FilterParams& params) {
  const std::string_view name = reader.Next(missing);
  const std::optional<core::HashKind> hash = core::HashKindFromName(name);
  if (!hash) reader.Fail(wire::UnknownHash(name, core::HashKindNames()));
  params.hash = hash.value_or(core::HashKind::kXxh3);
}

void ReadBucketSize(ArgumentReader& reader, std::string_view missing, FilterParams& params) {
  const uint64_t size = reader.Unsigned(missing, wire::kBadBucketSize);
  if (reader.ok() && (size < core::kMinBucketSize || size > core::kMaxBucketSize)) reader.Fail(wire::kBadBucketSize);
  params.bucket_size = static_cast<uint32_t>(size);
}

void ReadMaxIterations(ArgumentReader& reader, std::string_view missing, FilterParams& params) {
  const uint64_t iterations = reader.Unsigned(missing, wire::kBadMaxIterations);
  if (reader.ok() && (iterations < 1 || iterations > core::kMaxMaxIterations)) reader.Fail(wire::kBadMaxIterations);
  params.max_iterations = static_cast<uint32_t>(iterations);
}

constexpr KindOption kOptions[] = {
    {.word = "WINDOW",
     .noun = "window",
     .missing = wire::kNoWindow,
     .fits = [](FilterKind kind) { return kind == FilterKind::kWindow; },
     .read = ReadWindow,
     .text = [](const FilterParams& params) { return WindowText(params.window); }},
    {.word = "COUNTERBITS",
     .noun = "number of counter bits",
     .missing = wire::kNoCounterBits,
     .fits = [](FilterKind kind) { return kind == FilterKind::kCounting; },
     .read = ReadCounterBits,
     .text = [](const FilterParams& params) { return std::to_string(params.counter_bits); }},
    {.word = "HASH",
     .noun = "hash",
     .missing = wire::kNoHash,
     .fits = core::HashIsChosen,
     .read = ReadHash,
     .text = [](const FilterParams& params) { return std::string(core::HashKindName(params.hash)); }},
    {.word = "BUCKETSIZE",
     .noun = "bucket size",
     .missing = wire::kNoBucketSize,
     .fits = [](FilterKind kind) { return kind == FilterKind::kCuckoo; },
     .read = ReadBucketSize,
     .text = [](const FilterParams& params) { return std::to_string(params.bucket_size); }},
    {.word = "MAXITERATIONS",
     .noun = "number of iterations",
     .missing = wire::kNoMaxIterations,
     .fits = [](FilterKind kind) { return kind == FilterKind::kCuckoo; },
     .read = ReadMaxIterations,
     .text = [](const FilterParams& params) { return std::to_string(params.max_iterations); }},
};
static_assert(std::size(kOptions) <= sizeof(KindOptionSet) * 8);

std::string KindsOf(const KindOption& option) {
  std::string names;
  for (const core::FilterKindRow& row : core::kFilterKinds) {
    if (!option.fits(row.kind)) continue;
    if (!names.empty()) names += " or ";
    names += row.name;
  }
  return names;
}

}  // namespace

bool ReadKindOption(ArgumentReader& reader, std::string_view missing_instead, FilterParams& params,
                    KindOptionSet& given) {
  for (size_t i = 0; i < std::size(kOptions); ++i) {
    const KindOption& option = kOptions[i];
    if (!reader.Skip(option.word)) continue;
    option.read(reader, missing_instead.empty() ? option.missing : missing_instead, params);
    given |= KindOptionSet{1} << i;
    return true;
  }
  return false;
}

void RefuseMisplaced(ArgumentReader& reader, KindOptionSet given, FilterKind kind) {
  for (size_t i = 0; i < std::size(kOptions); ++i) {
    const KindOption& option = kOptions[i];
    if ((given >> i & 1) != 0 && !option.fits(kind)) reader.Fail(wire::OptionOfKinds(option.word, KindsOf(option)));
  }
}

std::optional<std::string> KindOptionDifference(const FilterParams& have, const FilterParams& asked) {
  for (const KindOption& option : kOptions) {
    if (!option.fits(have.kind)) continue;
    const std::string its = option.text(have);
    const std::string other = option.text(asked);
    if (its != other) return wire::ExistsWithOther(option.noun, its, other);
  }
  return std::nullopt;
}

}  // namespace bitsieve::server
