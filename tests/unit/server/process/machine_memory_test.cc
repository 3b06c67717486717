#include "server/process/machine_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.h"

namespace bitsieve::server {
namespace {

class MachineMemoryTest : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  uint64_t Memory() { return MachineMemory(root_.path()); }

  const uint64_t whole_ = MachineMemory("/nowhere");  // of the machine

 private:
  TemporaryDirectory root_;
};

constexpr uint64_t kMegabyte = 1 << 20;

TEST_F(MachineMemoryTest, IsTheMachinesWithoutACgroup) {
  EXPECT_GT(whole_, 64 * kMegabyte);
  EXPECT_EQ(Memory(), whole_);
  Put("/proc/self/cgroup", "no such line\n\n0:\n1:memory\n2:memory:x\n");
  EXPECT_EQ(Memory(), whole_);
}

TEST_F(MachineMemoryTest, IsTheLeastLimitOfTheGroupsOfVersion2) {
  Put("/proc/self/cgroup", "0::/outer/inner\n");
  Put("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(Memory(), whole_);
  Put("/sys/fs/cgroup/outer/memory.max", std::to_string(32 * kMegabyte) + "\n");
  EXPECT_EQ(Memory(), 32 * kMegabyte);
  Put("/sys/fs/cgroup/outer/inner/memory.max", std::to_string(16 * kMegabyte) + "\n");
  EXPECT_EQ(Memory(), 16 * kMegabyte);
}

TEST_F(MachineMemoryTest, IsTheLimitAtTheMountInAContainer) {
  Put("/proc/self/cgroup", "0::/a/path/of/the/host\n");
  Put("/sys/fs/cgroup/memory.max", std::to_string(48 * kMegabyte) + "\n");
  EXPECT_EQ(Memory(), 48 * kMegabyte);
}

TEST_F(MachineMemoryTest, IsTheLimitOfTheGroupOfVersion1) {
  Put("/proc/self/cgroup", "5:cpu,memory:/group\n4:devices:/other\n0::/\n");
  Put("/sys/fs/cgroup/memory/group/memory.limit_in_bytes", std::to_string(24 * kMegabyte) + "\n");
  EXPECT_EQ(Memory(), 24 * kMegabyte);
  // No limit, as version 1 writes it.
  Put("/sys/fs/cgroup/memory/group/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Memory(), whole_);
}

}  // namespace
}  // namespace bitsieve::server
