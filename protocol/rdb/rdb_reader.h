// rdb_reader.h: reads what RDB files and DUMP payloads of Redis and Valkey are made of: lengths, strings and values.
// All input is untrusted: reading never passes the end, a length is compared with what is there before anything is
// allocated for it, and after the first failure every read gives 0 or nothing. Thread-compatible; the bytes outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/memory_budget.h"
#include "protocol/rdb/module_payload.h"
#include "protocol/rdb/module_value.h"

namespace bitsieve::rdb {

enum class Dialect : uint8_t { kRedis, kValkey };  // they differ in values of type 22

class RdbReader {
 public:
  // Strings that are unpacked take their memory from `memory` until the reader dies.
  RdbReader(std::string_view bytes, core::MemoryBudget& memory) : bytes_(bytes), memory_(memory) {}

  bool failed() const { return !failure_.empty(); }
  // Returns the reason, if it failed.
  const std::string& failure() const { return failure_; }
  uint64_t position() const { return position_; }
  uint64_t left() const { return bytes_.size() - position_; }

  uint8_t Byte();
  // Returns whether the next byte is this one; it stays the next.
  bool NextIs(uint8_t byte) const {
    return !failed() && position_ < bytes_.size() && static_cast<uint8_t>(bytes_[position_]) == byte;
  }
  // Reads a little-endian number.
  template <class Number>
  Number Little();
  // Reads a length, or another number.
  uint64_t Length();
  // Reads a string, in place where that is possible.
  ValueBytes String();

  void SkipString();
  // Skips a value of this type, of which the type byte was read.
  void SkipValue(uint8_t type, Dialect dialect);
  // Skips the fields of a module's value, its end included.
  void SkipModuleFields();

  void Fail(std::string why);

 private:
  struct StoredString {
    std::string_view stored;
    uint64_t size;  // unpacked
    enum { kPlain, kInteger, kPacked } form;
  };

  std::string_view Take(uint64_t bytes);
  // Reads a length. Nothing: it is the form of a string instead, given in `form`.
  std::optional<uint64_t> LengthOr(uint8_t& form);
  StoredString Stored();
  ValueBytes Unpacked(const StoredString& string);
  void SkipStrings(uint64_t count);
  // Reads a number, and calls `skip` for each of that many elements.
  template <class Skip>
  void Repeat(const Skip& skip);
  void SkipOldScore();
  void SkipStream(uint8_t type);
  void SkipConsumerGroup(uint8_t type);

  const std::string_view bytes_;
  core::MemoryBudget& memory_;
  uint64_t position_ = 0;
  std::string failure_;
  std::vector<core::MemoryReservation> unpacked_;
};

// The fields of a module's value: each has a mark of its kind before it.
class RdbFields final : public ValueReader {
 public:
  explicit RdbFields(RdbReader& reader) : reader_(reader) {}

  uint64_t Unsigned() override;
  double Double() override;
  ValueBytes Bytes() override;
  bool NextIsBytes() const override { return reader_.NextIs(static_cast<uint8_t>(FieldKind::kBytes)); }
  bool failed() const override { return reader_.failed(); }
  // Reads the end of the value.
  void End();

 private:
  bool Expect(FieldKind kind);

  RdbReader& reader_;
};

}  // namespace bitsieve::rdb
