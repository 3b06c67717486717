#include "clients/cpp/filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/fuzz/dump_checksums.h"
#include "tests/support/filter_types.h"
#include "tests/support/key_source.h"
#include "tests/support/temporary_directory.h"

namespace bitsieve {
namespace {

constexpr size_t kItems = 3000;

std::vector<std::string> Items(size_t first, size_t count) {
  std::vector<std::string> items(count);
  for (size_t i = 0; i < count; ++i) items[i] = test::Key(test::KeySource::kStrings, first + i);
  return items;
}
std::vector<std::string_view> ViewsOf(const std::vector<std::string>& items) { return {items.begin(), items.end()}; }

std::vector<uint8_t> AnswersOf(const Filter& filter) {
  const std::vector<std::string> items = Items(0, 20'000);
  std::vector<uint8_t> present(items.size());
  filter.MayContain(ViewsOf(items), present);
  return present;
}

struct Type {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;
};

// Every type that a program may make, and some with options of their own.
std::vector<Type> Types() {
  std::vector<Type> types{
      {"blocked", {{"HASH", "sip"}}}, {"counting", {{"COUNTERBITS", "8"}}}, {"cuckoo", {{"BUCKETSIZE", "2"}}}};
  for (const std::string& name : test::TypeNames(test::ByReserve)) {
    types.push_back({name, test::RequiredOptions(name, kItems)});
  }
  return types;
}

class FilterTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  static Filter Made(const FilterOptions& options) {
    Result<Filter> filter = Filter::Make(options);
    EXPECT_TRUE(filter) << filter.error().message;
    return std::move(*filter);
  }
  static void Fill(Filter& filter, size_t first = 0, size_t count = kItems) {
    const std::vector<std::string> items = Items(first, count);
    std::vector<uint8_t> added(count);
    const Status status = filter.Add(ViewsOf(items), added);
    EXPECT_TRUE(status) << status.error().message;
  }
  static Error ErrorOf(const auto& result) {
    EXPECT_FALSE(result) << "accepted";
    return result ? Error{} : result.error();
  }

  TemporaryDirectory directory_;
};

class FilterOfType : public FilterTest, public testing::WithParamInterface<Type> {
 protected:
  // Full, and ready to be mapped.
  Filter Filled() const {
    Filter filter = Made({.type = GetParam().name, .capacity = kItems, .type_options = GetParam().options});
    Fill(filter);
    if (row().can.freeze) {
      EXPECT_TRUE(filter.Freeze());
    }
    return filter;
  }
  static const core::FilterTypeRow& row() { return *core::FindFilterType(GetParam().name); }
};
INSTANTIATE_TEST_SUITE_P(Types, FilterOfType, testing::ValuesIn(Types()), [](const auto& test) {
  std::string name = test.param.name;
  for (const auto& [word, value] : test.param.options) name.append("_").append(value);
  return name;
});

TEST_P(FilterOfType, FindsWhatWasAdded) {
  const Filter filter = Filled();
  const std::vector<uint8_t> present = AnswersOf(filter);
  EXPECT_EQ(std::count(present.begin(), present.begin() + kItems, 1), static_cast<ptrdiff_t>(kItems));
  EXPECT_LT(std::count(present.begin() + kItems, present.end(), 1), 17'000 / 100 * 2);
  EXPECT_TRUE(filter.MayContain(Items(5, 1)[0]));
  EXPECT_EQ(filter.Describe().type, GetParam().name);
  EXPECT_NEAR(static_cast<double>(filter.Describe().items), kItems, kItems / 50.0);
}

TEST_P(FilterOfType, ComesBackFromFileBytesAndMapping) {
  const Filter filter = Filled();
  ASSERT_TRUE(filter.Save(Path("filter")));
  const std::string bytes = filter.ToBytes().value();
  EXPECT_EQ(Read(Path("filter")), bytes);

  const Result<Filter> loaded = Filter::Load(Path("filter"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(AnswersOf(*loaded), AnswersOf(filter));
  EXPECT_EQ(loaded->Describe().seed, filter.Describe().seed);
  EXPECT_EQ(AnswersOf(Filter::FromBytes(bytes).value()), AnswersOf(filter));

  const Result<Filter> mapped = Filter::Map(Path("filter"));
  if (!test::Maps(row())) {
    EXPECT_EQ(ErrorOf(mapped).code, ErrorCode::kUnsupported);
    const std::string expected = "types that can be mapped are " + core::FilterTypeNames(", ", test::Maps);
    EXPECT_NE(ErrorOf(mapped).message.find(expected), std::string::npos);
    return;
  }
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(AnswersOf(*mapped), AnswersOf(filter));
  EXPECT_TRUE(mapped->Describe().is_mapped);
  EXPECT_EQ(mapped->Describe().items, filter.Describe().items);
  EXPECT_TRUE(mapped->Verify());
  ASSERT_TRUE(mapped->Save(Path("again")));
  EXPECT_EQ(Read(Path("again")), bytes);
}

TEST_P(FilterOfType, DamageIsFoundByLoadingAndByVerify) {
  ASSERT_TRUE(Filled().Save(Path("filter")));
  std::string bytes = Read(Path("filter"));
  bytes[bytes.size() - 300] = static_cast<char>(bytes[bytes.size() - 300] ^ 4);
  Write(Path("filter"), bytes);
  EXPECT_EQ(ErrorOf(Filter::Load(Path("filter"))).code, ErrorCode::kCorrupt);
  const Result<Filter> mapped = Filter::Map(Path("filter"));
  if (mapped) {
    EXPECT_EQ(ErrorOf(mapped->Verify()).message, "the file is damaged: it fails its checksum");
  }
}

TEST_P(FilterOfType, AFileCutShortIsRefused) {
  ASSERT_TRUE(Filled().Save(Path("filter")));
  const std::string bytes = Read(Path("filter"));
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 2) {
    Write(Path("filter"), std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(Filter::Load(Path("filter"))) << size;
    EXPECT_FALSE(Filter::Map(Path("filter"))) << size;
  }
  Write(Path("filter"), bytes + "x");
  EXPECT_FALSE(Filter::Load(Path("filter")));
  EXPECT_FALSE(Filter::Map(Path("filter")));
}

TEST_F(FilterTest, AddTellsOnceThatAnItemIsNew) {
  Filter filter = Made({.capacity = 1000});
  EXPECT_TRUE(filter.Add("alice").value());
  EXPECT_FALSE(filter.Add("alice").value());
  EXPECT_TRUE(filter.MayContain("alice"));
  EXPECT_FALSE(filter.MayContain("bob"));
  EXPECT_TRUE(filter.Add(std::string_view("a\0b", 3)).value());
  EXPECT_FALSE(filter.MayContain("a"));
  EXPECT_TRUE(filter.Add("").value());
  EXPECT_TRUE(filter.MayContain(""));
}

TEST_F(FilterTest, OfManyThreadsExactlyOneIsToldThatAnItemIsNew) {
  Filter filter = Made({.capacity = 100'000});
  std::atomic<size_t> told{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const std::vector<std::string> items = Items(0, 20'000);
      std::vector<uint8_t> added(items.size());
      EXPECT_TRUE(filter.Add(ViewsOf(items), added));
      told += static_cast<size_t>(std::count(added.begin(), added.end(), 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, filter.Describe().items);
}

TEST_F(FilterTest, AFullFilterSaysSoAndKeepsWhatItHas) {
  Filter filter = Made({.capacity = 100, .expansion = 0});
  const std::vector<std::string> items = Items(0, 500);
  std::vector<uint8_t> added(items.size());
  const Error error = ErrorOf(filter.Add(ViewsOf(items), added));
  EXPECT_EQ(error.code, ErrorCode::kFull);
  EXPECT_EQ(error.message, "the filter is full: it has a capacity of 100 items, and its expansion is 0");
  EXPECT_EQ(std::count(added.begin(), added.end(), 1), 100);
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(filter.MayContain(items[i]), added[i] != 0);
  }
}

TEST_F(FilterTest, RemovesAndCounts) {
  constexpr auto kCan = [](const core::FilterTypeRow& type) { return type.made.by_default && type.can.remove; };
  for (const std::string& type : test::TypeNames(kCan)) {
    Filter filter = Made({.type = type, .capacity = 1000});
    EXPECT_TRUE(filter.Add("alice").value());
    EXPECT_FALSE(filter.Add("alice").value());
    EXPECT_EQ(filter.Count("alice").value(), 2U);
    EXPECT_TRUE(filter.Remove("alice").value());
    EXPECT_TRUE(filter.Remove("alice").value());
    EXPECT_FALSE(filter.Remove("alice").value());
    EXPECT_FALSE(filter.MayContain("alice"));
  }
  Filter blocked = Made({.capacity = 1000});
  EXPECT_EQ(ErrorOf(blocked.Remove("alice")).message,
            "a blocked filter cannot remove items; " + test::TypesThatCan(test::Removes));
  EXPECT_EQ(ErrorOf(blocked.Count("alice")).code, ErrorCode::kUnsupported);
}

TEST_F(FilterTest, ItemsExpire) {
  using namespace std::chrono_literals;
  const auto make = [](const std::string& ttl) {
    return Filter::Make({.type = "expiring", .capacity = 1000, .type_options = {{"TTL", ttl}}});
  };
  Filter filter = make("1h").value();
  EXPECT_TRUE(filter.Add("an hour").value());
  EXPECT_TRUE(filter.Add("soon", 1ms).value());
  const auto left = filter.TimeToLive("an hour").value();
  ASSERT_TRUE(left);
  EXPECT_GT(*left, 59min);
  EXPECT_LE(*left, 1h + 60min / 14 + 1min);
  EXPECT_LE(filter.TimeToLive("soon").value().value(), 60min / 14 + 1min);
  EXPECT_EQ(filter.TimeToLive("absent").value(), std::nullopt);
  EXPECT_TRUE(filter.Touch("soon").value());
  EXPECT_FALSE(filter.Touch("absent").value());
  EXPECT_GT(filter.TimeToLive("soon").value().value(), 59min);
  const std::array<std::string_view, 2> items{"an hour", "new"};
  std::array<uint8_t, 2> added{};
  ASSERT_TRUE(filter.Add(items, added, 2s));
  EXPECT_EQ(added, (std::array<uint8_t, 2>{0, 1}));
  EXPECT_TRUE(filter.Remove("new").value());

  Filter brief = make("100ms").value();
  EXPECT_TRUE(brief.Add("x").value());
  for (const auto begin = std::chrono::steady_clock::now(); brief.MayContain("x");) {
    ASSERT_LT(std::chrono::steady_clock::now() - begin, 10s) << "it never expires";
  }
}

TEST_F(FilterTest, ATimeThatItemsCannotHaveIsRefused) {
  using namespace std::chrono_literals;
  Filter filter = Filter::Make({.type = "expiring", .type_options = {{"TTL", "1s"}}}).value();
  for (const auto time : {0ms, -5ms, 1001ms}) {
    const Error error = ErrorOf(filter.Add("x", time));
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message, "items cannot expire after " + std::to_string(time.count()) +
                                 " ms; the range is [1, 1000], up to the filter's TTL");
  }
  EXPECT_FALSE(filter.MayContain("x"));
  Filter blocked = Filter::Make({}).value();
  const std::string cannot = "a blocked filter cannot expire items; types that can: expiring";
  EXPECT_EQ(ErrorOf(blocked.Add("x", 1ms)).message, cannot);
  EXPECT_EQ(ErrorOf(blocked.TimeToLive("x")).message, cannot);
  EXPECT_EQ(ErrorOf(blocked.Touch("x")).message, cannot);
  EXPECT_EQ(ErrorOf(Filter::Make({.type = "expiring"})).message,
            "an expiring filter needs TTL, a duration such as 24h");
}

TEST_F(FilterTest, DeniesKnownFalsePositives) {
  for (const std::string& type : test::TypeNames(test::Denies)) {
    Filter filter = Made({.type = type, .error_rate = 0.1, .capacity = kItems});
    Fill(filter);
    const bool freezes = core::FindFilterType(type)->can.freeze;
    if (freezes) {
      EXPECT_TRUE(filter.RecordFalsePositive("before it is frozen").value());
      ASSERT_TRUE(filter.Freeze());
      EXPECT_FALSE(filter.MayContain("before it is frozen"));
    }
    std::string wrong;
    for (int i = 0; wrong.empty(); ++i) {
      if (filter.MayContain("absent" + std::to_string(i))) wrong = "absent" + std::to_string(i);
    }
    const uint32_t known = filter.Describe().false_positives;
    EXPECT_TRUE(filter.RecordFalsePositive(wrong).value());
    EXPECT_FALSE(filter.RecordFalsePositive(wrong).value());
    EXPECT_FALSE(filter.MayContain(wrong));
    EXPECT_EQ(filter.Describe().false_positives, known + 1);
    ASSERT_TRUE(filter.Save(Path("noted")));
    EXPECT_FALSE(Filter::Load(Path("noted"))->MayContain(wrong));
    EXPECT_FALSE(Filter::Map(Path("noted"))->MayContain(wrong));
    if (freezes) continue;
    EXPECT_TRUE(filter.Add(wrong).value());
    EXPECT_TRUE(filter.MayContain(wrong));
  }
  Filter cuckoo = Made({.type = "cuckoo", .capacity = 1000});
  EXPECT_EQ(ErrorOf(cuckoo.RecordFalsePositive("x")).message,
            "a cuckoo filter cannot record false positives; " + test::TypesThatCan(test::Denies));
}

TEST_F(FilterTest, MergesFiltersOfOneSeed) {
  Filter first = Made({.capacity = kItems, .seed = 1});
  Filter second = Made({.capacity = kItems, .seed = 1});
  Fill(first, 0, kItems / 2);
  Fill(second, kItems / 2, kItems / 2);
  ASSERT_TRUE(first.Merge(second));
  Filter both = Made({.capacity = kItems, .seed = 1});
  Fill(both);
  EXPECT_EQ(AnswersOf(first), AnswersOf(both));
  const Filter other = Made({.capacity = kItems, .seed = 2});
  EXPECT_EQ(ErrorOf(first.Merge(other)).message, "they differ in their seed: 1 and 2");
}

TEST_F(FilterTest, FoldsToASmallerCapacity) {
  Filter filter = Made({.capacity = 100 * kItems});
  Fill(filter);
  const uint64_t before = filter.Describe().size_bytes;
  ASSERT_TRUE(filter.Fold(2 * kItems));
  EXPECT_LT(filter.Describe().size_bytes, before / 20);
  EXPECT_EQ(filter.Describe().capacity, 2 * kItems);
  const auto found = [](const Filter& in) {
    const std::vector<uint8_t> present = AnswersOf(in);
    return std::count(present.begin(), present.begin() + kItems, 1);
  };
  EXPECT_EQ(found(filter), static_cast<ptrdiff_t>(kItems));
  Fill(filter, kItems, kItems / 2);
  ASSERT_TRUE(filter.Save(Path("folded")));
  EXPECT_EQ(found(*Filter::Load(Path("folded"))), static_cast<ptrdiff_t>(kItems));
  EXPECT_NE(ErrorOf(filter.Fold(10)).message.find("which is the smallest capacity that keeps its error rate"),
            std::string::npos);
  Filter cuckoo = Made({.type = "cuckoo", .capacity = 1000});
  EXPECT_EQ(ErrorOf(cuckoo.Fold(100)).message, "a cuckoo filter cannot be folded; types that can: blocked, classic");
}

TEST_F(FilterTest, FreezesARibbon) {
  Filter filter = Made({.type = "ribbon", .capacity = kItems});
  Fill(filter);
  ASSERT_TRUE(filter.Save(Path("collecting")));
  EXPECT_NE(ErrorOf(Filter::Map(Path("collecting"))).message.find("not frozen cannot be mapped; freeze it, or load it"),
            std::string::npos);
  const uint64_t before = filter.Describe().size_bytes;
  ASSERT_TRUE(filter.Freeze());
  ASSERT_TRUE(filter.Freeze());
  EXPECT_LT(filter.Describe().size_bytes, before / 5);
  EXPECT_EQ(ErrorOf(filter.Add("x")).message, "the filter is frozen: it accepts no further items");
  Filter blocked = Made({});
  EXPECT_EQ(ErrorOf(blocked.Freeze()).message,
            "a blocked filter cannot be frozen; " + test::TypesThatCan(test::Freezes));
}

TEST_F(FilterTest, AMappedFilterRefusesChanges) {
  Filter cuckoo = Made({.type = "cuckoo", .capacity = 100});
  ASSERT_TRUE(cuckoo.Save(Path("filter")));
  Filter mapped = std::move(*Filter::Map(Path("filter")));
  for (const Error& error :
       {ErrorOf(mapped.Add("x")), ErrorOf(mapped.Remove("x")), ErrorOf(mapped.Merge(cuckoo)), ErrorOf(mapped.Freeze()),
        ErrorOf(mapped.Fold(10)), ErrorOf(mapped.RecordFalsePositive("x"))}) {
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_EQ(error.message, "the filter is mapped from a file and cannot change; load the file instead");
  }
}

// A process that has the file mapped keeps the one that it mapped.
TEST_F(FilterTest, SaveReplacesAFileThatIsMapped) {
  Filter first = Made({.capacity = kItems, .seed = 1});
  Fill(first);
  ASSERT_TRUE(first.Save(Path("filter")));
  const Filter mapped = std::move(*Filter::Map(Path("filter")));
  ASSERT_TRUE(Made({.capacity = kItems, .seed = 1}).Save(Path("filter")));
  EXPECT_EQ(AnswersOf(mapped), AnswersOf(first));
  EXPECT_EQ(Filter::Map(Path("filter"))->Describe().items, 0U);
}

TEST_F(FilterTest, ErrorsNameWhatIsWrongAndWhatWouldBeRight) {
  const auto error = [](const FilterOptions& options) { return ErrorOf(Filter::Make(options)).message; };
  EXPECT_EQ(error({.type = "bloom"}),
            "unknown type \"bloom\", must be one of: " + core::FilterTypeNames(", ", test::ByReserve));
  EXPECT_EQ(error({.error_rate = 0.5}), "error rate must be in the range [1e-09, 0.25]");
  EXPECT_EQ(error({.capacity = 0}), "capacity must be in the range [1, 1073741824]");
  EXPECT_EQ(error({.expansion = 40'000}), "expansion must be in the range [0, 32768]");
  EXPECT_EQ(error({.tightening_ratio = 1.0}), "tightening ratio must be in the range (0, 1)");
  EXPECT_EQ(error({.type_options = {{"BUCKETSIZE", "2"}}}),
            "a blocked filter has no option \"BUCKETSIZE\"; its options are: HASH");
  EXPECT_EQ(error({.type = "cuckoo", .type_options = {{"BUCKETSIZE", "99"}}}),
            "bad bucket size: it must be in the range [2, 8]");
  EXPECT_EQ(error({.type = "window"}),
            "a window filter needs WINDOW, with a number of items or a duration such as 24h");
  EXPECT_EQ(ErrorOf(Filter::Make({.capacity = 1 << 30, .memory_limit_bytes = 1 << 20})).code, ErrorCode::kOutOfMemory);

  EXPECT_EQ(ErrorOf(Filter::Load(Path("none"))).message, Path("none") + ": No such file or directory");
  EXPECT_EQ(ErrorOf(Filter::Map(directory_.path())).message, directory_.path() + ": is not a regular file");
  Write(Path("text"), "no filter at all");
  EXPECT_EQ(ErrorOf(Filter::Map(Path("text"))).message,
            Path("text") + ": dump: it does not start with the magic number");
  EXPECT_EQ(ErrorOf(Made({}).Save(Path("none/file"))).code, ErrorCode::kIo);
}

// A head that asks for a terabyte gets none of it.
TEST_F(FilterTest, NothingIsAllocatedOnTheWordOfAHead) {
  constexpr uint64_t kBits = uint64_t{1} << 43;
  constexpr size_t kBodyBytesAt = 12, kBitsAt = 20 + 60 + 16;  // docs/formats/dump.md, docs/formats/filter.md
  std::string bytes = Made({.capacity = 1 << 20, .expansion = 0}).ToBytes().value().substr(0, 2000);
  const uint64_t body_bytes = kBits / 8;
  std::memcpy(bytes.data() + kBodyBytesAt, &body_bytes, sizeof body_bytes);
  std::memcpy(bytes.data() + kBitsAt, &kBits, sizeof kBits);
  test::PutDumpChecksums(bytes);
  EXPECT_EQ(ErrorOf(Filter::FromBytes(bytes)).code, ErrorCode::kOutOfMemory);
  Write(Path("filter"), bytes);
  EXPECT_EQ(ErrorOf(Filter::Map(Path("filter"))).code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace bitsieve
