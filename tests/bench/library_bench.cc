// Measures the cost of embedding a filter: lookups and additions of each type, in batches, one by one, and in a mapped
// file; and opening a filter of 1 GB by mapping it and by loading it, with its pages in the system's cache or not.
//   library_bench [FOLDER]        a folder on the disk to measure, with 3 GB free; the current one by default
//   library_bench FOLDER TYPE     only a million items in filters of one type
#include <bitsieve/filter.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/filter/filter_type.h"

namespace {

using bitsieve::Filter;
using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

template <class T>
T Value(bitsieve::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "library_bench: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(*result);
}

// Returns items of 16 bytes each.
std::vector<std::string> Items(size_t first, size_t count) {
  std::vector<std::string> items(count);
  char text[17];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(text, sizeof text, "%016llx", (first + i) * 0x9E3779B97F4A7C15ULL);
    items[i] = text;
  }
  return items;
}
std::vector<std::string_view> ViewsOf(const std::vector<std::string>& items) { return {items.begin(), items.end()}; }

// Asks the system to drop the file's pages from its cache.
void DropFromCache(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

// Opens the file with `open` and looks up one item, then a thousand.
void MeasureOpening(const char* how, const std::string& path, auto open) {
  const std::vector<std::string> items = Items(0, 1000);
  std::vector<uint8_t> present(items.size());
  for (const bool cold : {true, false}) {
    if (cold) DropFromCache(path);
    const auto start = Clock::now();
    const Filter filter = Value(open(path));
    const double opened_ms = MsSince(start);
    filter.MayContain(items[0]);
    const double first_ms = MsSince(start);
    filter.MayContain(ViewsOf(items), present);
    std::printf("  %-5s %-5s open %9.3f ms, first lookup done %9.3f ms, 1000 more %9.3f ms\n", how,
                cold ? "cold" : "warm", opened_ms, first_ms, MsSince(start));
  }
}

void MeasureLargeFile(const std::string& folder, const std::string& type) {
  const std::string path = folder + "/library_bench.bsf";
  // The filter has a gigabyte of bits; the number of set bits does not affect the time of opening. A ribbon filter's
  // size depends on the items that were added.
  const uint64_t capacity = type == "ribbon" ? 100'000'000 : type == "cuckoo" ? 760'000'000 : 800'000'000;
  Filter filter = Value(Filter::Make({.type = type, .error_rate = 0.01, .capacity = capacity, .expansion = 0}));
  constexpr size_t kSlice = 1'000'000;
  std::vector<uint8_t> added(kSlice);
  for (size_t first = 0; first < (type == "ribbon" ? capacity : kSlice); first += kSlice) {
    const std::vector<std::string> items = Items(first, kSlice);
    if (!filter.Add(ViewsOf(items), added)) std::exit(1);
  }
  if ((type == "ribbon" && !filter.Freeze()) || !filter.Save(path)) std::exit(1);
  std::printf("%s, a file of %.0f MB\n", type.c_str(), static_cast<double>(filter.Describe().size_bytes) / 1e6);
  MeasureOpening("Map", path, Filter::Map);
  MeasureOpening("Load", path, Filter::Load);
  ::unlink(path.c_str());
}

void MeasureItems(const std::string& folder, const std::string& type, size_t count) {
  const std::string path = folder + "/library_bench.bsf";
  const std::vector<std::string> items = Items(0, count), absent = Items(count, count);
  const std::vector<std::string_view> views = ViewsOf(items), absent_views = ViewsOf(absent);
  std::vector<uint8_t> answers(count);
  std::array<double, 5> best;
  best.fill(1e9);
  const auto note = [&best](size_t which, auto work) {
    const auto start = Clock::now();
    work();
    best[which] = std::min(best[which], MsSince(start));
  };
  for (int round = 0; round < 5; ++round) {
    Filter filter = Value(Filter::Make({.type = type, .error_rate = 0.01, .capacity = count, .expansion = 0}));
    note(0, [&] { (void)filter.Add(views, answers); });
    if (type == "ribbon") (void)filter.Freeze();
    note(1, [&] { filter.MayContain(views, answers); });
    note(2, [&] { filter.MayContain(absent_views, answers); });
    note(3, [&] {
      for (const std::string_view item : views) answers[0] |= filter.MayContain(item) ? 1 : 0;
    });
    if (!filter.Save(path)) std::exit(1);
    const Filter mapped = Value(Filter::Map(path));
    (void)mapped.Verify();  // its pages are in the cache
    mapped.MayContain(views, answers);
    note(4, [&] { mapped.MayContain(views, answers); });
  }
  ::unlink(path.c_str());
  std::printf("%-12s", type.c_str());
  for (const double ms : best) std::printf(" %8.0f", ms * 1e6 / static_cast<double>(count));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const std::string only = argc > 2 ? argv[2] : "";
  for (const size_t count : {1'000'000, 10'000'000}) {
    std::printf("%zu items of 16 bytes at 1%%, ns per item, hashing included:\n", count);
    std::printf("%-12s %8s %8s %8s %8s %8s\n", "", "add", "found", "absent", "1 by 1", "mapped");
    for (const bitsieve::core::FilterTypeRow* type : bitsieve::core::FilterTypes()) {
      if (type->map != nullptr && (only.empty() || type->name == only)) {
        MeasureItems(folder, std::string(type->name), count);
      }
    }
    if (!only.empty()) return 0;
  }
  for (const char* type : {"blocked", "cuckoo", "ribbon"}) MeasureLargeFile(folder, type);
}
