#include "commands/cuckoo_options.h"

#include <optional>

#include "commands/cuckoo_errors.h"
#include "commands/wire_errors.h"
#include "core/families/redisbloom/redisbloom_types.h"

namespace bitsieve::commands {
namespace {

struct Range {
  int64_t low, high;
};
constexpr Range kIterations{1, core::kMaxRedisCuckooIterations};
constexpr Range kBucketSize{1, core::kMaxRedisCuckooBucketSize};
constexpr Range kExpansion{0, core::kMaxExpansion};

uint32_t Bounded(ArgumentReader& reader, std::optional<std::string_view> text, uint32_t otherwise, Range range,
                 std::string_view malformed, std::string_view out_of_range) {
  if (!text) return otherwise;
  const std::optional<int64_t> number = ParseInteger(*text);
  if (!number) reader.Fail(malformed);
  if (number && (*number < range.low || *number > range.high)) reader.Fail(out_of_range);
  return reader.ok() ? static_cast<uint32_t>(*number) : otherwise;
}

// Two buckets at least.
uint64_t BoundedCapacity(ArgumentReader& reader, int64_t capacity, uint32_t bucket_size,
                         std::string_view out_of_range) {
  if (capacity < 2 * int64_t{bucket_size} || capacity > static_cast<int64_t>(core::kMaxCapacity)) {
    reader.Fail(out_of_range);
  }
  return static_cast<uint64_t>(capacity);
}

struct ReserveTexts {
  std::optional<std::string_view> max_iterations, bucket_size, expansion;
};

// RedisBloom takes the first of a repeated option.
ReserveTexts ReadTexts(ArgumentReader& reader) {
  ReserveTexts texts;
  const auto read = [&reader](std::optional<std::string_view>& text) {
    const std::string_view next = reader.Next(wire::kSyntax);
    if (!text) text = next;
  };
  while (reader.More()) {
    if (reader.Skip("MAXITERATIONS")) {
      read(texts.max_iterations);
    } else if (reader.Skip("BUCKETSIZE")) {
      read(texts.bucket_size);
    } else if (reader.Skip("EXPANSION")) {
      read(texts.expansion);
    } else {
      reader.Fail(wire::UnknownOption(reader.Peek()));
    }
  }
  return texts;
}

}  // namespace

core::FilterParams DefaultCuckooParams(const CommandSettings& settings) {
  core::FilterParams params;
  params.type = core::kRedisCuckooType;
  params.hash = core::HashKind::kRedisCuckoo;
  params.capacity = settings.cf_initial_size.load(std::memory_order_relaxed);
  core::SetRedisCuckooParams(params, {settings.cf_bucket_size.load(std::memory_order_relaxed),
                                      settings.cf_max_iterations.load(std::memory_order_relaxed)});
  params.expansion = settings.cf_expansion_factor.load(std::memory_order_relaxed);
  return params;
}

// In RedisBloom's order of checks, whatever the order of the arguments.
core::FilterParams ReadCuckooReserve(ArgumentReader& reader, const CommandSettings& settings) {
  core::FilterParams params = DefaultCuckooParams(settings);
  const int64_t capacity = reader.Integer(wire::kInsertBadCapacity, wire::kInsertBadCapacity);
  const ReserveTexts texts = ReadTexts(reader);
  core::RedisCuckooParams own = core::RedisCuckooParamsOf(params);
  own.max_iterations = Bounded(reader, texts.max_iterations, own.max_iterations, kIterations,
                               wire::kBadCuckooIterations, wire::kMaxIterationsRange);
  own.bucket_size = Bounded(reader, texts.bucket_size, own.bucket_size, kBucketSize, wire::kBadCuckooBucketSize,
                            wire::kBucketSizeRange);
  core::SetRedisCuckooParams(params, own);
  params.expansion = Bounded(reader, texts.expansion, params.expansion, kExpansion, wire::kBadCuckooExpansion,
                             wire::kCuckooExpansionRange);
  params.capacity = BoundedCapacity(reader, capacity, own.bucket_size, wire::kCuckooCapacityRange);
  return params;
}

CuckooInsertRequest ReadCuckooInsert(ArgumentReader& reader, const CommandSettings& settings) {
  CuckooInsertRequest request;
  request.params = DefaultCuckooParams(settings);
  while (reader.More()) {
    if (reader.Skip("ITEMS")) {
      request.items = reader.Rest();
    } else if (reader.Skip("CAPACITY")) {
      const int64_t capacity = reader.Integer(wire::kArity, wire::kInsertBadCapacity);
      request.params.capacity = BoundedCapacity(reader, capacity, core::RedisCuckooParamsOf(request.params).bucket_size,
                                                wire::kCuckooInsertCapacityRange);
    } else if (reader.Skip("NOCREATE")) {
      request.create = false;
    } else {
      reader.Fail(wire::kInsertUnknownArgument);
    }
  }
  if (request.items.empty()) reader.Fail(wire::kArity);
  return request;
}

}  // namespace bitsieve::commands
