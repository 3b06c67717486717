// Any damage of any file of a data directory: an inspection names it if a start refuses it, and only then.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "server/persistence/inspect/inspection.h"
#include "server/persistence/inspect/inspection_report.h"
#include "tests/support/whole_directory.h"

namespace bitsieve::server {
namespace {

class InspectedDamage : public WholeDirectoryTest {
 protected:
  // Reads and reports at each depth, and returns whether the deepest found nothing.
  static bool IsCleanWhenRead(const MemoryDisk& disk, const std::string& about) {
    bool clean = true;
    for (const InspectDepth depth : {InspectDepth::kHeads, InspectDepth::kChecksums, InspectDepth::kContents}) {
      const core::Result<Inspection> found = Inspect(disk, "/d", depth);
      if (!found) {
        clean = false;
        continue;
      }
      clean = found->damage.empty() && found->unreadable.empty();
      const std::string text = TextOf(*found);
      const bool tells = text.find("DAMAGE") != std::string::npos || text.find("cannot be read") != std::string::npos;
      EXPECT_EQ(tells, !clean) << about << "\n" << text;
      const auto json = nlohmann::json::parse(JsonOf(*found));
      EXPECT_EQ(json["damage"].size(), found->damage.size()) << about;
    }
    return clean;
  }

  // A start refuses what an inspection names, and the other way round.
  void ExpectNamed(MemoryDisk& damaged, const std::string& about) {
    const bool clean = IsCleanWhenRead(damaged, about);
    const core::Result<Contents> started = Start(damaged, "/d");
    EXPECT_EQ(clean, started.has_value()) << about << (started ? "" : ": " + started.error().message);
  }
};

TEST_F(InspectedDamage, NoneIsFoundInAWholeDirectory) { EXPECT_TRUE(IsCleanWhenRead(disk_, "as it was")); }

TEST_F(InspectedDamage, OfFilesThatAreGoneShortOrChanged) {
  for (const auto& [path, bytes] : disk_.All()) {
    if (path.ends_with("/LOCK")) continue;
    {
      MemoryDisk damaged = disk_.Copy();
      EXPECT_TRUE(Ok(damaged.Remove(path)));
      ExpectNamed(damaged, path + " is gone");
    }
    for (const size_t kept : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      MemoryDisk damaged = disk_.Copy();
      damaged.Put(path, bytes.substr(0, kept));
      ExpectNamed(damaged, path + " ends after " + std::to_string(kept));
    }
    MemoryDisk longer = disk_.Copy();
    longer.Put(path, bytes + "x");
    ExpectNamed(longer, path + " is longer");
    for (size_t at = 0; at < bytes.size(); at = at < 40 ? at + 1 : at * 5 / 4) {
      MemoryDisk damaged = disk_.Copy();
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 4);
      damaged.Put(path, changed);
      ExpectNamed(damaged, path + " is changed at " + std::to_string(at));
    }
  }
}

}  // namespace
}  // namespace bitsieve::server
