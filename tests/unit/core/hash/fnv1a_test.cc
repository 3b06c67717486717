#include "core/hash/fnv1a.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

namespace bitsieve::core {
namespace {

Fnv1aState Of(uint64_t high, uint64_t low) { return static_cast<Fnv1aState>(high) << 64 | low; }

TEST(Fnv1a, PublishedValues) {
  EXPECT_TRUE(Fnv1a("") == Of(0x6c62272e07bb0142, 0x62b821756295c58d));
  EXPECT_TRUE(Fnv1a("a") == Of(0xd228cb696f1a8caf, 0x78912b704e4a8964));
  EXPECT_TRUE(Fnv1a("ab") == Of(0x08809544bbab1be9, 0x5aa0733055b69a62));
  EXPECT_TRUE(Fnv1a("abc") == Of(0xa68d622cec8b5822, 0x836dbc7977af7f3b));
  EXPECT_TRUE(Fnv1a("foobar") == Of(0x343e1662793c64bf, 0x6f0d3597ba446f18));
  EXPECT_TRUE(Fnv1a("bar", Fnv1a("foo")) == Fnv1a("foobar"));
}

// Why it is mixed: of these items the placing half has next to nothing in its upper bits.
TEST(Fnv1a, UnmixedItWouldCrowdItemsTogether) {
  const auto places = [](auto hash) {
    std::array<bool, 256> taken{};
    for (int i = 0; i < 256; ++i) taken[hash("k" + std::string(1, static_cast<char>(i))) >> 56] = true;
    return std::count(taken.begin(), taken.end(), true);
  };
  EXPECT_LE(places([](const std::string& item) { return static_cast<uint64_t>(Fnv1a(item)); }), 2);
  EXPECT_NEAR(places([](const std::string& item) { return HashFnv1a(item, 1).low; }), 162, 25);
  EXPECT_NEAR(places([](const std::string& item) { return HashFnv1a(item, 1).high; }), 162, 25);
}

}  // namespace
}  // namespace bitsieve::core
