#include "module/redisbloom_stream.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "commands/cuckoo_options.h"
#include "commands/filter_commands.h"
#include "commands/wire_errors.h"
#include "core/base/bytes.h"
#include "core/base/parse.h"
#include "core/families/redisbloom/redis_bloom_codec.h"
#include "core/families/redisbloom/redis_bloom_filter.h"
#include "core/families/redisbloom/redis_cuckoo.h"
#include "core/families/redisbloom/redisbloom_types.h"
#include "core/filter/filter_factory.h"
#include "module/engine_api.h"

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
  ReadOptions(context.arguments, 4, [&request](const std::string& word, std::string_view value) {
    if (word == "nonscaling") request.nonscaling = true;
    if (word != "expansion") return false;
    Read(value, request.params.expansion);
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
  ReadOptions(context.arguments, 3, [&](const std::string& word, std::string_view value) {
    if (word == "bucketsize") {
      Read(value, own.bucket_size);
    } else if (word == "maxiterations") {
      Read(value, own.max_iterations);
    } else if (word == "expansion") {
      Read(value, params.expansion);
    } else {
      return false;
    }
    return true;
  });
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

bool InsertBloomItems(CommandContext& context, std::vector<std::string_view>& storage) {
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
  engine::Log(nullptr, "warning",
              "bitsieve: a RedisBloom master or log has BF.ADD or BF.MADD make a filter. It gets this node's defaults: "
              "error rate %g, capacity %llu, expansion %u. Where the other node has others, set them alike "
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
core::Result<FilterPtr> Unfilled(core::Result<std::unique_ptr<core::FilterDecoder>> opened) {
  if (!opened) return tl::unexpected(opened.error());
  static constexpr std::array<std::byte, 64 * 1024> kZeros{};
  core::FilterDecoder& decoder = **opened;
  for (uint64_t left = decoder.body_bytes(); left > 0;) {
    const auto zeros = std::span(kZeros).first(std::min<uint64_t>(left, kZeros.size()));
    if (core::Status status = decoder.Append(zeros); !status) return tl::unexpected(std::move(status).error());
    left -= zeros.size();
  }
  auto filter = decoder.Finish();
  if (!filter) return tl::unexpected(std::move(filter).error());
  return FilterPtr(std::move(*filter));
}

core::Result<FilterPtr> OpenHeader(CommandContext& context, bool cuckoo) {
  const std::string_view header = context.arguments[3];
  core::MemoryBudget& memory = context.keyspace().memory();
  if (!cuckoo) return Unfilled(core::OpenRedisBloom(header, core::ItemCounts::kDrifted, memory));
  const auto decoded = core::DecodeRedisCuckooHeader(header);
  if (!decoded) return tl::unexpected(decoded.error());
  return Unfilled(core::OpenRedisCuckooDump(*decoded, memory));
}

bool WriteChunk(core::Filter& filter, uint64_t offset, std::string_view bytes) {
  if (auto* bloom = dynamic_cast<core::RedisBloomFilter*>(&filter)) return bloom->WritePiece(offset, bytes);
  if (auto* cuckoo = dynamic_cast<core::RedisCuckoo*>(&filter)) return cuckoo->WriteChunk(offset, bytes);
  return false;
}

bool LoadChunk(CommandContext& context, bool cuckoo) {
  const std::optional<int64_t> cursor = commands::ParseInteger(context.arguments[2]);
  const std::string_view bytes = context.arguments[3];
  core::Filter* const filter = context.FindFilter();
  if (filter == nullptr) {
    const core::Result<FilterPtr> made = OpenHeader(context, cuckoo);
    if (!made) {
      context.Error(wire::BadData(made.error().message));
      return true;
    }
    context.Hold(context.keyspace().InsertIfAbsent(context.arguments[1], *made));
    context.reply.Ok();
    return true;
  }
  const uint64_t end = cursor && *cursor > 0 ? static_cast<uint64_t>(*cursor) - 1 : 0;
  if (end < bytes.size() || !WriteChunk(*filter, end - bytes.size(), bytes)) {
    context.Error(wire::kInvalidChunk);
    return true;
  }
  context.reply.Ok();
  return true;
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
  if (name == "bf.loadchunk") return LoadChunk(context, false);
  if (name == "cf.loadchunk") return LoadChunk(context, true);
  return AddBloom(context);
}

}  // namespace bitsieve::module
