// Commands on sketches on a host that is a plain map. Their replies in every case are compared with RedisBloom's on an
// engine (test_module_sketch_model.py).
#include "commands/sketch_commands.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands/sketch_keyspace.h"
#include "commands/sketch_lookup.h"
#include "tests/support/command_fixture.h"

namespace bitsieve::commands {
namespace {

class PlainSketches final : public SketchKeyspace {
 public:
  SketchKey Find(std::string_view key) override {
    const auto found = sketches_.find(key);
    if (found != sketches_.end()) return {.is_free = false, .sketch = &found->second};
    return {.is_free = key != "other"};
  }
  void Put(Sketch sketch) override { sketches_.insert_or_assign(first_key, std::move(sketch)); }
  void MarkChanged() override { ++changes; }
  bool Grants(uint64_t bytes) override { return bytes < most_bytes; }
  core::MemoryBudget& memory() override { return memory_; }

  std::string first_key;
  int changes = 0;
  uint64_t most_bytes = 1 << 20;

 private:
  core::MemoryBudget memory_{1 << 20};
  std::map<std::string, Sketch, std::less<>> sketches_;
};

class SketchCommandsTest : public testing::Test {
 protected:
  static const CommandRow* Find(std::string_view name) {
    for (const auto& rows : kSketchCommands) {
      for (const CommandRow& row : rows()) {
        if (row.name == name) return &row;
      }
    }
    return nullptr;
  }

  std::string Run(const std::vector<std::string>& words) {
    const std::vector<std::string_view> arguments(words.begin(), words.end());
    const FilterEnvironment environment{.settings = &fixture_.settings, .sketches = &sketches_};
    std::string reply;
    protocol::ReplyWriter writer(reply);
    CommandContext context(environment, fixture_.registry, writer);
    context.row = Find(words[0]);
    context.arguments = arguments;
    sketches_.first_key = words[1];
    context.row->handler(context);
    return reply;
  }

  test::CommandFixture fixture_;
  PlainSketches sketches_;
};

TEST_F(SketchCommandsTest, EachRowIsWhole) {
  for (const auto& rows : kSketchCommands) {
    for (const CommandRow& row : rows()) {
      EXPECT_TRUE(IsOfSketches(row.group)) << row.name;
      EXPECT_NE(row.handler, nullptr) << row.name;
      EXPECT_EQ(row.keys.first, 1) << row.name;
      EXPECT_TRUE(row.summary.ends_with('.')) << row.name;
      EXPECT_NE((row.flags & kWrite) != 0, (row.flags & kReadOnly) != 0) << row.name;
    }
  }
}

TEST_F(SketchCommandsTest, CountMinSketches) {
  EXPECT_EQ(Run({"cms.initbydim", "c", "10", "2"}), "+OK\r\n");
  EXPECT_EQ(Run({"cms.incrby", "c", "a", "3", "a", "4"}), "*2\r\n:3\r\n:7\r\n");
  EXPECT_EQ(sketches_.changes, 2);
  EXPECT_EQ(Run({"cms.incrby", "c", "a", "1", "b", "-1"}), "-CMS: Number cannot be negative\r\n");
  EXPECT_EQ(Run({"cms.query", "c", "a"}), "*1\r\n:7\r\n");
  EXPECT_EQ(sketches_.changes, 2);
  EXPECT_EQ(Run({"cms.merge", "c", "2", "c", "c", "WEIGHTS", "1", "2"}), "+OK\r\n");
  EXPECT_EQ(Run({"cms.info", "c"}), "*6\r\n+width\r\n:10\r\n+depth\r\n:2\r\n+count\r\n:21\r\n");
  EXPECT_EQ(Run({"cms.query", "none", "a"}), "-CMS: key does not exist\r\n");
  EXPECT_EQ(Run({"cms.query", "other", "a"}), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
}

TEST_F(SketchCommandsTest, TopK) {
  EXPECT_EQ(Run({"topk.reserve", "t", "2"}), "+OK\r\n");
  EXPECT_EQ(Run({"topk.incrby", "t", "a", "3", "b", "5"}), "*2\r\n$-1\r\n$-1\r\n");
  EXPECT_EQ(Run({"topk.add", "t", "a"}), "*1\r\n$-1\r\n");
  EXPECT_EQ(Run({"topk.list", "t", "withc"}), "*4\r\n$1\r\nb\r\n:5\r\n$1\r\na\r\n:4\r\n");
  EXPECT_EQ(Run({"topk.list", "none", "x"}), "-WITHCOUNT keyword expected\r\n");
  EXPECT_EQ(Run({"topk.reserve", "u", "100000"}), "-ERR Insufficient memory to create topk data structure\r\n");
}

// The reply has an element for each pair, and pairs ahead of the bad one are counted.
TEST_F(SketchCommandsTest, ABadIncrementOfTopK) {
  Run({"topk.reserve", "t", "2"});
  const std::string reply = Run({"topk.incrby", "t", "a", "3", "b", "x", "c", "1"});
  EXPECT_TRUE(reply.starts_with("*3\r\n$-1\r\n-TopK: increment must be an integer")) << reply;
  EXPECT_TRUE(reply.ends_with("100,000\r\n$-1\r\n")) << reply;
  EXPECT_EQ(Run({"topk.count", "t", "a", "b", "c"}), "*3\r\n:3\r\n:0\r\n:0\r\n");
}

TEST_F(SketchCommandsTest, TDigests) {
  EXPECT_EQ(Run({"tdigest.create", "d", "COMPRESSION", "50"}), "+OK\r\n");
  EXPECT_EQ(Run({"tdigest.add", "d", "1", "2", "x"}), "-ERR T-Digest: error parsing val parameter\r\n");
  EXPECT_EQ(Run({"tdigest.min", "d"}), "$3\r\nnan\r\n");
  EXPECT_EQ(Run({"tdigest.add", "d", "1", "2", "3"}), "+OK\r\n");
  EXPECT_EQ(Run({"tdigest.quantile", "d", "0.5", "1"}), "*2\r\n$1\r\n2\r\n$1\r\n3\r\n");
  EXPECT_EQ(Run({"tdigest.merge", "e", "1", "d", "OVERRIDE"}), "+OK\r\n");
  EXPECT_EQ(Run({"tdigest.rank", "e", "3"}), "*1\r\n:2\r\n");
  EXPECT_EQ(Run({"tdigest.merge", "e", "3", "d"}), "-ERR wrong number of arguments for 'tdigest.merge' command\r\n");
  EXPECT_EQ(Run({"tdigest.create", "other"}), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
}

TEST_F(SketchCommandsTest, ASketchOfAnotherKindIsNotFound) {
  Run({"cms.initbydim", "c", "10", "2"});
  EXPECT_EQ(Run({"topk.list", "c"}), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_EQ(Run({"tdigest.create", "c"}), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
  EXPECT_EQ(Run({"topk.reserve", "c", "1"}), "-TopK: key already exists\r\n");
}

}  // namespace
}  // namespace bitsieve::commands
