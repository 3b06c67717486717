#include "module/redisbloom_stream.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "commands/cuckoo_errors.h"
#include "commands/cuckoo_lookup.h"
#include "commands/cuckoo_options.h"
#include "commands/filter_commands.h"
#include "commands/wire_errors.h"
#include "core/base/bytes.h"
#include "core/base/parse.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/families/valkeybloom/valkey_bloom_type.h"
#include "core/filter/filter_dump.h"
#include "core/filter/filter_factory.h"

namespace bitsieve::module {
namespace {

using commands::Arguments;
using commands::CommandContext;
using commands::CommandRow;
using core::FilterPtr;
namespace wire = commands::wire;

// ---- filters that come to be

struct BloomRequest {
  core::FilterParams params;
  bool nonscaling = false;
};

BloomRequest DefaultBloom(const CommandContext& context) {
  const commands::CommandSettings& settings = context.settings();
  BloomRequest request;
  request.params.type = core::kRedisBloomType;
  request.params.hash = core::HashKind::kRedisBloom;
  request.params.error_rate = settings.default_error_rate.load(std::memory_order_relaxed);
  request.params.capacity = settings.default_capacity.load(std::memory_order_relaxed);
  request.params.expansion = settings.default_expansion.load(std::memory_order_relaxed);
  return request;
}

// Replies with an error if there is no memory for it, or if no filter can have such parameters.
bool Insert(CommandContext& context, const core::FilterParams& params) {
  auto made = core::MakeFilter(params, context.keyspace().memory(), context.keyspace().clock());
  if (made) {
    context.Hold(context.keyspace().InsertIfAbsent(context.arguments[1], FilterPtr(std::move(*made))));
    return true;
  }
  const bool out_of_memory = made.error().code == core::ErrorCode::kOutOfMemory;
  context.Error(out_of_memory ? std::string(wire::kOutOfMemory) : wire::FilterRefused(made.error().message));
  return false;
}

// RedisBloom keeps the growth that NONSCALING takes the place of; EXPANSION 0 leaves none.
bool InsertBloom(CommandContext& context, BloomRequest request) {
  core::FilterParams& params = request.params;
  params.error_rate = std::min(params.error_rate, core::kMaxErrorRate);
  if (request.nonscaling) {
    core::SetRedisBloomMarks(params, {.growth = params.expansion});
    params.expansion = 0;
  }
  return Insert(context, params);
}

// ---- options

// The number after an option, if it is one and in the range of what it is for.
template <class Number>
void Read(std::string_view text, Number& number) {
  const std::optional<uint64_t> read = commands::ParseUnsigned(text);
  if (read && *read <= std::numeric_limits<Number>::max()) number = static_cast<Number>(*read);
}
void Read(std::string_view text, double& number) {
  const std::optional<double> read = commands::ParseDouble(text);
  if (read) number = *read;
}

// Goes through options from `next` on. `take(word, value)` is whether it took both; else the word alone is passed over.
// RedisBloom's RESERVE commands take the first of a repeated option.
template <class Take>
void ReadOptions(Arguments arguments, size_t next, const Take& take) {
  while (next < arguments.size()) {
    const std::string_view value = next + 1 < arguments.size() ? arguments[next + 1] : std::string_view();
    next += take(core::LowerCase(arguments[next]), value) ? 2 : 1;
  }
}

void ReplyTaken(CommandContext& context) { context.Error(wire::kItemExists); }

bool ReserveBloom(CommandContext& context) {
  BloomRequest request = DefaultBloom(context);
  Read(context.arguments[2], request.params.error_rate);
  Read(context.arguments[3], request.params.capacity);
  bool expansion_read = false;
  ReadOptions(context.arguments, 4, [&](const std::string& word, std::string_view value) {
    if (word == "nonscaling") request.nonscaling = true;
    if (word != "expansion") return false;
    if (!std::exchange(expansion_read, true)) Read(value, request.params.expansion);
    return true;
  });
  if (context.FindFilter() != nullptr) {
    ReplyTaken(context);
  } else if (InsertBloom(context, request)) {
    context.reply.Ok();
  }
  return true;
}

bool ReserveCuckoo(CommandContext& context) {
  core::FilterParams params = commands::DefaultCuckooParams(context.settings());
  core::RedisCuckooParams own = core::RedisCuckooParamsOf(params);
  Read(context.arguments[2], params.capacity);
  std::optional<std::string_view> bucket_size, max_iterations, expansion;
  ReadOptions(context.arguments, 3, [&](const std::string& word, std::string_view value) {
    auto* const option = word == "bucketsize"      ? &bucket_size
                         : word == "maxiterations" ? &max_iterations
                         : word == "expansion"     ? &expansion
                                                   : nullptr;
    if (option != nullptr && !*option) *option = value;
    return option != nullptr;
  });
  if (bucket_size) Read(*bucket_size, own.bucket_size);
  if (max_iterations) Read(*max_iterations, own.max_iterations);
  if (expansion) Read(*expansion, params.expansion);
  core::SetRedisCuckooParams(params, own);
  if (context.FindFilter() != nullptr) {
    ReplyTaken(context);
  } else if (Insert(context, params)) {
    context.reply.Ok();
  }
  return true;
}

// ---- BF.INSERT and CF.INSERT: as many letters as distinguish an option are enough. Options that only Bitsieve has all
// take a value.

struct InsertRequest {
  BloomRequest bloom;
  std::optional<uint64_t> capacity = std::nullopt;  // also of CF.INSERT
  Arguments items = {};
};

InsertRequest ReadInsert(const CommandContext& context) {
  InsertRequest request{.bloom = DefaultBloom(context)};
  core::FilterParams& params = request.bloom.params;
  const Arguments arguments = context.arguments;
  for (size_t next = 2; next + 1 < arguments.size();) {
    const std::string word = core::LowerCase(arguments[next]);
    const std::string_view value = arguments[next + 1];
    if (word.starts_with("i")) {
      request.items = arguments.subspan(next + 1);
      break;
    }
    if (word.starts_with("n")) {
      request.bloom.nonscaling |= word.starts_with("non");
      ++next;
      continue;
    }
    const bool is_capacity = word.starts_with("c") && !word.starts_with("co");
    if (is_capacity) request.capacity = commands::ParseUnsigned(value);
    if (word.starts_with("er")) Read(value, params.error_rate);
    if (word.starts_with("ex")) Read(value, params.expansion);
    next += 2;
  }
  params.capacity = request.capacity.value_or(params.capacity);
  return request;
}

// The command becomes one of the items alone.
void BecomeAddition(CommandContext& context, const InsertRequest& request, bool cuckoo,
                    std::vector<std::string_view>& storage) {
  const std::string_view key = context.arguments[1];
  if (cuckoo) {
    storage = {context.arguments[0], key, "ITEMS"};
  } else {
    context.row = commands::FindFilterCommand("bf.madd");
    storage = {context.row->name, key};
  }
  storage.insert(storage.end(), request.items.begin(), request.items.end());
  context.arguments = storage;
}

// valkey-bloom's own BF.INSERT, which states everything of a filter.
bool HasValkeySeed(Arguments arguments) {
  for (size_t i = 2; i + 1 < arguments.size() && core::LowerCase(arguments[i]) != "items"; ++i) {
    if (core::LowerCase(arguments[i]) == "seed") return arguments[i + 1].size() == core::kValkeySeedBytes;
  }
  return false;
}

bool InsertBloomItems(CommandContext& context, std::vector<std::string_view>& storage) {
  if (HasValkeySeed(context.arguments)) return false;
  const InsertRequest request = ReadInsert(context);
  if (request.items.empty()) return false;
  if (context.FindFilter() == nullptr && !InsertBloom(context, request.bloom)) return true;
  BecomeAddition(context, request, false, storage);
  return false;
}

bool InsertCuckooItems(CommandContext& context, std::vector<std::string_view>& storage) {
  const InsertRequest request = ReadInsert(context);
  if (request.items.empty()) return false;
  if (context.FindFilter() == nullptr) {
    core::FilterParams params = commands::DefaultCuckooParams(context.settings());
    params.capacity = request.capacity.value_or(params.capacity);
    if (!Insert(context, params)) return true;
  }
  BecomeAddition(context, request, true, storage);
  return false;
}

// A master of RedisBloom's does not send its defaults: a filter of another size has other bytes, and its own errors.
void WarnOfDefaults(const core::FilterParams& params) {
  static bool warned = false;
  if (std::exchange(warned, true)) return;
  engine::Log(
      nullptr, "warning",
      "bitsieve: BF.ADD or BF.MADD of a RedisBloom master or log creates a filter. It gets this node's defaults: error "
      "rate %g, capacity %llu, expansion %u. If the other node has different defaults, set the same ones here "
      "(bf.default-error-rate, bf.default-capacity, bf.default-expansion): these filters differ until then",
      params.error_rate, static_cast<unsigned long long>(params.capacity), params.expansion);
}

// The row's own handler adds to the filter that is there then.
bool AddBloom(CommandContext& context) {
  if (context.FindFilter() != nullptr) return false;
  const BloomRequest request = DefaultBloom(context);
  WarnOfDefaults(request.params);
  return !InsertBloom(context, request);
}

// ---- chunks

// The filter that a header describes, none of whose bytes have come.
core::Result<FilterPtr> Unfilled(core::FilterDecoder& decoder) {
  static constexpr std::array<std::byte, 64 * 1024> kZeros{};
  for (uint64_t left = decoder.body_bytes(); left > 0;) {
    const auto zeros = std::span(kZeros).first(std::min<uint64_t>(left, kZeros.size()));
    if (core::Status status = decoder.Append(zeros); !status) return tl::unexpected(std::move(status).error());
    left -= zeros.size();
  }
  auto filter = decoder.Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  return FilterPtr(std::move(*filter));
}

void Begin(CommandContext& context, const FilterPtr& unfilled) {
  context.Hold(context.keyspace().InsertIfAbsent(context.arguments[1], unfilled));
  context.reply.Ok();
}

void BeginBloom(CommandContext& context, core::ItemCounts counts) {
  const core::RedisBloomForm& form = *core::FindFilterType(core::kRedisBloomType)->redisbloom_form;
  const auto opened = form.open(context.arguments[3], counts, context.keyspace().memory());
  const core::Result<FilterPtr> made = opened ? Unfilled(**opened) : tl::unexpected(opened.error());
  if (made) return Begin(context, *made);
  const bool out_of_memory = made.error().code == core::ErrorCode::kOutOfMemory;
  out_of_memory ? context.MemoryError() : context.Error(wire::BadData(made.error().message));
}

void BeginCuckoo(CommandContext& context) {
  const auto opened = commands::OpenCuckooHeader(context, context.arguments[3]);
  if (opened == nullptr) return;
  const core::Result<FilterPtr> made = Unfilled(*opened);
  made ? Begin(context, *made) : context.MemoryError();  // a header that was read leaves nothing else to refuse
}

uint64_t BodyBytes(const core::Filter& filter) {
  uint64_t bytes = 0;
  for (const core::SubFilterInfo& info : filter.DescribeSubFilters()) bytes += info.bytes;
  return bytes;
}

// Empty if it was written.
std::string_view WriteBloomChunk(core::Filter& filter, int64_t cursor, std::string_view bytes) {
  if (cursor <= 0 || static_cast<uint64_t>(cursor) < bytes.size()) return wire::kBadData;
  const uint64_t offset = static_cast<uint64_t>(cursor) - bytes.size() - 1;
  if (offset >= BodyBytes(filter)) return wire::kInvalidOffset;
  return filter.type().redisbloom_form->write(filter, offset, bytes) ? "" : wire::kInvalidChunk;
}

std::string_view WriteCuckooChunk(core::Filter& filter, int64_t cursor, std::string_view bytes) {
  const uint64_t end = static_cast<uint64_t>(cursor) - 1;
  const bool fits = !bytes.empty() && end >= bytes.size();
  const bool written = fits && filter.type().redisbloom_form->write(filter, end - bytes.size(), bytes);
  return written ? "" : wire::kChunkRefused;
}

void ReplyWritten(CommandContext& context, std::string_view error) {
  error.empty() ? context.reply.Ok() : context.Error(error);
}

bool LoadBloomChunk(CommandContext& context, core::ItemCounts counts) {
  const std::optional<int64_t> cursor = commands::ParseInteger(context.arguments[2]);
  core::Filter* const filter = context.FindFilter();
  if (!cursor) {
    context.Error(wire::kLoadCursorNotNumeric);
  } else if (filter == nullptr) {
    if (*cursor != 1 || core::IsFilterDump(context.arguments[3])) return false;
    BeginBloom(context, counts);
  } else if (filter->type().is_cuckoo_value()) {
    context.Error(wire::kWrongType);
  } else if (filter->type().redisbloom_form != nullptr) {
    ReplyWritten(context, WriteBloomChunk(*filter, *cursor, context.arguments[3]));
  } else {
    return false;
  }
  return true;
}

bool LoadCuckooChunk(CommandContext& context) {
  const std::optional<int64_t> cursor = commands::ParseInteger(context.arguments[2]);
  core::Filter* const filter = context.FindFilter();
  if (!cursor || *cursor <= 0) {
    context.Error(wire::kInvalidPosition);
  } else if (filter == nullptr) {
    if (*cursor != 1) return false;
    BeginCuckoo(context);
  } else if (!filter->type().is_cuckoo_value()) {
    context.Error(wire::kWrongType);
  } else if (*cursor == 1) {
    context.Error(wire::kItemExists);
  } else {
    ReplyWritten(context, WriteCuckooChunk(*filter, *cursor, context.arguments[3]));
  }
  return true;
}

// ---- to replicas

long long Number(uint64_t value) { return static_cast<long long>(value); }

void ReplicateCuckooReserve(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  const core::RedisCuckooParams own = core::RedisCuckooParamsOf(params);
  engine::Replicate(context, "CF.RESERVE", "slclclcl", key, Number(params.capacity), "BUCKETSIZE",
                    Number(own.bucket_size), "MAXITERATIONS", Number(own.max_iterations), "EXPANSION",
                    Number(params.expansion));
}

// A filter that does not grow keeps the expansion that NONSCALING took the place of.
void ReplicateBloomReserve(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.17g", params.error_rate);
  if (params.scaling() || core::RedisBloomMarksOf(params).growth == 0) {
    engine::Replicate(context, "BF.RESERVE", "sclcl", key, rate, Number(params.capacity), "EXPANSION",
                      Number(params.expansion));
  } else {
    engine::Replicate(context, "BF.RESERVE", "sclc", key, rate, Number(params.capacity), "NONSCALING");
  }
}

}  // namespace

bool MayBeRedisBlooms(const CommandRow& row) {
  constexpr std::array<std::string_view, 9> kNames{"bf.reserve", "bf.add",       "bf.madd",
                                                   "bf.insert",  "bf.loadchunk", "cf.reserve",
                                                   "cf.insert",  "cf.insertnx",  "cf.loadchunk"};
  return std::ranges::find(kNames, row.name) != kNames.end();
}

bool RunAsRedisBloom(CommandContext& context, std::vector<std::string_view>& storage) {
  const std::string_view name = context.row->name;
  if (name == "bf.reserve") return ReserveBloom(context);
  if (name == "cf.reserve") return ReserveCuckoo(context);
  if (name == "bf.insert") return InsertBloomItems(context, storage);
  if (name == "cf.insert" || name == "cf.insertnx") return InsertCuckooItems(context, storage);
  if (context.row->replication == commands::Replication::kContent) {
    return WriteRedisBloomChunk(context, core::ItemCounts::kDrifted);
  }
  return AddBloom(context);
}

bool WriteRedisBloomChunk(CommandContext& context, core::ItemCounts counts) {
  return context.row->name == "cf.loadchunk" ? LoadCuckooChunk(context) : LoadBloomChunk(context, counts);
}

bool ReplicateReserve(engine::Context* context, engine::String* key, const core::FilterParams& params) {
  if (params.type == core::kRedisCuckooType) {
    ReplicateCuckooReserve(context, key, params);
  } else if (params.type == core::kRedisBloomType) {
    ReplicateBloomReserve(context, key, params);
  } else {
    return false;
  }
  return true;
}

}  // namespace bitsieve::module
