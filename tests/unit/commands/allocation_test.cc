// Counts allocations: in the steady state a command makes none.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/support/command_fixture.h"

namespace {

std::atomic<uint64_t> allocations{0};

void* Allocate(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* AllocateAligned(size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto align = static_cast<size_t>(alignment);
  if (void* memory = std::aligned_alloc(align, (size + align - 1) / align * align)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) { return AllocateAligned(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return AllocateAligned(size, alignment); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace bitsieve::server {
namespace {

using test::BatchOf;
using test::CommandFixture;
using test::Words;

uint64_t AllocationsOf(CommandFixture& fixture, const CommandBatch& batch, protocol::ReplyWriter& reply) {
  const uint64_t before = allocations.load();
  fixture.dispatcher->Execute(fixture.session, batch, 0, reply);
  return allocations.load() - before;
}

TEST(AllocationTest, SteadyStateMakesNone) {
  CommandFixture fixture;
  Words many_add{"BF.MADD", "filter"}, many_ask{"BF.MEXISTS", "filter"};
  for (int i = 0; i < 300; ++i) {
    many_add.push_back("an item longer than a short string " + std::to_string(i));
    many_ask.push_back("an item longer than a short string " + std::to_string(i));
  }
  std::vector<Words> commands;
  for (int i = 0; i < 100; ++i) {
    const std::string item = "another item of some length " + std::to_string(i);
    commands.push_back({"BF.ADD", "filter", item});
    commands.push_back({"BF.EXISTS", "filter", item});
    commands.push_back({"BF.EXISTS", "a name that nothing has, longer than a short string", item});
    commands.push_back({"PING"});
    commands.push_back({"ECHO", item});
    commands.push_back({"BF.CARD", "filter"});
    commands.push_back({"BF.INSERT", "filter", "CAPACITY", "10", "NOCREATE", "ITEMS", item});
  }
  commands.push_back(many_add);
  commands.push_back(many_ask);
  const CommandBatch batch = BatchOf(commands);
  fixture.Reply({"BF.RESERVE", "filter", "0.01", "10000"});
  fixture.Reply({"BF.ADD", "filter", "the first change of a thread takes its place in the meter of changes"});

  std::string out;
  out.reserve(1 << 20);
  protocol::ReplyWriter reply(out);
  EXPECT_EQ(AllocationsOf(fixture, batch, reply), 0u);
  out.clear();
  EXPECT_EQ(AllocationsOf(fixture, batch, reply), 0u);
}

TEST(AllocationTest, TheCounterCounts) {
  CommandFixture fixture;
  const std::vector<Words> commands{{"KEYS", "*"}, {"BF.ADD", "f", "x"}};
  std::string out;
  protocol::ReplyWriter reply(out);
  EXPECT_GT(AllocationsOf(fixture, BatchOf(commands), reply), 0u);
}

}  // namespace
}  // namespace bitsieve::server
