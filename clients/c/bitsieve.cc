#include "clients/c/bitsieve.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "clients/c/guarded.h"
#include "clients/cpp/filter.h"
#include "core/filter/filter_type.h"
#include "core/filter/item_expiry.h"

struct bitsieve_filter {
  bitsieve::Filter filter;
};

namespace {

using bitsieve::Filter;
using bitsieve::FilterOptions;
using bitsieve::Result;
using bitsieve::Status;
using bitsieve::clients::GiveBytes;
using bitsieve::clients::GiveDescription;
using bitsieve::clients::Guarded;
using bitsieve::clients::GuardedArray;
using bitsieve::clients::RefuseNull;
using bitsieve::clients::ViewOf;

constexpr size_t kBatch = 64;  // items that are passed on together

// For functions that work on a filter: a NULL that a caller did not check for is an error, no crash.
template <class Call>
bitsieve_status GuardedWith(const bitsieve_filter* filter, bitsieve_error* error, const Call& call) noexcept {
  return filter == nullptr ? RefuseNull("the filter is NULL", error) : Guarded(error, call);
}

// For functions that take one item, which may be NULL if it is empty.
template <class Call>
bitsieve_status GuardedItem(const bitsieve_filter* filter, const void* item, size_t size, bitsieve_error* error,
                            const Call& call) noexcept {
  if (item == nullptr && size != 0) return RefuseNull("the item is NULL, and its size is not 0", error);
  return GuardedWith(filter, error, call);
}

// Copies the value of `result` to `out`.
template <class T, class Out>
Status Give(const Result<T>& result, Out* out) {
  if (!result) return tl::unexpected(result.error());
  if (out != nullptr) *out = static_cast<Out>(*result);
  return {};
}

template <class Make>
bitsieve_status MakeHandle(bitsieve_filter** filter, bitsieve_error* error, const Make& make) noexcept {
  if (filter == nullptr) return RefuseNull("the place for the filter is NULL", error);
  *filter = nullptr;
  return Guarded(error, [&]() -> Status {
    Result<Filter> made = make();
    if (!made) return tl::unexpected(made.error());
    *filter = new bitsieve_filter{std::move(*made)};
    return {};
  });
}

template <class Make>
bitsieve_status MakeFromPath(const char* path, bitsieve_filter** filter, bitsieve_error* error,
                             const Make& make) noexcept {
  if (path == nullptr) return RefuseNull("the path is NULL", error);
  return MakeHandle(filter, error, [&] { return make(path); });
}

// Calls use(first, views) for the items, a batch at a time, until it fails.
template <class Use>
Status ForBatches(const void* const* items, const size_t* sizes, size_t count, const Use& use) {
  std::array<std::string_view, kBatch> views;
  for (size_t first = 0; first < count; first += kBatch) {
    const size_t batch = std::min(kBatch, count - first);
    for (size_t i = 0; i < batch; ++i) views[i] = ViewOf(items[first + i], sizes[first + i]);
    if (Status status = use(first, std::span<const std::string_view>(views).first(batch)); !status) return status;
  }
  return {};
}

Result<FilterOptions> OptionsOf(const bitsieve_options& given) {
  if (given.size < sizeof(bitsieve_options) || given.type == nullptr) {
    return bitsieve::core::Fail(bitsieve::ErrorCode::kInvalidArgument,
                                "the options were not set by bitsieve_options_init, or have no type");
  }
  if (given.expansion > UINT32_MAX || given.expansion < -1) {
    return bitsieve::core::Fail(bitsieve::ErrorCode::kInvalidArgument,
                                "expansion must be in the range [0, 32768], or -1 for the default");
  }
  FilterOptions options{.type = given.type, .error_rate = given.error_rate, .capacity = given.capacity};
  if (given.expansion >= 0) options.expansion = static_cast<uint32_t>(given.expansion);
  if (given.tightening_ratio != 0) options.tightening_ratio = given.tightening_ratio;
  if (given.has_seed != 0) options.seed = given.seed;
  if (given.type_options == nullptr && given.type_option_count != 0) {
    return bitsieve::core::Fail(bitsieve::ErrorCode::kInvalidArgument, "type_options is NULL, and its count is not 0");
  }
  for (size_t i = 0; i < given.type_option_count; ++i) {
    if (given.type_options[i].word == nullptr || given.type_options[i].value == nullptr) {
      return bitsieve::core::Fail(bitsieve::ErrorCode::kInvalidArgument, "a word or value of type_options is NULL");
    }
    options.type_options.emplace_back(given.type_options[i].word, given.type_options[i].value);
  }
  options.memory_limit_bytes = given.memory_limit_bytes;
  return options;
}

}  // namespace

