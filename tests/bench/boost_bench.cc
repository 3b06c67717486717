// Compares filters of the types classic and blocked with Boost.Bloom's filters that are nearest to them: the same
// items of 16 bytes at 1%, hashed by XXH3, added and looked up one by one and in batches. The filters take turns; each
// figure is the median of the rounds, in nanoseconds per item, hashing included. Next to the times are the bits per
// item and the measured false positive rate of each filter.
//
// Adding includes making the filter, in memory that is fresh from the system: ours takes its pages when an item first
// sets a bit there, Boost.Bloom's when it is made. A page costs 0.2 to 12 us, depending on the machine.
//   boost_bench [ITEMS [ROUNDS [THREADS]]]    0 items, the default, are 10^6, 10^7 and then 5*10^7, which take 3 GB of
//                                             memory; 5 rounds; THREADS is the number of further, idle threads: in a
//                                             process that has any, an addition takes a lock
#include <bitsieve/filter.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/bloom/block.hpp>
#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/fast_multiblock64.hpp>
#include <boost/bloom/filter.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

using Clock = std::chrono::steady_clock;
using Views = std::vector<std::string_view>;

constexpr double kErrorRate = 0.01;

// Items of 16 bytes, one after the other in memory.
class Items {
 public:
  Items(uint64_t first, size_t count) : words_(2 * count), views_(count) {
    for (size_t i = 0; i < count; ++i) {
      words_[2 * i] = (first + i) * 0x9E3779B97F4A7C15ULL;
      words_[2 * i + 1] = (first + i) * 0xC2B2AE3D27D4EB4FULL;
      views_[i] = {reinterpret_cast<const char*>(&words_[2 * i]), 2 * sizeof(uint64_t)};
    }
  }
  const Views& views() const { return views_; }

 private:
  std::vector<uint64_t> words_;
  Views views_;
};

struct Xxh3 {
  using is_avalanching = std::true_type;
  uint64_t operator()(std::string_view item) const { return XXH3_64bits(item.data(), item.size()); }
};

template <size_t kHashes, class Block>
class BoostFilter {
 public:
  explicit BoostFilter(size_t capacity) : filter_(capacity, kErrorRate) {}

  double bits() const { return static_cast<double>(filter_.capacity()); }
  size_t AddEach(const Views& items) {
    for (const std::string_view item : items) filter_.insert(item);
    return 0;
  }
  size_t AddTogether(const Views& items) {
    filter_.insert(items.begin(), items.end());
    return 0;
  }
  size_t FindEach(const Views& items) const {
    size_t found = 0;
    for (const std::string_view item : items) found += filter_.may_contain(item);
    return found;
  }
  size_t FindTogether(const Views& items) const {
    size_t found = 0;
    filter_.may_contain(items.begin(), items.end(), [&](std::string_view, bool present) { found += present; });
    return found;
  }

 private:
  boost::bloom::filter<std::string_view, kHashes, Block, 0, Xxh3> filter_;
};

bitsieve::Filter MakeFilter(const char* type, size_t capacity) {
  bitsieve::Result<bitsieve::Filter> filter =
      bitsieve::Filter::Make({.type = type, .error_rate = kErrorRate, .capacity = capacity, .expansion = 0});
  if (!filter) {
    std::fprintf(stderr, "boost_bench: %s\n", filter.error().message.c_str());
    std::exit(1);
  }
  return std::move(*filter);
}

class OwnFilter {
 public:
  // `answers` has a byte for each item of the largest batch.
  OwnFilter(const char* type, size_t capacity, std::span<uint8_t> answers)
      : filter_(MakeFilter(type, capacity)), answers_(answers) {}

  double bits() const { return static_cast<double>(filter_.Describe().size_bytes) * 8; }
  size_t AddEach(const Views& items) {
    size_t added = 0;
    for (const std::string_view item : items) added += filter_.Add(item).value_or(false);
    return added;
  }
  size_t AddTogether(const Views& items) {
    if (!filter_.Add(items, answers_)) std::exit(1);
    return Ones(items.size());
  }
  size_t FindEach(const Views& items) const {
    size_t found = 0;
    for (const std::string_view item : items) found += filter_.MayContain(item);
    return found;
  }
  size_t FindTogether(const Views& items) {
    filter_.MayContain(items, answers_.first(items.size()));
    return Ones(items.size());
  }

 private:
  size_t Ones(size_t count) const {
    return static_cast<size_t>(std::count(answers_.begin(), answers_.begin() + static_cast<ptrdiff_t>(count), 1));
  }

  bitsieve::Filter filter_;
  const std::span<uint8_t> answers_;
};

constexpr std::array kColumns{"add", "add, batch", "found", "found, batch", "absent", "absent, batch"};

