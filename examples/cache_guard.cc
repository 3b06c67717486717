// A cache that keeps only pages that are requested twice. Most pages are requested only once, and would displace pages
// that are worth keeping; a filter remembers the first requests, in a few bytes each, and forgets old ones by itself.
//
//     c++ -std=c++20 cache_guard.cc $(pkg-config --cflags --libs bitsieve) -o cache_guard
//     ./cache_guard
//
// The program compares a cache of 10,000 pages with a guard and one without, over a million requests: half of them for
// 20,000 popular pages, half for pages that are requested only once.
#include <bitsieve/filter.h>

#include <cstdint>
#include <iostream>
#include <list>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>

namespace {

// Keeps the most recently requested pages.
class Cache {
 public:
  Cache(size_t most, std::optional<bitsieve::Filter> guard) : most_(most), guard_(std::move(guard)) {}

  // Returns whether the page came from the cache.
  bool Request(const std::string& page) {
    if (const auto found = places_.find(page); found != places_.end()) {
      pages_.splice(pages_.begin(), pages_, found->second);
      return true;
    }
    if (!guard_ || IsRequestedAgain(page)) Keep(page);
    return false;
  }

 private:
  // A filter that refuses an item, as a full one does, keeps nothing out.
  bool IsRequestedAgain(const std::string& page) {
    const bitsieve::Result<bool> is_new = guard_->Add(page);
    return !is_new || !*is_new;
  }
  void Keep(const std::string& page) {
    pages_.push_front(page);
    places_[page] = pages_.begin();
    if (pages_.size() <= most_) return;
    places_.erase(pages_.back());
    pages_.pop_back();
  }

  const size_t most_;
  std::optional<bitsieve::Filter> guard_;
  std::list<std::string> pages_;  // the latest first
  std::unordered_map<std::string, std::list<std::string>::iterator> places_;
};

double HitRate(std::optional<bitsieve::Filter> guard) {
  constexpr size_t kCached = 10'000, kPopular = 20'000, kRequests = 1'000'000;
  Cache cache(kCached, std::move(guard));
  std::mt19937_64 random(1);
  size_t hits = 0;
  for (size_t i = 0; i < kRequests; ++i) {
    const bool is_popular = random() % 2 == 0;
    hits +=
        cache.Request(is_popular ? "/popular/" + std::to_string(random() % kPopular) : "/once/" + std::to_string(i));
  }
  return static_cast<double>(hits) / kRequests;
}

}  // namespace

int main() {
  // Remembers the last 100,000 different pages.
  bitsieve::Result<bitsieve::Filter> guard = bitsieve::Filter::Make(
      {.type = "window", .error_rate = 0.01, .capacity = 100'000, .type_options = {{"WINDOW", "100000"}}});
  if (!guard) {
    std::cerr << "cache_guard: " << guard.error().message << '\n';
    return 1;
  }
  const uint64_t guard_bytes = guard->Describe().size_bytes;
  const double without = HitRate(std::nullopt);
  const double with = HitRate(std::move(*guard));
  std::cout << "from the cache: " << 100 * without << "% without a guard, " << 100 * with << "% with one of "
            << guard_bytes << " bytes\n";
}
