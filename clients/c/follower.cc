#include <chrono>
#include <string>

#include "clients/c/bitsieve.h"
#include "clients/c/guarded.h"
#include "clients/cpp/followed_filter.h"

struct bitsieve_follower {
  bitsieve::FollowedFilter filter;
};

namespace {

using namespace bitsieve::clients;

using bitsieve::FollowOptions;
using bitsieve::Result;
using bitsieve::Status;

Result<FollowOptions> FollowOptionsOf(const bitsieve_follow_options* given) {
  FollowOptions options;
  if (given == nullptr) return options;
  if (given->size < sizeof(bitsieve_follow_options)) {
    return bitsieve::core::Fail(bitsieve::ErrorCode::kInvalidArgument,
                                "the options were not set by bitsieve_follow_options_init");
  }
  const auto milliseconds = [](uint64_t ms) {
    return std::chrono::milliseconds(std::min<uint64_t>(ms, std::chrono::milliseconds(std::chrono::hours(24)).count()));
  };
  options.interval = milliseconds(given->interval_ms);
  options.timeout = milliseconds(given->timeout_ms);
  if (given->cache_path != nullptr) options.cache_path = given->cache_path;
  options.memory_limit_bytes = given->memory_limit_bytes;
  return options;
}

template <class Call>
bitsieve_status GuardedFollower(const bitsieve_follower* follower, bitsieve_error* error, const Call& call) noexcept {
  return follower == nullptr ? RefuseNull("the follower is NULL", error) : Guarded(error, call);
}

// Copies as much as there is room for, and a zero.
template <size_t kSize>
void GiveText(std::string_view text, char (&out)[kSize]) {
  const size_t size = std::min(text.size(), kSize - 1);
  std::memcpy(out, text.data(), size);
  out[size] = '\0';
}

}  // namespace

void bitsieve_follow_options_init(bitsieve_follow_options* options, size_t size) {
  const FollowOptions defaults;
  GiveStructure<bitsieve_follow_options>({.size = size,
                                          .interval_ms = static_cast<uint64_t>(defaults.interval.count()),
                                          .timeout_ms = static_cast<uint64_t>(defaults.timeout.count()),
                                          .cache_path = nullptr,
                                          .memory_limit_bytes = defaults.memory_limit_bytes},
                                         options, size);
}

bitsieve_status bitsieve_follow(const char* url, const void* key, size_t key_size,
                                const bitsieve_follow_options* options, bitsieve_follower** follower,
                                bitsieve_error* error) {
  if (follower == nullptr) return RefuseNull("the place for the follower is NULL", error);
  *follower = nullptr;
  if (url == nullptr) return RefuseNull("the URL is NULL", error);
  if (key == nullptr && key_size != 0) return RefuseNull("the key is NULL, and its size is not 0", error);
  return Guarded(error, [&]() -> Status {
    const Result<FollowOptions> how = FollowOptionsOf(options);
    if (!how) return tl::unexpected(how.error());
    auto followed = bitsieve::FollowedFilter::Follow(url, std::string(ViewOf(key, key_size)), *how);
    if (!followed) return tl::unexpected(followed.error());
    *follower = new bitsieve_follower{std::move(*followed)};
    return {};
  });
}

void bitsieve_follower_free(bitsieve_follower* follower) { delete follower; }

int bitsieve_follower_may_contain(const bitsieve_follower* follower, const void* item, size_t size) {
  if (follower == nullptr || (item == nullptr && size != 0)) return 0;
  return follower->filter.MayContain(ViewOf(item, size)) ? 1 : 0;
}

bitsieve_status bitsieve_follower_may_contain_array(const bitsieve_follower* follower, const bitsieve_array* items,
                                                    uint8_t* present, bitsieve_error* error) {
  return GuardedArray(follower, items, present, error,
                      [&](std::span<const std::string_view> views, std::span<uint8_t> to) -> Status {
                        follower->filter.MayContain(views, to);
                        return {};
                      });
}

bitsieve_status bitsieve_follower_get_state(const bitsieve_follower* follower, bitsieve_follower_state* state,
                                            size_t size) {
  if (state == nullptr) return BITSIEVE_INVALID_ARGUMENT;
  return GuardedFollower(follower, nullptr, [&]() -> Status {
    bitsieve_follower_state whole{};
    whole.staleness_ms = follower->filter.Staleness().count();
    whole.dumps_read = follower->filter.DumpsRead();
    GiveText(follower->filter.Position(), whole.position);
    GiveText(follower->filter.Trouble(), whole.trouble);
    GiveStructure(whole, state, size);
    return {};
  });
}

bitsieve_status bitsieve_follower_describe(const bitsieve_follower* follower, bitsieve_description* description,
                                           size_t size) {
  if (description == nullptr) return BITSIEVE_INVALID_ARGUMENT;
  return GuardedFollower(follower, nullptr, [&]() -> Status {
    GiveDescription(follower->filter.Describe(), description, size);
    return {};
  });
}

bitsieve_status bitsieve_follower_to_bytes(const bitsieve_follower* follower, void** bytes, size_t* size,
                                           bitsieve_error* error) {
  if (bytes == nullptr || size == nullptr) return RefuseNull("the place for the bytes or their size is NULL", error);
  *bytes = nullptr;
  *size = 0;
  return GuardedFollower(follower, error, [&] { return GiveBytes(follower->filter.ToBytes(), bytes, size); });
}
