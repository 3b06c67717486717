#include "server/persistence/log/id_index.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

#include "server/keyspace/name_table.h"

namespace bitsieve::server {
namespace {

Entry* EntryAt(uint64_t number) { return reinterpret_cast<Entry*>(number * 64); }

// The ids are distributed as in practice: dense ones, leftovers of older ones, and some far away.
TEST(IdIndexTest, FindsWhatAMapFinds) {
  std::mt19937_64 random(7);
  IdIndex index;
  std::unordered_map<uint64_t, Entry*> model;
  for (uint64_t step = 1; step <= 200'000; ++step) {
    const uint64_t kind = random() % 4;
    const uint64_t id = kind == 0   ? 1 + random() % 5'000
                        : kind == 1 ? step
                        : kind == 2 ? (uint64_t{1} << 40) + random() % 5'000 * 8
                                    : 1 + random() % step;
    if (random() % 3 == 0) {
      index.Erase(id);
      model.erase(id);
    } else {
      index.Put(id, EntryAt(step));
      model[id] = EntryAt(step);
    }
    const uint64_t other = 1 + random() % (step + 10);
    ASSERT_EQ(index.Find(other), model.contains(other) ? model[other] : nullptr);
  }
  ASSERT_EQ(index.size(), model.size());
  for (const auto& [id, entry] : model) ASSERT_EQ(index.Find(id), entry);
  index.Clear();
  EXPECT_EQ(index.Find(model.begin()->first), nullptr);
}

}  // namespace
}  // namespace bitsieve::server
