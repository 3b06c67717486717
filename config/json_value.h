// json_value.h: a JSON text as values. The library reads it, but keeps none of it: the library's own values allocate
// when they are destroyed, which ends the process if memory is refused, and a server reads its configuration again
// while it runs. Thread-compatible: plain values.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace bitsieve::config {

struct JsonValue {
  enum class Kind { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string text = {};  // of a string, itself; of a number, boolean or null, as JSON has it
  std::vector<JsonValue> items = {};
  std::vector<std::pair<std::string, JsonValue>> members = {};  // of equal names, the last value

  bool is_text_or_number() const { return kind == Kind::kString || kind == Kind::kNumber; }
};

// "number", "object".
std::string_view NameOf(JsonValue::Kind kind);
// "number 5", "string \"x\"", "array".
std::string Described(const JsonValue& value);

struct JsonText {
  JsonValue value;
  // Names that an object has more than once; each once for an object.
  std::vector<std::string> repeated = {};
};

// Values nested deeper than this are left out: no option is. The limit also bounds recursion.
inline constexpr size_t kMaxJsonDepth = 8;

// Lines may carry // and /* */ comments. The error has its place in the text.
core::Outcome<JsonText> ReadJson(std::string_view text);

}  // namespace bitsieve::config
