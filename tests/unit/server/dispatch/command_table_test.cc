#include "server/dispatch/command_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "server/commands/all_commands.h"

namespace bitsieve::server {

using namespace commands;

namespace {

const CommandTable& Table() { return AllCommands(); }

TEST(CommandTableTest, FindsEveryRowInAnyCase) {
  ASSERT_GE(Table().rows().size(), 40u);
  for (const CommandRow* row : Table().rows()) {
    std::string name(row->name);
    EXPECT_EQ(Table().Find(name), row);
    for (char& byte : name) byte = static_cast<char>(std::toupper(static_cast<unsigned char>(byte)));
    EXPECT_EQ(Table().Find(name), row);
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    EXPECT_EQ(Table().Find(name), row);
  }
}

TEST(CommandTableTest, FindsNothingElse) {
  for (const std::string& name : {std::string(), std::string("pin"), std::string("pings"), std::string("ping\0", 5),
                                  std::string("get"), std::string("bf.reserv"), std::string("\x02\x46.add"),
                                  std::string("bf\x0e"
                                              "add"),
                                  std::string(17, 'a'), std::string(100'000, 'p'), std::string("client|id"),
                                  std::string("pi\xEEg"), std::string("p[ng")}) {
    EXPECT_EQ(Table().Find(name), nullptr) << name.substr(0, 30);
  }
}

// A change of any byte, except of its case, makes another name.
TEST(CommandTableTest, ComparesEveryByte) {
  std::set<std::string> names;
  for (const CommandRow* row : Table().rows()) names.emplace(row->name);
  for (const std::string& name : names) {
    for (size_t i = 0; i < name.size(); ++i) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = name;
        changed[i] = static_cast<char>(byte);
        std::string lower = changed;
        for (char& each : lower) each = each >= 'A' && each <= 'Z' ? static_cast<char>(each + 32) : each;
        EXPECT_EQ(Table().Find(changed) != nullptr, names.contains(lower)) << changed;
      }
    }
  }
}

TEST(CommandTableTest, FindsSubcommandsByFullName) {
  ASSERT_NE(Table().FindFull("CLIENT|ID"), nullptr);
  EXPECT_EQ(Table().FindFull("client|id")->name, "client|id");
  EXPECT_EQ(Table().FindFull("client")->name, "client");
  EXPECT_EQ(Table().FindFull("client|nothing"), nullptr);
  EXPECT_EQ(Table().FindFull("ping|id"), nullptr);
}

void CheckRow(const CommandRow& row) {
  SCOPED_TRACE(std::string(row.name));
  EXPECT_NE(row.arity, 0);
  EXPECT_FALSE(row.since.empty());
  EXPECT_FALSE(row.complexity.empty());
  EXPECT_TRUE(row.summary.ends_with('.'));
  EXPECT_TRUE(row.notes.empty() || row.notes.ends_with('.'));
  EXPECT_EQ(row.name.data()[row.name.size()], '\0') << "last_command is told as a C string";
  EXPECT_TRUE(row.handler != nullptr || (!row.subcommands.empty() && row.arity <= -2));
  EXPECT_EQ(row.items_handler != nullptr, row.preparation == Preparation::kOneItem);
  EXPECT_FALSE((row.flags & kWrite) && (row.flags & kReadOnly));
  EXPECT_FALSE((row.flags & kLoading) && (row.flags & (kWrite | kReadOnly)));
  if (row.flags & kWrite) {
    EXPECT_NE(row.preparation, Preparation::kNothing);
  }
  if (row.group == CommandGroup::kBloom || row.group == CommandGroup::kCuckoo) {
    EXPECT_EQ(row.replication != Replication::kNone, (row.flags & kWrite) != 0);
  } else {
    EXPECT_EQ(row.replication, Replication::kNone);
  }
  if (row.keys.first != 0) {
    // WATCH is not in @read, as in Redis: it shows nothing of the filter.
    EXPECT_EQ((row.flags & (kWrite | kReadOnly)) != 0, row.name != "watch");
    EXPECT_GT(row.keys.step, 0);
  }
  for (const CommandRow& subcommand : row.subcommands) {
    EXPECT_TRUE(subcommand.name.starts_with(std::string(row.name) + "|"));
    CheckRow(subcommand);
  }
}

TEST(CommandTableTest, RowsAreComplete) {
  for (const CommandRow* row : Table().rows()) CheckRow(*row);
}

// Except for BF.EXISTS, which has STRICT.
TEST(CommandTableTest, AritiesAndFlagsOfBloomCommandsAreRedisBlooms) {
  const std::pair<std::string_view, int> arities[] = {{"bf.reserve", -4}, {"bf.add", 3},     {"bf.madd", -3},
                                                      {"bf.insert", -4},  {"bf.exists", -3}, {"bf.mexists", -3},
                                                      {"bf.card", 2},     {"bf.info", -2}};
  for (const auto& [name, arity] : arities) {
    const CommandRow* row = Table().Find(name);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->arity, arity) << name;
    EXPECT_EQ(row->keys.first, 1) << name;
    EXPECT_EQ(row->keys.last, 1) << name;
  }
}

}  // namespace
}  // namespace bitsieve::server