const char* bitsieve_version(void) { return BITSIEVE_VERSION; }

void bitsieve_options_init(bitsieve_options* options, size_t size) {
  const bitsieve_options defaults{.size = size,
                                  .type = "blocked",
                                  .error_rate = 0.01,
                                  .capacity = 100,
                                  .expansion = -1,
                                  .tightening_ratio = 0,
                                  .has_seed = 0,
                                  .seed = 0,
                                  .type_options = nullptr,
                                  .type_option_count = 0,
                                  .memory_limit_bytes = 0};
  std::memcpy(options, &defaults, std::min(size, sizeof defaults));
}

bitsieve_status bitsieve_make(const bitsieve_options* options, bitsieve_filter** filter, bitsieve_error* error) {
  if (options == nullptr) return RefuseNull("the options are NULL", error);
  return MakeHandle(filter, error, [&]() -> Result<Filter> {
    const Result<FilterOptions> wanted = OptionsOf(*options);
    if (!wanted) return tl::unexpected(wanted.error());
    return Filter::Make(*wanted);
  });
}

bitsieve_status bitsieve_load(const char* path, bitsieve_filter** filter, bitsieve_error* error) {
  return MakeFromPath(path, filter, error, [](const char* name) { return Filter::Load(name); });
}

bitsieve_status bitsieve_map(const char* path, bitsieve_filter** filter, bitsieve_error* error) {
  return MakeFromPath(path, filter, error, [](const char* name) { return Filter::Map(name); });
}

bitsieve_status bitsieve_from_bytes(const void* bytes, size_t size, bitsieve_filter** filter, bitsieve_error* error) {
  if (bytes == nullptr && size != 0) return RefuseNull("the bytes are NULL, and their size is not 0", error);
  return MakeHandle(filter, error, [&] { return Filter::FromBytes(ViewOf(bytes, size)); });
}

void bitsieve_free(bitsieve_filter* filter) { delete filter; }

bitsieve_status bitsieve_add(bitsieve_filter* filter, const void* item, size_t size, uint8_t* added,
                             bitsieve_error* error) {
  return GuardedItem(filter, item, size, error, [&] { return Give(filter->filter.Add(ViewOf(item, size)), added); });
}

bitsieve_status bitsieve_add_many(bitsieve_filter* filter, const void* const* items, const size_t* sizes, size_t count,
                                  uint8_t* added, bitsieve_error* error) {
  if (count != 0 && (items == nullptr || sizes == nullptr || added == nullptr)) {
    return RefuseNull("items, sizes or added is NULL, and count is not 0", error);
  }
  std::fill_n(added, count, uint8_t{0});
  return GuardedWith(filter, error, [&] {
    return ForBatches(items, sizes, count, [&](size_t first, std::span<const std::string_view> views) {
      return filter->filter.Add(views, {added + first, views.size()});
    });
  });
}

int bitsieve_may_contain(const bitsieve_filter* filter, const void* item, size_t size) {
  return filter != nullptr && filter->filter.MayContain(ViewOf(item, size)) ? 1 : 0;
}

void bitsieve_may_contain_many(const bitsieve_filter* filter, const void* const* items, const size_t* sizes,
                               size_t count, uint8_t* present) {
  if (filter == nullptr) {
    std::fill_n(present, count, uint8_t{0});
    return;
  }
  (void)ForBatches(items, sizes, count, [&](size_t first, std::span<const std::string_view> views) -> Status {
    filter->filter.MayContain(views, {present + first, views.size()});
    return {};
  });
}

bitsieve_status bitsieve_add_array(bitsieve_filter* filter, const bitsieve_array* items, uint8_t* added,
                                   bitsieve_error* error) {
  return GuardedArray(filter, items, added, error, [&](std::span<const std::string_view> views, std::span<uint8_t> to) {
    return filter->filter.Add(views, to);
  });
}

bitsieve_status bitsieve_may_contain_array(const bitsieve_filter* filter, const bitsieve_array* items, uint8_t* present,
                                           bitsieve_error* error) {
  return GuardedArray(filter, items, present, error,
                      [&](std::span<const std::string_view> views, std::span<uint8_t> to) -> Status {
                        filter->filter.MayContain(views, to);
                        return {};
                      });
}

