// whole_directory.h: a data directory with every kind of file that a server writes, on a disk in memory.
// Thread-compatible.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "core/families/bloom/bloom_types.h"
#include "core/filter/filter_factory.h"
#include "tests/support/memory_disk.h"
#include "tests/support/snapshot_fixture.h"

namespace bitsieve::server {

class WholeDirectoryTest : public testing::Test {
 protected:
  // Filters in files, in a pack, in the log and in a file that the log names; and a log of two segments.
  WholeDirectoryTest() {
    TestServer server;
    EXPECT_TRUE(Ok(server.Start(disk_, "/d", kSettings)));
    AddItems(*server.keyspace.Make("large", 20'000), "a", 50);
    for (const std::string name : {"small", "smaller"}) AddItems(*server.keyspace.Make(name, 5), "b", 3);
    EXPECT_TRUE(Ok(server.writer->Save()));
    AddItems(*server.keyspace.Make("logged"), "c", 20);
    server.log->appended().BeginSegment();
    AddItems(*server.keyspace.registry.Find("large"), "d", 50);
    PutLarge(server, "in a file of the log");
    contents_ = server.contents();
    server.AwaitLog();
    EXPECT_TRUE(Ok(disk_.CreateDirectory("/copies")));
  }

  // Returns what a server has that starts on the directory.
  static core::Result<Contents> Start(Disk& disk, const std::string& path, TestServer::Settings settings = kSettings) {
    TestServer server;
    if (core::Status status = server.Start(disk, path, settings); !status) return tl::unexpected(status.error());
    return server.contents();
  }

  static constexpr TestServer::Settings kSettings{.max_packed_bytes = 200, .threads = 1, .log = FsyncPolicy::kAlways};
  MemoryDisk disk_;
  Contents contents_;

 private:
  // With its content when it gets its name, as RESTORE has it: the log names a file of it.
  static void PutLarge(TestServer& server, const std::string& name) {
    core::FilterParams params;
    params.type = core::kBlockedType;
    params.capacity = 400'000;
    core::Result<std::unique_ptr<core::Filter>> made =
        core::MakeFilter(params, server.keyspace.memory, core::SystemClock());
    ASSERT_TRUE(Ok(made));
    const commands::FilterPtr filter(std::move(*made));
    AddItems(*filter, "e", 20);
    const auto prepared = server.keyspace.registry.Prepare(filter);
    ASSERT_TRUE(Ok(prepared));
    EXPECT_EQ(server.keyspace.registry.InsertIfAbsent(name, filter), filter);
  }
};

}  // namespace bitsieve::server