struct Figures {
  std::array<std::vector<double>, kColumns.size()> ns;  // of each round
  double bits_per_item = 0;
  double error_rate = 0;
  size_t added = 0;  // items that were reported as new in the last round; Boost.Bloom does not report them
};

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Measures one round: `make` makes an empty filter.
void MeasureRound(const Views& items, const Views& absent, Figures& figures, const auto& make) {
  const auto timed = [&](size_t column, size_t count, const auto& work) {
    const auto start = Clock::now();
    const size_t result = work();
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    figures.ns[column].push_back(taken.count() / static_cast<double>(count));
    return result;
  };
  const auto expect_all = [&](size_t found) {
    if (found == items.size()) return;
    std::fprintf(stderr, "boost_bench: an item is missing\n");
    std::exit(1);
  };
  using Made = decltype(make());
  std::optional<Made> each, together;
  figures.added = timed(0, items.size(), [&] { return each.emplace(make()).AddEach(items); });
  expect_all(each->FindEach(items));
  each.reset();
  figures.added += timed(1, items.size(), [&] { return together.emplace(make()).AddTogether(items); });
  Made& filter = *together;
  expect_all(timed(2, items.size(), [&] { return filter.FindEach(items); }));
  expect_all(timed(3, items.size(), [&] { return filter.FindTogether(items); }));
  size_t wrong = timed(4, absent.size(), [&] { return filter.FindEach(absent); });
  wrong += timed(5, absent.size(), [&] { return filter.FindTogether(absent); });
  figures.error_rate = static_cast<double>(wrong) / static_cast<double>(2 * absent.size());
  figures.bits_per_item = filter.bits() / static_cast<double>(items.size());
}

void Print(const char* name, const Figures& figures) {
  std::printf("%-30s %6.2f %6.3f%%", name, figures.bits_per_item, figures.error_rate * 100);
  for (const std::vector<double>& ns : figures.ns) std::printf(" %13.1f", Median(ns));
  std::printf(figures.added == 0 ? "\n" : "   %zu reported as new\n", figures.added);
}

void PrintRatio(const Figures& own, const Figures& other) {
  std::printf("%-30s %6s %7s", "  ratio", "", "");
  for (size_t i = 0; i < kColumns.size(); ++i) std::printf(" %13.2f", Median(own.ns[i]) / Median(other.ns[i]));
  std::printf("\n");
}

void Compare(size_t count, uint64_t rounds) {
  const Items items(0, count), absent(count, std::min<size_t>(count, 10'000'000));
  std::vector<uint8_t> answers(count);
  Figures classic, boost_classic, blocked, boost_line, boost_half_line;
  const auto measure = [&](Figures& figures, const auto& make) {
    MeasureRound(items.views(), absent.views(), figures, make);
  };
  for (uint64_t round = 0; round < rounds; ++round) {
    measure(boost_classic, [&] { return BoostFilter<7, boost::bloom::block<unsigned char, 1>>(count); });
    measure(classic, [&] { return OwnFilter("classic", count, answers); });
    measure(boost_line, [&] { return BoostFilter<1, boost::bloom::fast_multiblock64<8>>(count); });
    measure(blocked, [&] { return OwnFilter("blocked", count, answers); });
    measure(boost_half_line, [&] { return BoostFilter<1, boost::bloom::fast_multiblock32<8>>(count); });
  }
  std::printf("%zu items of 16 bytes at 1%%, ns per item:\n%-30s %6s %7s", count, "", "bits", "errors");
  for (const char* column : kColumns) std::printf(" %13s", column);
  std::printf("\n");
  Print("Boost.Bloom, filter<T, 7>", boost_classic);
  Print("classic", classic);
  PrintRatio(classic, boost_classic);
  Print("Boost.Bloom, fast_multiblock64", boost_line);
  Print("blocked", blocked);
  PrintRatio(blocked, boost_line);
  Print("Boost.Bloom, fast_multiblock32", boost_half_line);
  PrintRatio(blocked, boost_half_line);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const uint64_t items = number(1, 0), rounds = number(2, 5);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // else the C library keeps the memory of a filter for the next one
  std::atomic<bool> ends = false;
  std::vector<std::jthread> idle(number(3, 0));
  for (std::jthread& thread : idle) thread = std::jthread([&] { ends.wait(false); });
  std::printf("Boost %d.%d, GCC %s, further threads: %zu\n", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000,
              __VERSION__, idle.size());
  for (const uint64_t count : {1'000'000, 10'000'000, 50'000'000}) {
    if (items == 0 || items == count) Compare(count, rounds);
  }
  ends = true;
  ends.notify_all();
}
