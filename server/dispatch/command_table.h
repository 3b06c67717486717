// command_table.h: all commands by name. Lookup ignores case and allocates nothing: a name is at most 16 bytes, is read
// into two lower-cased words, and those are found in an open-addressed table. Rows are copied, so that each,
// subcommands included, has an index by which counters and sets of commands know it. Immutable once built: thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "commands/command.h"

namespace bitsieve::server {

class CommandTable {
 public:
  // Names differ.
  explicit CommandTable(std::span<const std::span<const commands::CommandRow>> families);
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  // Null if there is no command of this name. Containers are found, not their subcommands.
  const commands::CommandRow* Find(std::string_view name) const {
    const Word2 key = LowerCased(name);
    for (size_t at = SlotOf(key); slots_[at].row != nullptr; at = (at + 1) % kSlots) {
      if (slots_[at].key == key) return slots_[at].row;
    }
    return nullptr;
  }
  // Also "container|subcommand".
  const commands::CommandRow* FindFull(std::string_view name) const;
  // Null if `container` has no such subcommand.
  static const commands::CommandRow* FindSubcommand(const commands::CommandRow& container, std::string_view name);

  // Returns all rows, subcommands included, by index.
  std::span<const commands::CommandRow> all_rows() const { return all_rows_; }
  // Returns the index of a row of this table.
  size_t IndexOf(const commands::CommandRow& row) const { return static_cast<size_t>(&row - all_rows_.data()); }
  // Returns the rows without subcommands, by name.
  const std::vector<const commands::CommandRow*>& rows() const { return rows_; }

 private:
  static constexpr size_t kMaxNameBytes = 16;
  static constexpr size_t kSlots = 256;

  struct Word2 {
    uint64_t low;
    uint64_t high;
    uint64_t size;
    bool operator==(const Word2&) const = default;
  };
  struct Slot {
    Word2 key;
    const commands::CommandRow* row;
  };

  void Insert(const commands::CommandRow& row);

  static uint64_t Load(const char* bytes, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, size);
    return word;
  }
  // Up to 8 bytes, padded with zeros, by two loads that overlap: a copy of variable length would be a call.
  static uint64_t LoadUpTo8(const char* bytes, size_t size) {
    if (size == 8) return Load(bytes, 8);
    if (size >= 4) return Load(bytes, 4) | Load(bytes + size - 4, 4) << (8 * (size - 4));
    if (size >= 2) return Load(bytes, 2) | Load(bytes + size - 2, 2) << (8 * (size - 2));
    return size == 1 ? static_cast<uint8_t>(*bytes) : 0;
  }
  // Sets bit 5 in each byte that is 'A' to 'Z', all eight at once: the upper bit of each byte of `letters` marks them.
  static uint64_t Lower(uint64_t word) {
    constexpr uint64_t kOnes = 0x0101010101010101;
    const uint64_t low7 = word & (kOnes * 0x7f);
    const uint64_t from_a = low7 + kOnes * (0x80 - 'A');
    const uint64_t past_z = low7 + kOnes * (0x7f - 'Z');
    const uint64_t letters = from_a & ~past_z & ~word & (kOnes * 0x80);
    return word | letters >> 2;
  }
  // A name that is too long gets a size that no slot has.
  static Word2 LowerCased(std::string_view name) {
    const size_t size = name.size();
    if (size > kMaxNameBytes) return {0, 0, size};
    if (size <= 8) return {Lower(LoadUpTo8(name.data(), size)), 0, size};
    return {Lower(Load(name.data(), 8)), Lower(LoadUpTo8(name.data() + 8, size - 8)), size};
  }
  static size_t SlotOf(const Word2& key) {
    const uint64_t mixed = (key.low ^ (key.high * 0x9e3779b97f4a7c15) ^ key.size) * 0xd6e8feb86659fd93;
    return mixed >> 56;
  }
  static_assert(kSlots == 256, "SlotOf gives 8 bits");

  std::vector<commands::CommandRow> all_rows_;  // each container, and its subcommands anywhere after it
  std::array<Slot, kSlots> slots_{};
  std::vector<const commands::CommandRow*> rows_;
};

}  // namespace bitsieve::server
