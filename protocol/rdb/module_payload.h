// module_payload.h: what values of modules have around their fields, in RDB files and in what DUMP returns: the number
// of the type before them, a mark of each field's kind, and the checksum after them. Thread-safe: free functions; a
// ModulePayload is confined to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "protocol/rdb/module_value.h"

namespace bitsieve::rdb {

// The type byte before a module's value.
inline constexpr uint8_t kModule2 = 7;

// The mark before a field.
enum class FieldKind : uint64_t { kEnd = 0, kSigned = 1, kUnsigned = 2, kFloat = 3, kDouble = 4, kBytes = 5 };

// The number before a module's value: nine letters and a version.
struct ModuleId {
  std::string name;
  int version;
};
ModuleId ModuleIdOf(uint64_t id);
// The inverse. The name is that of a type.
uint64_t NumberOf(std::string_view name, int version);

// The checksum at the end of a file and of a payload: CRC-64 of Jones.
uint64_t RdbChecksum(std::string_view bytes);

// Puts a payload together, which RESTORE takes.
class ModulePayload final : public ValueWriter {
 public:
  ModulePayload(std::string_view name, int version);

  void Unsigned(uint64_t value) override;
  void Double(double value) override;
  void Bytes(std::string_view bytes) override;
  // Returns the payload; nothing is added to it any more.
  std::string Finish() &&;

 private:
  void Byte(uint8_t byte) { bytes_ += static_cast<char>(byte); }
  void Mark(FieldKind kind) { Byte(static_cast<uint8_t>(kind)); }
  void Length(uint64_t number);

  std::string bytes_;
};

}  // namespace bitsieve::rdb
