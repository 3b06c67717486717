// Measures a copy that follows a server's filter.
//   follow_bench URL KEY lookups          ns per lookup, one by one and in batches, next to a filter of the same bytes
//   follow_bench URL KEY staleness SECONDS  how old the copy is, each millisecond: median, 99th percentile and maximum
#include <bitsieve/filter.h>
#include <bitsieve/followed_filter.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using bitsieve::FollowedFilter;
using Clock = std::chrono::steady_clock;

constexpr size_t kItems = 1'000'000;
constexpr int kRounds = 9;

// The same items as those of follow_bench.py.
std::vector<std::string> Texts(uint64_t first) {
  std::vector<std::string> items(kItems);
  char text[17];
  for (size_t i = 0; i < kItems; ++i) {
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>((first + i) * 0x9E3779B97F4A7C15ULL));
    items[i] = text;
  }
  return items;
}

// Returns the median of ns per item of `look`, which returns a number that depends on all of them.
template <class Look>
double Measure(const Look& look) {
  std::vector<double> rounds;
  size_t found = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto begin = Clock::now();
    found += look();
    rounds.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kItems);
  }
  if (found == SIZE_MAX) std::abort();
  std::ranges::nth_element(rounds, rounds.begin() + kRounds / 2);
  return rounds[kRounds / 2];
}

template <class AnyFilter>
void MeasureLookups(const char* name, const AnyFilter& filter) {
  for (const auto& [what, first] : {std::pair("found", uint64_t{0}), std::pair("absent", uint64_t{1} << 40)}) {
    const std::vector<std::string> texts = Texts(first);
    const std::vector<std::string_view> items(texts.begin(), texts.end());
    const double single = Measure([&] {
      size_t found = 0;
      for (const std::string_view item : items) found += filter.MayContain(item);
      return found;
    });
    std::vector<uint8_t> present(items.size());
    const double batch = Measure([&] {
      filter.MayContain(items, present);
      return static_cast<size_t>(std::ranges::count(present, 1));
    });
    std::printf("%-10s %-8s %8.1f ns one by one %8.1f ns in batches\n", name, what, single, batch);
  }
}

void MeasureStaleness(const FollowedFilter& followed, double seconds) {
  std::vector<int64_t> samples;
  for (const auto end = Clock::now() + std::chrono::duration<double>(seconds); Clock::now() < end;) {
    samples.push_back(followed.Staleness().count());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::ranges::sort(samples);
  std::printf("%lld %lld %lld %llu\n", static_cast<long long>(samples[samples.size() / 2]),
              static_cast<long long>(samples[samples.size() * 99 / 100]), static_cast<long long>(samples.back()),
              static_cast<unsigned long long>(followed.DumpsRead()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: follow_bench URL KEY lookups|staleness [SECONDS]\n");
    return 2;
  }
  const auto followed = FollowedFilter::Follow(argv[1], argv[2]);
  if (!followed) {
    std::fprintf(stderr, "follow_bench: %s\n", followed.error().message.c_str());
    return 1;
  }
  if (std::string(argv[3]) == "staleness") {
    MeasureStaleness(*followed, argc > 4 ? std::atof(argv[4]) : 10);
    return 0;
  }
  MeasureLookups("followed", *followed);
  MeasureLookups("filter", *bitsieve::Filter::FromBytes(*followed->ToBytes()));
  return 0;
}