bitsieve_status bitsieve_remove(bitsieve_filter* filter, const void* item, size_t size, uint8_t* removed,
                                bitsieve_error* error) {
  return GuardedItem(filter, item, size, error,
                     [&] { return Give(filter->filter.Remove(ViewOf(item, size)), removed); });
}

bitsieve_status bitsieve_note_false_positive(bitsieve_filter* filter, const void* item, size_t size, uint8_t* noted,
                                             bitsieve_error* error) {
  return GuardedItem(filter, item, size, error,
                     [&] { return Give(filter->filter.RecordFalsePositive(ViewOf(item, size)), noted); });
}

bitsieve_status bitsieve_add_for(bitsieve_filter* filter, const void* item, size_t size, uint64_t time_to_live_ms,
                                 uint8_t* added, bitsieve_error* error) {
  return GuardedItem(filter, item, size, error, [&] {
    const auto ms = static_cast<int64_t>(std::min<uint64_t>(time_to_live_ms, INT64_MAX));
    return Give(filter->filter.Add(ViewOf(item, size), std::chrono::milliseconds(ms)), added);
  });
}

bitsieve_status bitsieve_time_to_live(const bitsieve_filter* filter, const void* item, size_t size, int64_t* left_ms,
                                      bitsieve_error* error) {
  return GuardedItem(filter, item, size, error, [&]() -> Status {
    const auto left = filter->filter.TimeToLive(ViewOf(item, size));
    if (!left) return tl::unexpected(left.error());
    if (left_ms != nullptr) *left_ms = *left ? (*left)->count() : bitsieve::core::kNoTimeToLive;
    return {};
  });
}

bitsieve_status bitsieve_touch(bitsieve_filter* filter, const void* item, size_t size, uint8_t* touched,
                               bitsieve_error* error) {
  return GuardedItem(filter, item, size, error,
                     [&] { return Give(filter->filter.Touch(ViewOf(item, size)), touched); });
}

bitsieve_status bitsieve_count(const bitsieve_filter* filter, const void* item, size_t size, uint64_t* count,
                               bitsieve_error* error) {
  return GuardedItem(filter, item, size, error, [&] { return Give(filter->filter.Count(ViewOf(item, size)), count); });
}

bitsieve_status bitsieve_merge(bitsieve_filter* filter, const bitsieve_filter* other, bitsieve_error* error) {
  if (other == nullptr) return RefuseNull("the other filter is NULL", error);
  return GuardedWith(filter, error, [&] { return filter->filter.Merge(other->filter); });
}

bitsieve_status bitsieve_fold(bitsieve_filter* filter, uint64_t capacity, bitsieve_error* error) {
  return GuardedWith(filter, error, [&] { return filter->filter.Fold(capacity); });
}

bitsieve_status bitsieve_freeze(bitsieve_filter* filter, bitsieve_error* error) {
  return GuardedWith(filter, error, [&] { return filter->filter.Freeze(); });
}

bitsieve_status bitsieve_save(const bitsieve_filter* filter, const char* path, bitsieve_error* error) {
  if (path == nullptr) return RefuseNull("the path is NULL", error);
  return GuardedWith(filter, error, [&] { return filter->filter.Save(path); });
}

bitsieve_status bitsieve_to_bytes(const bitsieve_filter* filter, void** bytes, size_t* size, bitsieve_error* error) {
  if (bytes == nullptr || size == nullptr) return RefuseNull("the place for the bytes or their size is NULL", error);
  *bytes = nullptr;
  *size = 0;
  return GuardedWith(filter, error, [&] { return GiveBytes(filter->filter.ToBytes(), bytes, size); });
}

void bitsieve_free_bytes(void* bytes) { std::free(bytes); }

bitsieve_status bitsieve_verify(const bitsieve_filter* filter, bitsieve_error* error) {
  return GuardedWith(filter, error, [&] { return filter->filter.Verify(); });
}

bitsieve_status bitsieve_describe(const bitsieve_filter* filter, bitsieve_description* description, size_t size) {
  if (description == nullptr) return BITSIEVE_INVALID_ARGUMENT;
  return GuardedWith(filter, nullptr, [&]() -> Status {
    GiveDescription(filter->filter.Describe(), description, size);
    return {};
  });
}
